// Package lastwords tells from the end of etcd's log whether etcd has ended because of what
// is on its disk.
//
// Exit codes don't: etcd ends with 1 or 2 for a wrong flag, a key that does not fit its
// certificate, an address in use or a full disk as well, and a member whose data counts as
// broken loses its volume. So only words that etcd 3.5 to 3.7 have been seen to end with on
// damaged data count (the tests damage some), of which the kubelet keeps 2 KiB. Whatever else
// it says, also if the words that matter have been cut off, is not taken for damage.
package lastwords

import (
	"encoding/json"
	"regexp"
	"strings"
)

// signs are what etcd ends with on damaged data. They match etcd's own fatal message, or the
// first lines of a panic: not what it quotes of a client's request, in which line feeds and
// quotation marks are escaped.
var signs = []struct {
	words *regexp.Regexp
	means string
}{
	{
		regexp.MustCompile(`"msg":"discovery failed","error":"walpb: crc mismatch`),
		"a record of its write-ahead log fails its checksum",
	},
	{
		// Before 3.7. etcd has cut the log off at the damage, and nothing is left of it.
		regexp.MustCompile(`(?m)^panic: cannot use none as id$`),
		"its write-ahead log has no beginning",
	},
	{
		// 3.7 on the same: what it looks for in the log is nil.
		regexp.MustCompile(`(?m)^panic: runtime error: invalid memory address or nil pointer dereference\n(?:.*\n)?\ngoroutine 1 \[running\]:\ngo\.etcd\.io/etcd/server/v3/etcdserver\.bootstrap\(`),
		"its write-ahead log has no beginning",
	},
	{
		regexp.MustCompile(`"msg":"failed to open database","path":"[^"]*","error":"(?:invalid database|version mismatch|checksum error)"`),
		"its database has no valid meta page",
	},
	{
		// The panic's own line may have been cut off. A page that cannot be read (a signal)
		// has another first frame.
		regexp.MustCompile(`(?m)^goroutine \d+ \[running\]:\ngo\.etcd\.io/bbolt(?:\._assert|/internal/common\.Assert|\.\(\*page\)\.fastCheck|/internal/common\.\(\*Page\)\.FastCheck)\(`),
		"a page of its database is invalid",
	},
	{
		// The frame is what is left of it from 3.6 on.
		regexp.MustCompile(`(?m)^panic: failed to recover v3 backend from snapshot$|^go\.etcd\.io/etcd/server/v3/etcdserver\.recoverSnapshot\(`),
		"its database lacks the data of its raft snapshot",
	},
	{
		regexp.MustCompile(`(?m)^panic: tocommit\(\d+\) is out of range \[lastIndex\(\d+\)\]`),
		"its write-ahead log lacks entries that it has acknowledged",
	},
}

// Damage says what is wrong with the data of an etcd whose log ends like this; empty if it
// is not known that anything is.
func Damage(log string) string {
	for _, s := range signs {
		if s.words.MatchString(log) {
			return s.means
		}
	}
	return ""
}

// maxLast is how long [Last] may be, in bytes: it stands in a condition among others.
const maxLast = 300

// Last is what a person reads first of such a log, in one line: the message of a panic, or
// that of the last line, and its error.
func Last(log string) string {
	last := ""
	for line := range strings.SplitSeq(log, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return clip(line)
		}
		if line != "" {
			last = line
		}
	}
	var entry struct{ Msg, Error string }
	if json.Unmarshal([]byte(last), &entry) == nil && entry.Msg != "" {
		last = strings.TrimSuffix(entry.Msg+": "+entry.Error, ": ")
	}
	return clip(last)
}

func clip(line string) string {
	return strings.ToValidUTF8(line[:min(len(line), maxLast)], "")
}
