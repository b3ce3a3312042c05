package simulate

import (
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// alike reports whether cmp.Diff would find no difference between two values, by likeness. It is twenty
// times as fast, and leaves to cmp.Diff what it does not know: then it is false.
func alike(a, b reflect.Value) bool {
	switch t := a.Type(); t {
	case reflect.TypeFor[time.Time]():
		x, y := valueOf[time.Time](a), valueOf[time.Time](b)
		return x.Equal(y) || !x.IsZero() && !y.IsZero() && x.Sub(y).Abs() <= time.Second
	case reflect.TypeFor[metav1.Time](): // which has an Equal of its own
		return valueOf[metav1.Time](a).Time.Equal(valueOf[metav1.Time](b).Time)
	}
	switch a.Kind() {
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return a.Uint() == b.Uint()
	case reflect.String:
		return a.String() == b.String()
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return alike(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for it := a.MapRange(); it.Next(); {
			if y := b.MapIndex(it.Key()); !y.IsValid() || !alike(it.Value(), y) {
				return false
			}
		}
		return true
	case reflect.Struct:
		fields, known := comparedFields(a.Type())
		for _, i := range fields {
			if !alike(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return known
	default:
		return false
	}
}

// valueOf is a value, without a copy on the heap where it has an address.
func valueOf[T any](v reflect.Value) T {
	if v.CanAddr() {
		return *v.Addr().Interface().(*T)
	}
	return v.Interface().(T)
}

// compared are the fields of structs that are compared; nil for one that has fields of its own use.
var compared = map[reflect.Type][]int{}

func comparedFields(t reflect.Type) (fields []int, known bool) {
	if fields, known = compared[t]; known {
		return fields, fields != nil
	}
	fields = []int{}
	for i := range t.NumField() {
		switch f := t.Field(i); {
		case !f.IsExported():
			compared[t] = nil
			return nil, false
		case !slices.Contains(notCompared[t], f.Name):
			fields = append(fields, i)
		}
	}
	compared[t] = fields
	return fields, true
}
