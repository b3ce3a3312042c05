package launcher

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// HasWAL tells whether dataDir holds a write-ahead log that etcd can go on with:
// whether this member has ever been more than a name.
//
// It looks for what etcd's wal.Exist looks for, and differs from it twice, each
// time to the safe side. Where etcd takes an unreadable folder for an empty one
// and starts afresh, HasWAL returns an error. And a log that is stillborn counts
// for none: see stillborn.
func HasWAL(dataDir string) (bool, error) {
	dir := filepath.Join(dataDir, "member", "wal")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a write-ahead log: %w", err)
	}
	var logs []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".wal" {
			logs = append(logs, filepath.Join(dir, e.Name()))
		}
	}
	if len(logs) != 1 {
		return len(logs) > 0, nil
	}
	empty, err := stillborn(logs[0])
	if err != nil {
		return false, fmt.Errorf("look into the write-ahead log: %w", err)
	}
	return !empty, nil
}

// Types of a log's records (walpb, the same from 3.0 to 3.7).
const (
	recordMetadata = 1
	recordCRC      = 4
	recordSnapshot = 5
)

// maxHeadRecord bounds the records that a log may begin with: a CRC, two ids, an
// index. A longer one is something else.
const maxHeadRecord = 4096

// stillborn tells whether a log was made and never written to: it names its
// member and nothing else, no vote, no entry, no snapshot. That is what is left
// of a first start that was killed between the making of the log and the first
// write to it, some milliseconds. etcd would start on it, as a member of a
// cluster without members: a seed then never elects itself and never will.
//
// Nothing was ever acknowledged from such a log, since etcd writes before it
// answers, so to begin anew, with another permit, is as safe as on an empty disk.
//
// Whatever is not plainly so is not stillborn, and etcd's to judge.
func stillborn(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only read
	r := bufio.NewReader(f)
	sawMetadata := false
	for {
		// A record is a length field of 8 bytes, of which the uppermost holds the
		// padding, and a walpb.Record padded to 8 bytes.
		var lengthField uint64
		err := binary.Read(r, binary.LittleEndian, &lengthField)
		if errors.Is(err, io.EOF) || (err == nil && lengthField == 0) {
			return sawMetadata, nil // zeros are space kept for later
		}
		if err != nil {
			return false, ignoreShort(err)
		}
		length := lengthField & (1<<56 - 1)
		padding := uint64(0)
		if lengthField>>63 != 0 {
			padding = lengthField >> 56 & 7
		}
		if length > maxHeadRecord {
			return false, nil
		}
		record := make([]byte, length+padding)
		if _, err := io.ReadFull(r, record); err != nil {
			return false, ignoreShort(err)
		}
		kind, data, ok := parseRecord(record[:length])
		if !ok {
			return false, nil
		}
		switch kind {
		case recordCRC:
		case recordMetadata:
			sawMetadata = true
		case recordSnapshot:
			// Every log begins with a mark for the snapshot of index 0: none.
			if index, ok := varintField(data, 1); !ok || index != 0 {
				return false, nil
			}
		default:
			return false, nil
		}
	}
}

// ignoreShort makes a log that ends within a record etcd's to repair, and leaves
// a disk that cannot be read an error.
func ignoreShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// parseRecord reads a walpb.Record: {type: 1 varint, crc: 2 varint, data: 3
// bytes}. ok is false for anything else.
func parseRecord(b []byte) (kind uint64, data []byte, ok bool) {
	kind, ok = varintField(b, 1)
	if !ok {
		return 0, nil, false
	}
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, nil, false
		}
		b = b[n:]
		value, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, nil, false
		}
		b = b[n:]
		switch key {
		case 1 << 3, 2 << 3:
		case 3<<3 | 2:
			if value > uint64(len(b)) {
				return 0, nil, false
			}
			data, b = b[:value], b[value:]
		default:
			return 0, nil, false
		}
	}
	return kind, data, true
}

// varintField reads field number field of a protobuf message if it is the first
// and a varint, as those that are asked for here always are.
func varintField(b []byte, field uint64) (value uint64, ok bool) {
	key, n := binary.Uvarint(b)
	if n <= 0 || key != field<<3 {
		return 0, false
	}
	value, n = binary.Uvarint(b[n:])
	return value, n > 0
}
