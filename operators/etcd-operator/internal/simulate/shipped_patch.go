package simulate

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file is what the API server makes of what it is sent.

// patched is an object after a patch. Most patches are of labels and annotations: then nothing is
// written out and read back, and the rest of the object is shared with the one before.
func patched(from client.Object, how client.Patch, into client.Object) error {
	data, err := how.Data(from)
	if err != nil {
		return err
	}
	if how.Type() == types.JSONPatchType {
		before := reflect.ValueOf(from).Elem()
		if next, ok := patchedMetadata(before.FieldByName("ObjectMeta").Interface().(metav1.ObjectMeta), data); ok {
			after := reflect.ValueOf(into).Elem()
			after.Set(before)
			after.FieldByName("ObjectMeta").Set(reflect.ValueOf(next))
			return nil
		}
	}
	return throughJSON(from, func(before []byte) ([]byte, error) { return applyPatch(before, how.Type(), data) }, into)
}

// applyPatch applies a patch to what is written out.
func applyPatch(before []byte, kind types.PatchType, data []byte) ([]byte, error) {
	if kind == types.MergePatchType {
		return jsonpatch.MergePatch(before, data)
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, err
	}
	return patch.Apply(before)
}

// throughJSON changes what is written out, and reads that.
func throughJSON(from any, change func([]byte) ([]byte, error), into any) error {
	before, err := json.Marshal(from)
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil {
		return err
	}
	return json.Unmarshal(after, into)
}

// patchedMetadata is metadata after a JSON patch of labels and annotations that applies. It knows no
// other patches.
func patchedMetadata(m metav1.ObjectMeta, data []byte) (next metav1.ObjectMeta, ok bool) {
	var ops []struct {
		Op, Path string
		Value    any
	}
	if json.Unmarshal(data, &ops) != nil {
		return m, false
	}
	for _, all := range []*map[string]string{&m.Labels, &m.Annotations} {
		if len(*all) == 0 { // it is not written out
			*all = nil
		}
		*all = maps.Clone(*all)
	}
	for _, op := range ops {
		value, isText := op.Value.(string)
		switch op.Path {
		case "/metadata/uid":
			if op.Op != "test" || !isText || value != string(m.UID) {
				return m, false
			}
			continue
		case "/metadata/resourceVersion":
			if op.Op != "test" || !isText || value != m.ResourceVersion {
				return m, false
			}
			continue
		}
		key, isLabel := strings.CutPrefix(op.Path, "/metadata/labels/")
		in := m.Labels
		if !isLabel {
			if key, ok = strings.CutPrefix(op.Path, "/metadata/annotations/"); !ok {
				return m, false
			}
			in = m.Annotations
		}
		key = unescaped.Replace(key)
		is, exists := in[key]
		switch {
		case op.Op == "add" && isText && in != nil, op.Op == "replace" && isText && exists:
			in[key] = value
		case op.Op == "remove" && exists:
			delete(in, key)
		case op.Op == "test" && isText && exists && is == value:
		default:
			return m, false
		}
	}
	return m, true
}

// unescaped undoes what a JSON pointer (RFC 6901) does to a key.
var unescaped = strings.NewReplacer("~1", "/", "~0", "~")

// inWholeSeconds gives the times in an object, which a pointer is to, the precision that they have in
// JSON.
func inWholeSeconds(v reflect.Value) {
	if !hasTimes(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			inWholeSeconds(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			inWholeSeconds(v.Index(i))
		}
	case reflect.Struct:
		if at, ok := v.Addr().Interface().(*metav1.Time); ok {
			at.Time = at.Truncate(time.Second)
			return
		}
		for i := range v.NumField() {
			inWholeSeconds(v.Field(i))
		}
	default: // hasTimes knows no other
	}
}

// timed says of types whether there are times in them.
var timed = map[reflect.Type]bool{}

func hasTimes(t reflect.Type) bool {
	has, known := timed[t]
	if known {
		return has
	}
	timed[t] = false // for a type that has itself in it
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		has = hasTimes(t.Elem())
	case reflect.Map:
		if hasTimes(t.Elem()) {
			panic("there is a map of times in " + t.String())
		}
	case reflect.Struct:
		has = t == reflect.TypeFor[metav1.Time]()
		for i := 0; i < t.NumField() && !has; i++ {
			has = t.Field(i).IsExported() && hasTimes(t.Field(i).Type)
		}
	default:
	}
	timed[t] = has
	return has
}
