package member

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// DefragmentedMark returns the annotation's value for a defragmentation of a Pod's member: the time of the
// request, the size of the database at that time in bytes, and whether it is done.
func DefragmentedMark(since time.Time, before int64, isDone bool) string {
	mark := since.UTC().Format(time.RFC3339Nano) + " " + strconv.FormatInt(before, 10)
	if isDone {
		mark += " done"
	}
	return mark
}

// Defragmented reads what is written on a Pod of its member's last defragmentation: when it was
// asked for, the size of the database then, in bytes, and whether the member has answered that it
// has ended. What can't be read is none: since is zero.
func Defragmented(p *corev1.Pod) (since time.Time, before int64, isDone bool) {
	words := strings.Fields(p.Annotations[v1beta2.AnnotationDefragmented])
	if len(words) < 2 {
		return time.Time{}, 0, false
	}
	since, err := time.Parse(time.RFC3339, words[0])
	if err != nil {
		return time.Time{}, 0, false
	}
	before, err = strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return time.Time{}, 0, false
	}
	return since, before, len(words) > 2
}
