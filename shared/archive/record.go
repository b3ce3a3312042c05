package archive

import (
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of a KeyValue (api/mvccpb/kv.proto).
const (
	fieldKey            protowire.Number = 1
	fieldCreateRevision protowire.Number = 2
	fieldModRevision    protowire.Number = 3
	fieldVersion        protowire.Number = 4
	fieldValue          protowire.Number = 5
	fieldLease          protowire.Number = 6
)

// recordOf is a change as etcd has it in its database, byte by byte: HashKV is of that. The
// fields are in the order of their numbers, and those that are empty are left out.
func recordOf(e *clientv3.Event, sub int64) (record, value []byte) {
	kv := e.Kv
	value = appendBytes(value, fieldKey, kv.Key)
	if e.Type == mvccpb.Event_DELETE {
		return revisionKey(kv.ModRevision, sub, true), value
	}
	value = appendInt(value, fieldCreateRevision, kv.CreateRevision)
	value = appendInt(value, fieldModRevision, kv.ModRevision)
	value = appendInt(value, fieldVersion, kv.Version)
	value = appendBytes(value, fieldValue, kv.Value)
	return revisionKey(kv.ModRevision, sub, false), appendInt(value, fieldLease, kv.Lease)
}

func appendBytes(b []byte, n protowire.Number, content []byte) []byte {
	if len(content) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), content)
}

func appendInt(b []byte, n protowire.Number, i int64) []byte {
	if i == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(i))
}
