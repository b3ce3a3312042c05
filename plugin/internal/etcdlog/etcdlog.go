// Package etcdlog makes etcd's log, lines of JSON, readable for people.
package etcdlog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Pretty is a line of etcd's log for people: the time, the level, what happened, and with what. A
// line that is no JSON, such as the launcher's, is returned as it is.
func Pretty(line string) string {
	var fields map[string]any
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil || fields["msg"] == nil {
		return line
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s %-5s %v", clock(fields["ts"]), strings.ToUpper(fmt.Sprint(fields["level"])), fields["msg"])
	for _, key := range []string{"ts", "level", "msg", "caller", "logger"} {
		delete(fields, key)
	}
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		fmt.Fprintf(out, " %s=%s", key, value(fields[key]))
	}
	return out.String()
}

// clock is the time of a line, to the millisecond, in UTC.
func clock(ts any) string {
	text := fmt.Sprint(ts)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999Z0700"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC().Format("2006-01-02 15:04:05.000")
		}
	}
	return text
}

// value is a field's value: a text with blanks is quoted, and what is no text is JSON.
func value(v any) string {
	if text, ok := v.(string); ok {
		if text == "" || strings.ContainsAny(text, " \t\n\"=") {
			return fmt.Sprintf("%q", text)
		}
		return text
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
