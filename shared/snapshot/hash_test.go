package snapshot

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHashInMetadata(t *testing.T) {
	for name, h := range map[string]*Hash{
		"none":            nil,
		"never compacted": {Value: 7, Revision: 1},
		"the largest":     {Value: math.MaxUint32, Revision: math.MaxInt64, CompactedRevision: math.MaxInt64},
	} {
		metadata := map[string]string{"revision": "9"}
		h.AddTo(metadata)
		if diff := cmp.Diff(h, HashIn(metadata)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, change := range map[string][2]string{
		"no number":       {metaHash, "x"},
		"too large":       {metaHash, "4294967296"},
		"no revision":     {metaHashRevision, ""},
		"revision 0":      {metaHashRevision, "0"},
		"not compacted":   {metaHashCompacted, "?"},
		"below compacted": {metaHashCompacted, "-1"},
	} {
		metadata := map[string]string{metaHash: "7", metaHashRevision: "9", metaHashCompacted: "3"}
		metadata[change[0]] = change[1]
		if got := HashIn(metadata); got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
