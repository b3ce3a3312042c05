package simulate

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// TestAlike: whatever one thing of an Observation is another, alike overlooks it only if cmp.Diff
// does.
func TestAlike(t *testing.T) {
	changes := 0
	for n := 0; ; n++ {
		a, b, other := filled(-1), filled(-1), filled(n)
		if !alike(reflect.ValueOf(a), reflect.ValueOf(b)) {
			t.Fatal("two that are the same are not alike")
		}
		if reflect.DeepEqual(a, other) { // there is no such thing any more
			break
		}
		changes++
		diff := cmp.Diff(a, other, likeness...)
		if got := alike(reflect.ValueOf(a), reflect.ValueOf(other)); got != (diff == "") {
			t.Errorf("alike says %v of\n%s", got, diff)
		}
	}
	if changes < 150 {
		t.Errorf("only %d things were changed", changes)
	}
}

// filled is an Observation of which nothing is empty, and the thing of a number another than usual.
func filled(another int) *facts.Observation {
	o := &facts.Observation{}
	fill(reflect.ValueOf(o).Elem(), &another)
	return o
}

func fill(v reflect.Value, another *int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(epoch.Add(time.Hour * time.Duration(odd(another)))))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(odd(another) == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1 + int64(odd(another)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1 + uint64(odd(another)))
	case reflect.String:
		v.SetString([]string{"a", "b"}[odd(another)])
	case reflect.Pointer:
		if odd(another) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), another)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2-odd(another), 2))
		for i := range v.Len() {
			fill(v.Index(i), another)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, another)
		fill(value, another)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), another)
			}
		}
	default:
	}
}

// odd is 1 for the thing of the number.
func odd(another *int) int {
	*another--
	if *another == -1 {
		return 1
	}
	return 0
}
