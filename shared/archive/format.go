package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"
)

// kind is what a record is: a capital letter if nobody can do without knowing it, and a small one
// if a reader may pass over it. Later releases add small ones, so that earlier ones read on.
type kind byte

func (k kind) isOptional() bool { return 'a' <= k && k <= 'z' }

const (
	kindHeader kind = 'H'
	kindChange kind = 'C'
	kindMark   kind = 'M'
	kindHash   kind = 'K'
	kindTimes  kind = 'T'
	kindFooter kind = 'F'
)

// magic begins a header. Its last byte is the version of the format.
const magic = "etcdseg\x01"

const (
	// maxRecord is the largest record, in bytes. etcd takes requests of 1.5 MiB by default,
	// and no member that is configured for more than this can be archived.
	maxRecord = 256 << 20
	// window is what zstd remembers, in bytes.
	window = 1 << 20

	revisionSize  = 17 // of a key of etcd's history (server/storage/mvcc/revision.go)
	tombstoneSize = 18

	stretchSize = 32 // of Times
)

var order = binary.BigEndian

// revisionKey is a key of etcd's history.
func revisionKey(main, sub int64, deleted bool) []byte {
	key := make([]byte, 0, tombstoneSize)
	key = order.AppendUint64(key, uint64(main))
	key = append(key, '_')
	key = order.AppendUint64(key, uint64(sub))
	if deleted {
		key = append(key, 't')
	}
	return key
}

// parseRevision reads a key of etcd's history.
func parseRevision(key []byte) (main, sub int64, ok bool) {
	if len(key) != revisionSize && len(key) != tombstoneSize || key[8] != '_' || len(key) == tombstoneSize && key[17] != 't' {
		return 0, 0, false
	}
	main, sub = int64(order.Uint64(key)), int64(order.Uint64(key[9:]))
	return main, sub, main > 0 && sub >= 0
}

func appendHeader(b []byte, s Segment) []byte {
	b = append(b, magic...)
	b = order.AppendUint64(b, s.ClusterID)
	b = order.AppendUint64(b, uint64(s.Timeline))
	b = order.AppendUint64(b, uint64(s.First))
	return order.AppendUint64(b, uint64(s.Follows))
}

func parseHeader(b []byte) (s Segment, ok bool) {
	if len(b) != len(magic)+32 || string(b[:len(magic)]) != magic {
		return s, false
	}
	b = b[len(magic):]
	timeline := order.Uint64(b[8:])
	return Segment{
		ClusterID: order.Uint64(b), Timeline: uint32(timeline), First: int64(order.Uint64(b[16:])), Follows: Lineage(order.Uint64(b[24:])),
	}, timeline <= math.MaxUint32
}

func appendFooter(b []byte, p Position) []byte {
	b = order.AppendUint64(b, uint64(p.Revision))
	b = order.AppendUint64(b, uint64(p.Before))
	return order.AppendUint64(b, uint64(p.At))
}

func parseFooter(b []byte) (p Position, sum []byte, ok bool) {
	if len(b) != 24+sha256.Size {
		return p, nil, false
	}
	return Position{Revision: int64(order.Uint64(b)), Before: Lineage(order.Uint64(b[8:])), At: Lineage(order.Uint64(b[16:]))}, b[24:], true
}

func appendMark(b []byte, m Mark) []byte {
	b = order.AppendUint64(b, uint64(m.Revision))
	b = order.AppendUint64(b, uint64(m.Asked.UnixNano()))
	return order.AppendUint64(b, uint64(m.Answered.UnixNano()))
}

func parseMark(b []byte) (m Mark, ok bool) {
	if len(b) != 24 {
		return m, false
	}
	at := func(i int) time.Time { return time.Unix(0, int64(order.Uint64(b[i:]))).UTC() }
	return Mark{Revision: int64(order.Uint64(b)), Asked: at(8), Answered: at(16)}, true
}

func appendHash(b []byte, h Hash) []byte {
	b = order.AppendUint64(b, uint64(h.Revision))
	b = order.AppendUint64(b, uint64(h.Compacted))
	return order.AppendUint32(b, h.Hash)
}

func parseHash(b []byte) (h Hash, ok bool) {
	if len(b) != 20 {
		return h, false
	}
	return Hash{Revision: int64(order.Uint64(b)), Compacted: int64(order.Uint64(b[8:])), Hash: order.Uint32(b[16:])}, true
}

func appendTimes(b []byte, t Times) []byte {
	for _, s := range t {
		b = order.AppendUint64(b, uint64(s.Begin.UnixNano()))
		b = order.AppendUint64(b, uint64(s.End.UnixNano()))
		b = order.AppendUint64(b, uint64(s.First))
		b = order.AppendUint64(b, uint64(s.Last))
	}
	return b
}

func parseTimes(b []byte) (t Times, ok bool) {
	if len(b)%stretchSize != 0 || len(b) > stretchSize*maxStretches {
		return nil, false
	}
	at := func(i int) time.Time { return time.Unix(0, int64(order.Uint64(b[i:]))).UTC() }
	for ; len(b) > 0; b = b[stretchSize:] {
		t = append(t, Stretch{Begin: at(0), End: at(8), First: int64(order.Uint64(b[16:])), Last: int64(order.Uint64(b[24:]))})
	}
	return t, true
}
