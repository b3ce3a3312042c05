package crdtest

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
)

// A line break in a string would start a new line in a file that is generated from it.
func TestTextsAreBounded(t *testing.T) {
	const secretMessage = " must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as "
	const (
		awsMessage    = "awsSecret" + secretMessage + "aws"
		absMessage    = "absSecret" + secretMessage + "azure"
		gcpMessage    = "gcpSecret" + secretMessage + "google"
		ossMessage    = "ossSecret" + secretMessage + "oss"
		clientMessage = "clientTLSSecret" + secretMessage + "etcd-client-tls"
	)
	admissiontest.AllRefused(t, "EtcdBackup", map[string]admissiontest.Mistake{
		"cluster":          {Reason: "no EtcdCluster has such a name", Spec: `{clusterRef: {name: "a\nb"}, ` + toS3 + `}`, Field: "spec.clusterRef.name", Message: "name must be the name of an EtcdCluster of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as example"},
		"certificate":      {Reason: "no Secret has such a name", Spec: with(`clientTLSSecret: "a\nb"`), Field: "spec.clientTLSSecret", Message: clientMessage},
		"AWS":              {Reason: "no Secret has such a name", Spec: s3(`path: b-1/k, awsSecret: "a\nb"`), Field: "spec.s3.awsSecret", Message: awsMessage},
		"Azure":            {Reason: "no Secret has such a name", Spec: `{` + from + `, storageType: ABS, abs: {path: box/k, absSecret: "a\nb"}}`, Field: "spec.abs.absSecret", Message: absMessage},
		"Google":           {Reason: "no Secret has such a name", Spec: `{` + from + `, storageType: GCS, gcs: {path: b-1/k, gcpSecret: "a\nb"}}`, Field: "spec.gcs.gcpSecret", Message: gcpMessage},
		"OSS":              {Reason: "no Secret has such a name", Spec: `{` + from + `, storageType: OSS, oss: {path: b-1/k, ossSecret: "a\nb"}}`, Field: "spec.oss.ossSecret", Message: ossMessage},
		"key":              {Reason: "no key has such a name", Spec: s3(`path: b-1/k, serverSideEncryption: "aws:kms", kmsKeyID: "a\nb"`), Field: "spec.s3.kmsKeyID", Message: "kmsKeyID must be the id, alias or ARN of a key, such as alias/backups: use only letters, digits, dashes, underscores, dots, colons and slashes"},
		"endpoint":         {Reason: "no URL has such a path", Spec: s3(`path: b-1/k, endpoint: "https://x/\u001b"`), Field: "spec.s3.endpoint", Message: "endpoint must be the URL of an S3 store, such as https://s3.example.com or http://minio.default:9000"},
		"variable":         {Reason: "no proxy has such a URL", Spec: env(`{name: NO_PROXY, value: "a\nb"}`), Field: "spec.pod.env[0].value", Message: "value must not contain line breaks or other control characters: remove them"},
		"priority":         {Reason: "no PriorityClass has such a name", Spec: with(`pod: {priorityClassName: "a\nb"}`), Field: "spec.pod.priorityClassName", Message: "priorityClassName must be the name of a PriorityClass: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as low"},
		"account":          {Reason: "no ServiceAccount has such a name", Spec: with(`pod: {serviceAccountName: "a\nb"}`), Field: "spec.pod.serviceAccountName", Message: "serviceAccountName must be the name of a ServiceAccount of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-backups"},
		"schedule's break": {Reason: "it is on one line", Spec: policy(`schedule: "@daily\n"`), Field: "spec.backupPolicy.schedule", Message: cronMessage},
	})
}

// TestTextsAreAccepted: the patterns of strings accept valid values.
func TestTextsAreAccepted(t *testing.T) {
	admissiontest.Accepted(t, "EtcdBackup", map[string]admissiontest.Case{
		"ARN":       {Reason: "AWS names a key like this", Spec: s3(`path: b-1/k, serverSideEncryption: "aws:kms", kmsKeyID: "arn:aws:kms:eu-west-1:1:key/0-a_b"`)},
		"tags":      {Reason: "AWS accepts letters of all languages, spaces and + - = . _ : / @", Spec: s3(`path: b-1/k, tags: {"Kosten stelle": "Müller + 東京 = 1@x"}`)},
		"variables": {Reason: "lists, and URLs with a user", Spec: env(`{name: NO_PROXY, value: "10.0.0.0/8, .svc"}, {name: HTTPS_PROXY, value: "http://a:b%20c@x:1"}`)},
	})
}
