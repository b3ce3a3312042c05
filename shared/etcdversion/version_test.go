package etcdversion

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]Version{
		"3.6.9":       {3, 6, 9},
		"3.10.0":      {3, 10, 0},
		"3.7.0-rc.1":  {3, 7, 0}, // a release candidate counts as its release
		"3.6.9+x":     {3, 6, 9},
		"3.6":         {},
		"3.6.9.1":     {},
		"v3.6.9":      {},
		"3.6.x":       {},
		"not decided": {},
		"":            {},
	} {
		if got := Parse(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
