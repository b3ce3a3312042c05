package main

import (
	"strings"
	"testing"
)

// A typing error in -only names the parts, rather than to measure none of them.
func TestValidate(t *testing.T) {
	for _, name := range append(partNames(), "") {
		if err := (plan{only: name}).validate(nil); err != nil {
			t.Errorf("-only %q: %v", name, err)
		}
	}
	err := plan{only: "heel"}.validate(nil)
	if err == nil {
		t.Fatal("-only heel is accepted")
	}
	for _, name := range append(partNames(), "heel") {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
	if err := (plan{}).validate([]string{"heal"}); err == nil {
		t.Error("an argument is accepted")
	}
}
