package crdtest

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
)

// A line break in a string would start a new line in a file that is generated from it.
func TestTextsAreBounded(t *testing.T) {
	const (
		secretMessage = " must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as "
		userMessage   = "clientCommonName must be the name of an etcd user: use only letters, digits and - _ . : @ + /, such as app"
		opMessage     = "operatorSecret" + secretMessage + "etcd-operator-tls"
		peerMessage   = "peerSecret" + secretMessage + "etcd-peer-tls"
		serverMessage = "serverSecret" + secretMessage + "etcd-server-tls"
	)
	admissiontest.AllRefused(t, "EtcdCluster", map[string]admissiontest.Mistake{
		"user, by auto":         {Reason: "connect writes it to a shell's file", Spec: `{TLS: {auto: {clientCommonName: "x\nrm -rf ~ #"}}}`, Field: "spec.TLS.auto.clientCommonName", Message: userMessage},
		"user, by cert-manager": {Reason: "the same", Spec: `{TLS: {certManager: {issuerRef: {name: a}, clientCommonName: "$(x)"}}}`, Field: "spec.TLS.certManager.clientCommonName", Message: userMessage},
		"issuer":                {Reason: "no issuer has such a name", Spec: `{TLS: {certManager: {issuerRef: {name: "a\nb"}}}}`, Field: "spec.TLS.certManager.issuerRef.name", Message: "name must be the name of an Issuer or ClusterIssuer: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-ca"},
		"kind of issuer":        {Reason: "no kind has such a name", Spec: `{TLS: {certManager: {issuerRef: {name: a, kind: "a\nb"}}}}`, Field: "spec.TLS.certManager.issuerRef.kind", Message: "kind must be the kind of an issuer: set Issuer or ClusterIssuer"},
		"group of issuer":       {Reason: "no group has such a name", Spec: `{TLS: {certManager: {issuerRef: {name: a, group: "a\nb"}}}}`, Field: "spec.TLS.certManager.issuerRef.group", Message: "group must be the API group of an issuer, such as cert-manager.io"},
		"operator's Secret":     {Reason: "no Secret has such a name", Spec: `{TLS: {static: {operatorSecret: "a\nb", member: {serverSecret: a}}}}`, Field: "spec.TLS.static.operatorSecret", Message: opMessage},
		"peers' Secret":         {Reason: "no Secret has such a name", Spec: `{TLS: {static: {member: {peerSecret: "a\nb"}}}}`, Field: "spec.TLS.static.member.peerSecret", Message: peerMessage},
		"server's Secret":       {Reason: "no Secret has such a name", Spec: `{TLS: {static: {operatorSecret: a, member: {serverSecret: "a\nb"}}}}`, Field: "spec.TLS.static.member.serverSecret", Message: serverMessage},
		"repository":            {Reason: "no image has such a name", Spec: `{repository: "x\u001b[2J"}`, Field: "spec.repository", Message: imageMessage},
		"busybox":               {Reason: "no image has such a name", Spec: `{pod: {busyboxImage: "a\nb"}}`, Field: "spec.pod.busyboxImage", Message: "busyboxImage must be an image, such as busybox:1.37: remove it, because the operator ignores it"},
		"priority":              {Reason: "no PriorityClass has such a name", Spec: `{pod: {priorityClassName: "a\nb"}}`, Field: "spec.pod.priorityClassName", Message: "priorityClassName must be the name of a PriorityClass: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as low"},
		"account":               {Reason: "no ServiceAccount has such a name", Spec: `{pod: {serviceAccountName: "a\nb"}}`, Field: "spec.pod.serviceAccountName", Message: "serviceAccountName must be the name of a ServiceAccount of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd"},
		"defragmentation":       {Reason: "it is on one line", Spec: `{maintenance: {defragmentSchedule: "@daily\n"}}`, Field: "spec.maintenance.defragmentSchedule", Message: "defragmentSchedule must be a cron expression, such as 0 3 * * 0 or @daily"},
		"comparison":            {Reason: "it is on one line", Spec: `{maintenance: {consistencyCheck: "Never\n"}}`, Field: "spec.maintenance.consistencyCheck", Message: "consistencyCheck must be Never or a cron expression, such as 0 3 * * 0 or @daily"},
		"store":                 {Reason: "no URL has such a path", Spec: `{backup: {allowedStores: ["s3://mybucket/etcd?endpoint=https://x/\u001b"]}}`, Field: "spec.backup.allowedStores[0]", Message: storesMessage},
	})
}

// TestTextsAreAccepted: the patterns of strings accept valid values.
func TestTextsAreAccepted(t *testing.T) {
	admissiontest.Accepted(t, "EtcdCluster", map[string]admissiontest.Case{
		"no user":        {Reason: "a certificate without a common name", Spec: `{TLS: {auto: {clientCommonName: ""}}}`},
		"user":           {Reason: "names of etcd users", Spec: `{TLS: {auto: {clientCommonName: "system:app/web_1@example.com"}}}`},
		"registry":       {Reason: "a port, and a path", Spec: `{repository: "registry.example.com:5000/Mirror/etcd"}`},
		"IPv6 registry":  {Reason: "an address in brackets", Spec: `{repository: "[2001:db8::1]:5000/etcd"}`},
		"busybox digest": {Reason: "the predecessor ran it", Spec: `{pod: {busyboxImage: "busybox@sha256:00"}}`},
		"schedules":      {Reason: "the forms of cron expressions", Spec: `{maintenance: {defragmentSchedule: "CRON_TZ=America/Port-au-Prince 0,30 */3 1-5 JAN ?", consistencyCheck: "@every 1h30m"}}`},
	})
}
