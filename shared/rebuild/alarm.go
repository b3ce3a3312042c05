package rebuild

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// bucketAlarm holds an AlarmMember (api/etcdserverpb/rpc.proto) as the key of each alarm,
// with no value. It is part of every snapshot, and etcdutl keeps it: a cluster would refuse
// writes for an alarm of the cluster that the snapshot is from.
const bucketAlarm = "alarm"

// fieldAlarm is the kind of an alarm in an AlarmMember.
const fieldAlarm protowire.Number = 2

// alarmKinds are the kinds of alarms, by etcd's number of them.
var alarmKinds = map[uint64]string{1: "NOSPACE", 2: "CORRUPT"}

// alarmOf is the kind of an alarm.
func alarmOf(key []byte) (string, error) {
	kind := uint64(0)
	for rest := key; len(rest) > 0; {
		number, wire, n := protowire.ConsumeTag(rest)
		if n < 0 || wire != protowire.VarintType {
			return "", damaged("its alarm %x is not what etcd writes", key)
		}
		value, size := protowire.ConsumeVarint(rest[n:])
		if size < 0 {
			return "", damaged("its alarm %x is not what etcd writes", key)
		}
		if number == fieldAlarm {
			kind = value
		}
		rest = rest[n+size:]
	}
	if name, ok := alarmKinds[kind]; ok {
		return name, nil
	}
	return fmt.Sprintf("alarm %d", kind), nil
}
