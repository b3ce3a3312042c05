package launcher

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"
)

// recordEntry is the type of a record that holds a raft entry.
const recordEntry = 2

// record encodes a record of a write-ahead log. Its CRC is 0, which the launcher does not check.
func record(kind byte, data []byte) []byte {
	body := []byte{1 << 3, kind, 2 << 3, 0}
	if len(data) > 0 {
		body = append(binary.AppendUvarint(append(body, 3<<3|2), uint64(len(data))), data...)
	}
	length := uint64(len(body))
	if padding := -len(body) & 7; padding > 0 {
		length |= uint64(0x80|padding) << 56
		body = append(body, make([]byte, padding)...)
	}
	return append(binary.LittleEndian.AppendUint64(nil, length), body...)
}

// A log without a vote, an entry or a snapshot counts as none. etcd has to judge all others.
func TestStillborn(t *testing.T) {
	head := slices.Concat(record(recordCRC, nil), record(recordMetadata, []byte("ids")))
	noSnapshot := record(recordSnapshot, []byte{1 << 3, 0})
	for name, row := range map[string]struct {
		reason string
		logs   [][]byte
		want   bool
	}{
		"a head":                      {"nothing was written", [][]byte{head}, false},
		"a head and space":            {"etcd preallocates files", [][]byte{slices.Concat(head, make([]byte, 1<<10))}, false},
		"no snapshot":                 {"every log begins with it", [][]byte{slices.Concat(head, noSnapshot)}, false},
		"a snapshot":                  {"the member has data", [][]byte{slices.Concat(head, record(recordSnapshot, []byte{1 << 3, 5}))}, true},
		"a snapshot without an index": {"the record has an unknown form", [][]byte{slices.Concat(head, record(recordSnapshot, []byte{2 << 3, 0}))}, true},
		"an entry":                    {"the member has data", [][]byte{slices.Concat(head, noSnapshot, record(recordEntry, nil))}, true},
		"a long head":                 {"no head has such a size", [][]byte{record(recordMetadata, bytes.Repeat([]byte{1}, maxHeadRecord))}, true},
		"no metadata":                 {"etcd writes it first", [][]byte{record(recordCRC, nil)}, true},
		"a record that ends early":    {"etcd repairs it", [][]byte{slices.Concat(head, noSnapshot[:len(noSnapshot)-1])}, true},
		"two heads":                   {"etcd begins a second file after many entries only", [][]byte{head, head}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, log := range row.logs {
				write(t, filepath.Join(dir, "member", "wal", string(rune('0'+i))+".wal"), string(log))
			}
			got, err := HasWAL(dir)
			if err != nil || got != row.want {
				t.Errorf("HasWAL = %t, %v, want %t: %s", got, err, row.want, row.reason)
			}
		})
	}
}
