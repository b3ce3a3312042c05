package rebuild

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// The keys of etcd's history are revisions: main and sub revision in 8 bytes each, with an
// underscore in between, and a t behind if a key was deleted
// (server/storage/mvcc/revision.go).
const (
	revisionSize  = 17
	tombstoneSize = 18
)

// The fields of a KeyValue (api/mvccpb/kv.proto).
const (
	fieldKey         protowire.Number = 1
	fieldModRevision protowire.Number = 3
	fieldValue       protowire.Number = 5
	fieldLease       protowire.Number = 6 // the last one
)

// event is one key that was written or deleted at a revision.
type event struct {
	revision int64
	deleted  bool
	// key is part of the mapped file. It is empty for what a restore writes to raise
	// the revision, which etcd never shows.
	key []byte
	// lease is 0 if it has none.
	lease uint64
}

func parseRevision(b []byte) (main int64, deleted bool, err error) {
	switch {
	case len(b) != revisionSize && len(b) != tombstoneSize, b[8] != '_', len(b) == tombstoneSize && b[17] != 't':
		return 0, false, damaged("%q is not a revision", b)
	}
	main = int64(bigEndian(b))
	if main < 0 {
		return 0, false, damaged("%d is not a revision", main)
	}
	return main, len(b) == tombstoneSize, nil
}

func bigEndian(b []byte) (n uint64) {
	for _, c := range b[:8] {
		n = n<<8 | uint64(c)
	}
	return n
}

// parseEvent reads an element of the bucket of keys. Nothing is copied.
func parseEvent(e element) (ev event, err error) {
	if ev.revision, ev.deleted, err = parseRevision(e.key); err != nil {
		return ev, err
	}
	var modified uint64
	for rest := e.value; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return ev, notDecodable(ev)
		}
		rest = rest[n:]
		if bytes := number == fieldKey || number == fieldValue; number > fieldLease || bytes != (kind == protowire.BytesType) || !bytes && kind != protowire.VarintType {
			return ev, notDecodable(ev)
		}
		switch number {
		case fieldKey:
			ev.key, n = protowire.ConsumeBytes(rest)
		case fieldModRevision:
			modified, n = protowire.ConsumeVarint(rest)
		case fieldLease:
			ev.lease, n = protowire.ConsumeVarint(rest)
		default:
			n = protowire.ConsumeFieldValue(number, kind, rest)
		}
		if n < 0 {
			return ev, notDecodable(ev)
		}
		rest = rest[n:]
	}
	if len(ev.key) == 0 && len(e.value) > 0 || len(ev.key) > 0 && !ev.deleted && modified != uint64(ev.revision) {
		return ev, notDecodable(ev)
	}
	return ev, nil
}

func notDecodable(ev event) error {
	return damaged("what it holds of revision %d is not what etcd writes", ev.revision)
}
