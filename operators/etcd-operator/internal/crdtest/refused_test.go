package crdtest

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

const (
	nameMessage    = "metadata.name is also the name of a Service: write lower-case letters, digits and dashes, with a letter first and no dash last, such as my-etcd"
	versionMessage = "version is not of the form X.Y.Z: write all three numbers, such as 3.6.16, v3.6.16 or 3.7.0-rc.1"
	imageMessage   = "repository is an image without tag or digest, such as quay.io/coreos/etcd: write the tag as version"
	labelMessage   = " is set by the operator (as are app and etcd_*); remove it or use another key"
	noteMessage    = " is set by the operator (as are etcd.version and etcd.database.coreos.com/*); remove it or use another key"
	envMessage     = " is set by the operator, which decides what a member is, where it listens and where it keeps its data: remove it"
	envTLSMessage  = " is set by the operator from spec.TLS.static: remove it, and name the Secrets there"
	tlsMessage     = "operatorSecret and member.serverSecret belong together: set both (members then serve clients by TLS, and the operator is one of them) or neither"
	timeoutMessage = "memberTimeout is a duration of at least 10s: write it with its unit, such as 30s, 5m or 1h30m"
	domainMessage  = "ClusterDomain is a DNS domain with a leading dot: write it as .cluster.local"
	typesMessage   = `supported values: "ClusterIP", "NodePort", "LoadBalancer"`
)

// Each row is one mistake, and all that the user is told about it.
func TestRefused(t *testing.T) {
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	cases := map[string]struct {
		reason  string
		name    string
		spec    string
		field   string // where the mistake is
		message string // the end of what is said about it
	}{
		"name too long":      {reason: "a member's name would not be a DNS label", name: longName(v1beta2.MaxNameLength + 1), spec: `{}`, message: "metadata.name has more than 52 characters: members, their Pods and their DNS names add 11 to it; choose a shorter one"},
		"name with digit":    {reason: "a Service's name starts with a letter", name: "1st", spec: `{}`, message: nameMessage},
		"name with dot":      {reason: "a Service's name has no dots", name: "my.etcd", spec: `{}`, message: nameMessage},
		"size 0":             {reason: "no members are no cluster", spec: `{size: 0}`, field: "spec.size", message: "spec.size in body should be greater than or equal to 1"},
		"size 8":             {reason: "eight members only slow down writes", spec: `{size: 8}`, field: "spec.size", message: "spec.size in body should be less than or equal to 7"},
		"version of two":     {reason: "there is no such image", spec: `{version: "3.6"}`, field: "spec.version", message: versionMessage},
		"version latest":     {reason: "what runs must be known", spec: `{version: latest}`, field: "spec.version", message: versionMessage},
		"version with zero":  {reason: "not a semantic version", spec: `{version: 3.06.1}`, field: "spec.version", message: versionMessage},
		"version with +":     {reason: "not legal in an image's tag", spec: `{version: 3.6.16+git}`, field: "spec.version", message: versionMessage},
		"repository:tag":     {reason: "two tags", spec: `{repository: "quay.io/coreos/etcd:v3.6.16"}`, field: "spec.repository", message: imageMessage},
		"repository@digest":  {reason: "a digest leaves no room for a version", spec: `{repository: "quay.io/coreos/etcd@sha256:00"}`, field: "spec.repository", message: imageMessage},
		"label app":          {reason: "selectors would no longer find the Pod", spec: `{pod: {labels: {app: mine}}}`, field: "spec.pod.labels", message: "app" + labelMessage},
		"label etcd_node":    {reason: "the same", spec: `{pod: {labels: {etcd_node: mine}}}`, field: "spec.pod.labels", message: "etcd_node" + labelMessage},
		"label etcd_role":    {reason: "the client Service selects by it", spec: `{pod: {labels: {team: a, etcd_role: voter}}}`, field: "spec.pod.labels", message: "etcd_role" + labelMessage},
		"annotation":         {reason: "reserved by the predecessor", spec: `{pod: {annotations: {etcd.version: "3.6.16"}}}`, field: "spec.pod.annotations", message: "etcd.version" + noteMessage},
		"start annotation":   {reason: "it is the operator's leave to start etcd", spec: `{pod: {annotations: {etcd.database.coreos.com/start: x}}}`, field: "spec.pod.annotations", message: "etcd.database.coreos.com/start" + noteMessage},
		"unknown service":    {reason: "an ExternalName selects nothing", spec: `{service: {type: ExternalName}}`, field: "spec.service.type", message: typesMessage},
		"operator's secret":  {reason: "the operator would speak TLS to members that don't", spec: `{TLS: {static: {operatorSecret: a}}}`, field: "spec.TLS.static", message: tlsMessage},
		"server's secret":    {reason: "the operator would be locked out", spec: `{TLS: {static: {member: {serverSecret: a}}}}`, field: "spec.TLS.static", message: tlsMessage},
		"short timeout":      {reason: "a node that blinks is not lost", spec: `{recovery: {memberTimeout: 9s}}`, field: "spec.recovery.memberTimeout", message: timeoutMessage},
		"timeout unit":       {reason: "300 what?", spec: `{recovery: {memberTimeout: "300"}}`, field: "spec.recovery.memberTimeout", message: timeoutMessage},
		"timeout number":     {reason: "300 what?", spec: `{recovery: {memberTimeout: 300}}`, field: "spec.recovery.memberTimeout", message: `must be of type string: "integer"`},
		"domain without dot": {reason: "names would end in svccluster.local", spec: `{pod: {ClusterDomain: cluster.local}}`, field: "spec.pod.ClusterDomain", message: domainMessage},
		"no access mode":     {reason: "no claim can be made of it", spec: `{pod: {persistentVolumeClaimSpec: {resources: {requests: {storage: 1Gi}}}}}`, field: "spec.pod.persistentVolumeClaimSpec", message: "persistentVolumeClaimSpec has no access mode: write accessModes: [ReadWriteOnce]"},
		"no storage":         {reason: "no claim can be made of it", spec: `{pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce]}}}`, field: "spec.pod.persistentVolumeClaimSpec", message: "persistentVolumeClaimSpec asks for no storage: write resources.requests.storage, such as 8Gi"},
		"grace period 0":     {reason: "etcd would be killed each time", spec: `{pod: {terminationGracePeriodSeconds: 0}}`, field: "spec.pod.terminationGracePeriodSeconds", message: "should be greater than or equal to 1"},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			admissiontest.Refused(t, c.Create(apiservertest.Context(t), admissiontest.Object(t, "EtcdCluster", namespace, tc.name, tc.spec)), tc.field, tc.message, tc.reason)
		})
	}
}

