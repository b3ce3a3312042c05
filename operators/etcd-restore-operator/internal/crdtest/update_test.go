package crdtest

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

const (
	again           = "cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
	clusterMessage  = "etcdCluster, target and clusterTemplate " + again
	snapshotMessage = "backupStorageType, s3, pvc, backupRef, clusterID and skipHashCheck " + again
	howMessage      = "revisionBump and pod " + again
	verifyMessage   = "verifyOnly cannot be changed, because a restore runs once: create another EtcdRestore to restore what this one has verified"
	lossMessage     = "acceptDataLoss cannot be changed back, because the members might already have been stopped: set it to true again, or delete this EtcdRestore, and create another one"
	runningMessage  = "acceptRunningOldMembers cannot be changed back, because the restore might already have continued: set it to true again, or delete this EtcdRestore, and create another one"
)

// What a restore is, is settled when it is made. How long it may take, and what it puts
// up with, is not.
func TestUpdates(t *testing.T) {
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	plain := `{` + inPlace + `, ` + fromS3 + `}`
	fromBackup := of(`backupRef: {name: b}`)
	cases := map[string]struct {
		reason         string
		before, after  string
		field, message string // of the refusal; both empty if it is accepted
	}{
		"timeout":               {reason: "patience may end", before: plain, after: with(`timeoutInSecond: 60`)},
		"timeout removed":       {reason: "or come back", before: with(`timeoutInSecond: 60`), after: plain},
		"old members accepted":  {reason: "a node may turn out to be lost for good", before: plain, after: with(`acceptRunningOldMembers: true`)},
		"old members, kept":     {reason: "with another change", before: with(`acceptRunningOldMembers: true`), after: with(`acceptRunningOldMembers: true, timeoutInSecond: 5`)},
		"loss accepted":         {reason: "a person has read what will be lost", before: plain, after: with(`acceptDataLoss: true`)},
		"loss accepted, kept":   {reason: "with another change", before: with(`acceptDataLoss: true`), after: with(`acceptDataLoss: true, timeoutInSecond: 5`)},
		"members first":         {reason: "no node may have room for the seed", before: plain, after: with(`stopMembers: First`)},
		"members first no more": {reason: "there may be room after all", before: with(`stopMembers: First`), after: with(`stopMembers: WhenSeedIsReady`)},
		"old client":            {reason: "it writes what was omitted", before: of(`backupStorageType: S3, s3: {path: b-1/k}`), after: of(`backupStorageType: S3, s3: {path: b-1/k, awsSecret: "", endpoint: "", forcePathStyle: false}`)},
		"new client":            {reason: "it omits what is empty", before: `{` + inPlace + `, clusterID: "", skipHashCheck: false, acceptRunningOldMembers: false, timeoutInSecond: 0, backupStorageType: S3, s3: {path: b-1/k, awsSecret: "", endpoint: "", forcePathStyle: false, region: "", storageClass: "", serverSideEncryption: "", kmsKeyID: ""}}`, after: of(`backupStorageType: S3, s3: {path: b-1/k}`)},
		"new client, backup":    {reason: "it omits what is empty", before: of(`backupStorageType: "", backupRef: {name: b, entry: ""}`), after: fromBackup},
		"new client, template":  {reason: "it omits what is empty", before: `{` + template + `, target: "", ` + fromS3 + `}`, after: `{` + template + `, ` + fromS3 + `}`},
		"unused block":          {reason: "it means nothing", before: plain, after: with(`abs: {path: "", absSecret: ""}`)},

		"loss refused":          {reason: "the members may be stopped", before: with(`acceptDataLoss: true`), after: with(`acceptDataLoss: false`), field: "spec.acceptDataLoss", message: lossMessage},
		"loss omitted":          {reason: "the members may be stopped", before: with(`acceptDataLoss: true`), after: plain, field: "spec.acceptDataLoss", message: lossMessage},
		"old members refused":   {reason: "the restore has gone on by it", before: with(`acceptRunningOldMembers: true`), after: with(`acceptRunningOldMembers: false`), field: "spec.acceptRunningOldMembers", message: runningMessage},
		"old members omitted":   {reason: "the restore has gone on by it", before: with(`acceptRunningOldMembers: true`), after: plain, field: "spec.acceptRunningOldMembers", message: runningMessage},
		"cluster":               {reason: "another one may be fenced", before: plain, after: `{etcdCluster: {name: other}, target: InPlace, ` + fromS3 + `}`, field: "spec", message: clusterMessage},
		"target":                {reason: "one may be fenced", before: plain, after: `{etcdCluster: {name: x}, target: New, ` + fromS3 + `}`, field: "spec", message: clusterMessage},
		"target removed":        {reason: "a client of the predecessor would do that", before: plain, after: `{etcdCluster: {name: x}, ` + fromS3 + `}`, field: "spec", message: clusterMessage},
		"template in its place": {reason: "one may be fenced", before: plain, after: `{` + template + `, target: New, ` + fromS3 + `}`, field: "spec", message: clusterMessage},
		"template":              {reason: "it may be made", before: `{` + template + `, ` + fromS3 + `}`, after: `{clusterTemplate: {spec: {size: 5}}, ` + fromS3 + `}`, field: "spec", message: clusterMessage},
		"key":                   {reason: "another snapshot was checked", before: plain, after: s3(`path: b-1/k2, awsSecret: aws`), field: "spec.s3", message: "s3 " + again},
		"secret":                {reason: "the seed would get another one", before: plain, after: s3(`path: b-1/k, awsSecret: other`), field: "spec.s3", message: "s3 " + again},
		"secret removed":        {reason: "the seed would get none", before: plain, after: s3(`path: b-1/k`), field: "spec.s3", message: "s3 " + again},
		"volume in its place":   {reason: "another snapshot was checked", before: plain, after: of(fromPVC), field: "spec", message: snapshotMessage},
		"file":                  {reason: "another snapshot was checked", before: pvc("a"), after: pvc("b"), field: "spec", message: snapshotMessage},
		"backup in its place":   {reason: "another snapshot was checked", before: plain, after: fromBackup, field: "spec", message: snapshotMessage},
		"backup":                {reason: "another snapshot was checked", before: fromBackup, after: of(`backupRef: {name: c}`), field: "spec.backupRef", message: "backupRef " + again},
		"entry":                 {reason: "another snapshot was checked", before: fromBackup, after: of(`backupRef: {name: b, entry: e}`), field: "spec.backupRef", message: "backupRef " + again},
		"cluster id":            {reason: "the snapshot is checked", before: plain, after: with(`clusterID: 00c0ffee00c0ffee`), field: "spec", message: snapshotMessage},
		"cluster id removed":    {reason: "the snapshot is checked", before: with(`clusterID: 00c0ffee00c0ffee`), after: plain, field: "spec", message: snapshotMessage},
		"hash":                  {reason: "the snapshot is checked", before: plain, after: with(`skipHashCheck: true`), field: "spec", message: snapshotMessage},
		"bump":                  {reason: "the seed may be made", before: plain, after: with(`revisionBump: 2000000000`), field: "spec", message: howMessage},
		"bump changed":          {reason: "the seed may be made", before: with(`revisionBump: 2000000000`), after: with(`revisionBump: 3000000000`), field: "spec", message: howMessage},
		"verifyOnly":            {reason: "a check must not become a restore", before: with(`verifyOnly: true`), after: plain, field: "spec.verifyOnly", message: verifyMessage},
		"verifyOnly later":      {reason: "a restore must not be left in the middle", before: plain, after: with(`verifyOnly: true`), field: "spec.verifyOnly", message: verifyMessage},
		"startEtcd":             {reason: "it may run already", before: with(`verifyOnly: true, startEtcd: {version: 3.6.16}`), after: with(`verifyOnly: true, startEtcd: {version: 3.5.21}`), field: "spec.startEtcd", message: "startEtcd " + again},
		"revision":              {reason: "another one may be prepared", before: with(`revision: 5`), after: with(`revision: 6`), field: "spec.revision", message: "revision and leasedKeys " + again},
		"revision later":        {reason: "the whole snapshot may be prepared", before: plain, after: with(`revision: 6`), field: "spec.revision", message: "revision and leasedKeys " + again},
		"time":                  {reason: "another one may be prepared", before: with(`time: "2026-03-01T12:00:00Z"`), after: with(`time: "2026-03-01T12:00:01Z"`), field: "spec.time", message: "time " + again},
		"time later":            {reason: "the whole snapshot may be prepared", before: plain, after: with(`time: "2026-03-01T12:00:00Z"`), field: "spec.time", message: "time " + again},
		"leased keys":           {reason: "they may be left out already", before: with(`revision: 5`), after: with(`revision: 5, leasedKeys: Keep`), field: "spec.revision", message: "revision and leasedKeys " + again},
		"leased keys, default":  {reason: "it means the same", before: with(`revision: 5`), after: with(`revision: 5, leasedKeys: ""`)},
		"prefixes":              {reason: "others may be prepared", before: `{` + template + `, prefixes: [a], ` + fromS3 + `}`, after: `{` + template + `, prefixes: [b], ` + fromS3 + `}`, field: "spec.prefixes", message: "prefixes " + again},
		"prefixes, none":        {reason: "it means the same", before: plain, after: with(`prefixes: []`)},
		"empty snapshot later":  {reason: "the snapshot may be refused already", before: plain, after: with(`allowEmptySnapshot: true`), field: "spec.allowEmptySnapshot", message: "allowEmptySnapshot " + again},
		"ABS, key":              {reason: "another snapshot was checked", before: of(`backupStorageType: ABS, abs: {path: box/k}`), after: of(`backupStorageType: ABS, abs: {path: box/k2}`), field: "spec.abs", message: "abs " + again},
		"ABS, old client":       {reason: "it writes what was omitted", before: of(`backupStorageType: ABS, abs: {path: box/k}`), after: of(`backupStorageType: ABS, abs: {path: box/k, absSecret: "", endpoint: ""}`)},
		"GCS, key":              {reason: "another snapshot was checked", before: of(`backupStorageType: GCS, gcs: {path: b-1/k}`), after: of(`backupStorageType: GCS, gcs: {path: b-1/k2}`), field: "spec.gcs", message: "gcs " + again},
		"GCS, old client":       {reason: "it writes what was omitted", before: of(`backupStorageType: GCS, gcs: {path: b-1/k}`), after: of(`backupStorageType: GCS, gcs: {path: b-1/k, gcpSecret: "", endpoint: ""}`)},
		"OSS, key":              {reason: "another snapshot was checked", before: of(`backupStorageType: OSS, oss: {path: b-1/k}`), after: of(`backupStorageType: OSS, oss: {path: b-1/k2}`), field: "spec.oss", message: "oss " + again},
		"OSS, old client":       {reason: "it writes what was omitted", before: of(`backupStorageType: OSS, oss: {path: b-1/k}`), after: of(`backupStorageType: OSS, oss: {path: b-1/k, ossSecret: "", endpoint: ""}`)},
		"prefix":                {reason: "another snapshot was checked", before: s3(`prefix: b-1/a`), after: s3(`prefix: b-1/b`), field: "spec.s3", message: "s3 " + again},
		"path for a prefix":     {reason: "another snapshot was checked", before: s3(`prefix: b-1/a`), after: s3(`path: b-1/a`), field: "spec.s3", message: "s3 " + again},
		"timeout of a prefix":   {reason: "patience may end", before: s3(`prefix: b-1/a`), after: `{` + inPlace + `, timeoutInSecond: 60, backupStorageType: S3, s3: {prefix: b-1/a}}`},
		"CA":                    {reason: "the seed would get another one", before: plain, after: s3(`path: b-1/k, awsSecret: aws, caSecret: ca`), field: "spec.s3", message: "s3 " + again},
		"pod":                   {reason: "the Pods may be made", before: plain, after: with(`pod: {serviceAccountName: a}`), field: "spec", message: howMessage},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			u := admissiontest.Object(t, "EtcdRestore", namespace, "", tc.before)
			if err := c.Create(apiservertest.Context(t), u); err != nil {
				t.Fatal(err)
			}
			u.Object["spec"] = admissiontest.Parse(t, []byte(tc.after))
			err := c.Update(apiservertest.Context(t), u)
			if tc.message == "" {
				if err != nil {
					t.Errorf("%s, but it was refused: %v", tc.reason, err)
				}
				return
			}
			admissiontest.Refused(t, err, tc.field, tc.message, tc.reason)
		})
	}
}
