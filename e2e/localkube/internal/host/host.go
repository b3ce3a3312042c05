// Package host changes the machine around the cluster (kernel settings, mounts, cgroups) and puts it back.
//
// What is to be put back is written down once, before the first change, and removed only after all of it is back: an
// interrupted up or down loses nothing.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
)

// settings are the kernel's settings that the cluster needs; an empty value is one that the kubelet sets by itself,
// and that is only put back.
var settings = map[string]string{
	"net.ipv4.ip_forward":                 "1",
	"net.bridge.bridge-nf-call-iptables":  "1",
	"net.bridge.bridge-nf-call-ip6tables": "",
	"fs.inotify.max_user_instances":       "8192",
	"fs.inotify.max_user_watches":         "1048576",
	"vm.overcommit_memory":                "",
	"vm.panic_on_oom":                     "",
	"kernel.panic":                        "",
	"kernel.panic_on_oops":                "",
	"kernel.keys.root_maxkeys":            "",
	"kernel.keys.root_maxbytes":           "",
}

// leftovers are folders that kubelet, containerd and CNI make at fixed places. They are removed again if they weren't
// there before.
var leftovers = []string{"/run/containerd", "/var/lib/cni", "/var/log/containers", "/var/lib/kubelet", "/var/lib/dockershim", "/run/xtables.lock", "/run/mount"}

// Before is how the machine was.
type Before struct {
	Settings map[string]string `json:"settings"`
	// Missing are the leftovers that weren't there.
	Missing []string `json:"missing"`
	// Tables are the nft tables that were there, as in "ip filter".
	Tables []string `json:"tables"`
}

// Remember writes down how the machine is, unless that was done before. It must come before any other change.
func Remember(ctx context.Context, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before := Before{Settings: map[string]string{}}
	for key := range settings {
		if value, err := readSetting(key); err == nil {
			before.Settings[key] = value
		}
	}
	for _, folder := range leftovers {
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			before.Missing = append(before.Missing, folder)
		}
	}
	tables, err := Tables(ctx)
	if err != nil {
		return err
	}
	before.Tables = tables
	data, err := json.MarshalIndent(before, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// Tables lists the machine's nft tables.
func Tables(ctx context.Context) ([]string, error) {
	list, err := shell.Run(ctx, "nft", "list", "tables")
	if err != nil {
		return nil, err
	}
	var tables []string
	for line := range strings.Lines(list) {
		if table, ok := strings.CutPrefix(strings.TrimSpace(line), "table "); ok {
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// Recall returns what Remember wrote down, or nil if there is nothing.
func Recall(path string) (*Before, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var before Before
	if err := json.Unmarshal(data, &before); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &before, nil
}

// Configure sets the kernel's settings. A setting that the kernel doesn't have is left out: without br_netfilter there
// is no bridge-nf-call-iptables.
func Configure() error {
	for key, value := range settings {
		if value == "" {
			continue
		}
		if err := writeSetting(key, value); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Restore puts the kernel's settings back and removes the leftovers.
func (b *Before) Restore() error {
	var errs []error
	for key, value := range b.Settings {
		if now, err := readSetting(key); err == nil && now != value {
			errs = append(errs, writeSetting(key, value))
		}
	}
	for _, folder := range b.Missing {
		errs = append(errs, os.RemoveAll(folder))
	}
	return errors.Join(errs...)
}

func readSetting(key string) (string, error) {
	data, err := os.ReadFile(settingPath(key))
	return strings.TrimSpace(string(data)), err
}

func writeSetting(key, value string) error {
	if now, err := readSetting(key); err == nil && now == value {
		return nil
	}
	return os.WriteFile(settingPath(key), []byte(value), 0o644)
}

func settingPath(key string) string {
	return filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
}