// etcd takes every flag from its environment too, so what the operator decides
// must not come in that way.
func TestOperatorOwnedEnvironmentIsRefused(t *testing.T) {
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	owned := map[string][]string{
		envMessage: {
			"ETCD_NAME", "ETCD_DATA_DIR", "ETCD_WAL_DIR", "ETCD_CONFIG_FILE",
			"ETCD_LISTEN_PEER_URLS", "ETCD_LISTEN_CLIENT_URLS", "ETCD_LISTEN_CLIENT_HTTP_URLS", "ETCD_LISTEN_METRICS_URLS",
			"ETCD_INITIAL_ADVERTISE_PEER_URLS", "ETCD_INITIAL_CLUSTER", "ETCD_INITIAL_CLUSTER_STATE", "ETCD_INITIAL_CLUSTER_TOKEN",
			"ETCD_ADVERTISE_CLIENT_URLS",
			"ETCD_DISCOVERY", "ETCD_DISCOVERY_SRV", "ETCD_DISCOVERY_TOKEN", "ETCD_DISCOVERY_ENDPOINTS",
			"ETCD_FORCE_NEW_CLUSTER", "ETCD_FORCE_NEW_CLUSTER_BUMP_AMOUNT", "ETCD_STRICT_RECONFIG_CHECK",
			"ETCD_MAX_LEARNERS", "ETCD_EXPERIMENTAL_MAX_LEARNERS",
		},
		envTLSMessage: {
			"ETCD_CA_FILE", "ETCD_CERT_FILE", "ETCD_KEY_FILE", "ETCD_TRUSTED_CA_FILE", "ETCD_AUTO_TLS",
			"ETCD_CLIENT_CERT_AUTH", "ETCD_CLIENT_CERT_FILE", "ETCD_CLIENT_KEY_FILE", "ETCD_CLIENT_CRL_FILE",
			"ETCD_PEER_CERT_FILE", "ETCD_PEER_KEY_FILE", "ETCD_PEER_TRUSTED_CA_FILE", "ETCD_PEER_CLIENT_CERT_AUTH", "ETCD_PEER_AUTO_TLS",
		},
	}
	for message, names := range owned {
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				u := admissiontest.Object(t, "EtcdCluster", namespace, "refused", `{pod: {etcdEnv: [{name: ETCD_LOG_LEVEL, value: info}, {name: `+name+`, value: x}]}}`)
				admissiontest.Refused(t, c.Create(apiservertest.Context(t), u), "spec.pod.etcdEnv[1]", name+message, "it is the operator's")
			})
		}
	}
}

// A spec without any content is one thing, an object without spec another: it
// may be a file cut short.
func TestMissingSpecIsRefused(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdCluster", apiservertest.Namespace(t), "refused", `{}`)
	delete(u.Object, "spec")
	admissiontest.Refused(t, c.Create(apiservertest.Context(t), u), "spec", "Required value", "write spec: {} if the defaults are meant")
}

func TestUnknownFieldIsRefused(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdCluster", apiservertest.Namespace(t), "refused", `{pod: {clusterDomain: .cluster.local}}`)
	err := c.Create(apiservertest.Context(t), u)
	if want := `unknown field "spec.pod.clusterDomain"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want one with %q", err, want)
	}
}
