package main

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// use is who says something with a reason: a condition of a kind, its events, or the log.
type use struct{ kind, by, reason string }

// usedBy is "Degraded=True NoQuorum", "Event NoQuorum" or "Warning JobFailed" in a golden file.
var usedBy = regexp.MustCompile(`^([A-Za-z]+)(?:=[A-Za-z]+)? ([A-Za-z]+)$`)

// uses are all that the golden files of messages show.
func uses(t *testing.T) []use {
	t.Helper()
	files, err := filepath.Glob("../../../operators/*/internal/*/testdata/messages.golden")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{"etcd-operator": "EtcdCluster", "etcd-backup-operator": "EtcdBackup", "etcd-restore-operator": "EtcdRestore"}
	var all []use
	for _, name := range files {
		parts := strings.Split(filepath.ToSlash(name), "/")
		operator, folder := parts[4], parts[6]
		kind := kinds[operator]
		if folder == "backedup" {
			kind = "EtcdCluster" // whose condition etcd-backup-operator writes
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			line, isUse := strings.CutPrefix(lines.Text(), "    ")
			if !isUse || strings.HasPrefix(line, "e.g. ") {
				continue
			}
			for said := range strings.SplitSeq(line, ", ") {
				if m := usedBy.FindStringSubmatch(said); m != nil {
					all = append(all, use{kind, m[1], m[2]})
				}
			}
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 100 {
		t.Fatalf("only %d messages in %v", len(all), files)
	}
	return all
}

func (u use) isEvent() bool { return u.by == "Event" || u.by == "Warning" }

// The page of events has each reason that is recorded as one, and no other.
func TestEventsAreRecorded(t *testing.T) {
	all, err := parseConstants("../../../api/v1beta2")
	if err != nil {
		t.Fatal(err)
	}
	// No golden file shows these: a controller records them, or passes on what a condition says.
	unseen := []string{"BackupTooOld", "CertificatesValid", "FillingUp", "PodDisruptionBudgetRejected", "ServiceRejected"}
	used := uses(t)
	for _, u := range used {
		isListed := slices.ContainsFunc(all, func(c *constant) bool { return c.value == u.reason && isEvent(c) })
		if u.isEvent() && !isListed {
			t.Errorf("%s: the page of events lacks %s", u.kind, u.reason)
		}
	}
	for _, c := range all {
		if !isEvent(c) || slices.Contains(unseen, c.value) {
			continue
		}
		isOf := func(u use) bool { return u.kind == c.kindOf() && u.reason == c.value }
		recorded := func(u use) bool { return isOf(u) && u.isEvent() }
		if slices.ContainsFunc(used, isOf) && !slices.ContainsFunc(used, recorded) {
			t.Errorf("%s: %s is on the page of events, and never recorded as one", c.kindOf(), c.value)
		}
	}
}

// Each reason says which conditions have it, in its comment or in that of its group. Two
// statements are for many: above all reasons of an EtcdCluster, and of an EtcdRestore.
func TestReasonsNameTheirConditions(t *testing.T) {
	all, err := parseConstants("../../../api/v1beta2")
	if err != nil {
		t.Fatal(err)
	}
	asProgressing := []string{"Available", "Degraded"}
	for _, u := range uses(t) {
		if u.isEvent() || u.by == "Log" || u.kind == "EtcdRestore" || u.by == u.reason || u.reason == "Another" { // a test's own
			continue
		}
		says := func(c *constant, condition string) bool {
			return regexp.MustCompile(`\b` + condition + `\b`).MatchString(c.doc + " " + c.group)
		}
		isNamed := slices.ContainsFunc(all, func(c *constant) bool {
			isOf := c.value == u.reason && (c.kindOf() == u.kind || c.kindOf() == "All kinds")
			return isOf && (says(c, u.by) || (slices.Contains(asProgressing, u.by) && says(c, "Progressing")))
		})
		if !isNamed {
			t.Errorf("%s: the comment of the reason %s does not name the condition %s", u.kind, u.reason, u.by)
		}
	}
}
