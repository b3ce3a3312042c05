package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Key is what etcd has of one key, apart from its name.
type Key struct {
	// Value is the sha256 of the value, the first 16 hexadecimal digits of it.
	Value string `json:"value"`
	// Created and Modified are revisions.
	Created  int64 `json:"created"`
	Modified int64 `json:"modified"`
	// Version counts the changes since it was created.
	Version int64 `json:"version"`
	// Lease is the one that it hangs on, or 0.
	Lease int64 `json:"lease,omitempty"`
}

// KeyOf is what there is of a key.
func KeyOf(kv *mvccpb.KeyValue) Key {
	sum := sha256.Sum256(kv.Value)
	return Key{
		Value: hex.EncodeToString(sum[:8]), Created: kv.CreateRevision, Modified: kv.ModRevision, Version: kv.Version, Lease: kv.Lease,
	}
}

// Content is all keys at one revision, of a cluster or of a snapshot.
type Content struct {
	Revision int64 `json:"revision"`
	// Keys are the keys by name.
	Keys map[string]Key `json:"keys"`
}

// shown is how many differences are named.
const shown = 5

// Diff says in which keys the content is not what is wanted; empty if it is. The
// revisions may be any.
func (c Content) Diff(want Content) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(want.Keys)) {
		switch got, there := c.Keys[name]; {
		case !there:
			all = append(all, name+" is missing")
		case got != want.Keys[name]:
			all = append(all, fmt.Sprintf("%s is %+v, want %+v", name, got, want.Keys[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Keys)) {
		if _, wanted := want.Keys[name]; !wanted {
			all = append(all, name+" should not be there")
		}
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%d keys differ, of %d and %d: %q", len(all), len(c.Keys), len(want.Keys), all[:min(shown, len(all))])
}
