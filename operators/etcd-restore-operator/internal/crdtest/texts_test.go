package crdtest

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
)

// A line break in a string would start a new line in a file that is generated from it.
func TestTextsAreBounded(t *testing.T) {
	admissiontest.AllRefused(t, "EtcdRestore", map[string]admissiontest.Mistake{
		"backup": {Reason: "no EtcdBackup has such a name", Spec: `{` + inPlace + `, backupRef: {name: "a\nb"}}`, Field: "spec.backupRef.name", Message: "name must be the name of an EtcdBackup of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as nightly"},
		"entry":  {Reason: "no entry has such a name", Spec: `{` + inPlace + `, backupRef: {name: a, entry: "a\nb"}}`, Field: "spec.backupRef.entry", Message: "entry must be the name of an entry of status.history of the EtcdBackup: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as nightly-1"},
	})
}
