package simulate

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file is what the API server makes of what it is sent.

// patched is an object after a patch. Most patches are of metadata: then the rest of the object is
// not written out and read back, but shared with the one before.
func patched(from client.Object, how client.Patch, into client.Object) error {
	data, err := how.Data(from)
	if err != nil {
		return err
	}
	apply, metadataAlone, err := patchOf(how.Type(), data)
	if err != nil {
		return err
	}
	if !metadataAlone {
		return throughJSON(from, apply, into)
	}
	type metadata struct {
		ObjectMeta metav1.ObjectMeta `json:"metadata"`
	}
	var before, after metadata
	reflect.ValueOf(&before.ObjectMeta).Elem().Set(reflect.ValueOf(from).Elem().FieldByName("ObjectMeta"))
	if err := throughJSON(&before, apply, &after); err != nil {
		return err
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from).Elem())
	reflect.ValueOf(into).Elem().FieldByName("ObjectMeta").Set(reflect.ValueOf(after.ObjectMeta))
	return nil
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

// patchOf is what a patch does with an object that is written out, and whether it does it to its
// metadata alone.
func patchOf(kind types.PatchType, data []byte) (apply func([]byte) ([]byte, error), metadataAlone bool, err error) {
	if kind == types.MergePatchType {
		var fields map[string]json.RawMessage
		err := json.Unmarshal(data, &fields)
		_, has := fields["metadata"]
		return func(before []byte) ([]byte, error) { return jsonpatch.MergePatch(before, data) }, has && len(fields) == 1, err
	}
	patch, err := jsonpatch.DecodePatch(data)
	metadataAlone = err == nil
	for _, op := range patch {
		path, err := op.Path()
		metadataAlone = metadataAlone && err == nil && strings.HasPrefix(path, "/metadata/") && (op.Kind() == "add" || op.Kind() == "remove" || op.Kind() == "replace" || op.Kind() == "test")
	}
	return patch.Apply, metadataAlone, err
}

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
