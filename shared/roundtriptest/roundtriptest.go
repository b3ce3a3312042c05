// Package roundtriptest checks that one program reads exactly what another one writes. A test calls both halves
// of a protocol with random values, which are the same in each run.
package roundtriptest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// draws is the number of random values. It is large enough to combine each field, set and unset, with each
// other field.
const draws = 300

// Check generates values of a type and passes each through a writer and its reader. fix can first change values
// that the writer never receives.
func Check[T any](t *testing.T, pass func(T) (T, error), fix ...func(*T)) {
	t.Helper()
	for seed := range int64(draws) {
		var v T
		draw(rand.New(rand.NewSource(seed)), reflect.ValueOf(&v).Elem())
		for _, f := range fix {
			f(&v)
		}
		got, err := pass(v)
		if err != nil {
			t.Fatalf("%+v cannot be read back: %v", v, err)
		}
		if diff := cmp.Diff(v, got); diff != "" {
			t.Fatalf("-written +read:\n%s", diff)
		}
	}
}

// JSON passes a value through JSON.
func JSON[T any](v T) (read T, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return read, err
	}
	return read, json.Unmarshal(text, &read)
}

// texts lists values for random strings. Each has a character with a meaning in JSON, for the kubelet or in
// URLs.
var texts = []string{"", "a", "$(HOME) $$ $", `"<&>\'`, "a b\n\t", "\u00e9 \u2028 \U0001f600", "a/b:c=d,e%2f", "0001", "null"}

var times = reflect.TypeFor[time.Time]()

func draw(r *rand.Rand, v reflect.Value) {
	if v.Type() == times {
		if r.Intn(4) > 0 {
			v.Set(reflect.ValueOf(time.Unix(r.Int63n(1<<32), r.Int63n(1e9)).UTC()))
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.Intn(2) == 1)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n := []int64{0, 1, -1, r.Int63(), math.MaxInt64, math.MinInt64}[r.Intn(6)]
		v.SetInt(n >> (64 - v.Type().Bits()))
	case reflect.Uint32, reflect.Uint64:
		n := []uint64{0, math.MaxUint64, r.Uint64()}[r.Intn(3)]
		v.SetUint(n >> (64 - v.Type().Bits()))
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		v.SetString(texts[r.Intn(len(texts))])
	case reflect.Pointer:
		if r.Intn(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			draw(r, v.Elem())
		}
	case reflect.Slice:
		for range r.Intn(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			draw(r, e)
			v.Set(reflect.Append(v, e))
		}
	case reflect.Map:
		for range r.Intn(3) {
			key, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			draw(r, key)
			draw(r, e)
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(key, e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(r, v.Field(i))
		}
	default:
		panic(fmt.Sprintf("roundtriptest: %s is not drawn", v.Type()))
	}
}
