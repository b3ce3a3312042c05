package plan

import (
	"reflect"
	"regexp"
	"strings"
)

// The tests call members a, b and c, which no pattern can tell from the words of a message.
// What is noted is what the planner says of the same Observation with long names.

// short are the names that tests use, alone or as parts of names and uids.
var short = regexp.MustCompile(`\b(?:[a-z]|n\d+)\b`)

// withLongNames is a deep copy of an Observation in which a is example-a.
func withLongNames(o Observation) Observation {
	return *longNames(reflect.ValueOf(&o)).Interface().(*Observation)
}

func longNames(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		if !strings.ContainsAny(s, " %") { // a text has words such as a, and a format its verbs
			s = short.ReplaceAllString(s, "example-$0")
		}
		out.SetString(s)
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(longNames(v.Elem()))
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = reflect.Append(out, longNames(v.Index(i)))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(longNames(v.Field(i)))
			}
		}
	default:
		out.Set(v)
	}
	return out
}
