package crdtest

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

const (
	claim1Gi = `persistentVolumeClaimSpec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`
	claim2Gi = `persistentVolumeClaimSpec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}`
	// 2Gi as a number, and another class.
	claimBytes = `persistentVolumeClaimSpec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2147483648}}}`
	claimSlow  = `persistentVolumeClaimSpec: {storageClassName: slow, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}`
	claimBare  = `persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}`
	claimMore  = `persistentVolumeClaimSpec: {storageClassName: fast, accessModes: [ReadWriteOnce, ReadOnlyMany], resources: {requests: {storage: 2Gi}}}`
	claimLimit = `persistentVolumeClaimSpec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}, limits: {storage: 4Gi}}}`
	claimOther = `persistentVolumeClaimSpec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi, other: 1}}}`

	switchMessage       = "persistentVolumeClaimSpec cannot be added to or removed from an existing cluster: undo the change, or create another cluster and move the data with a snapshot"
	tlsSwitchMessage    = "TLS of an existing cluster cannot be enabled, disabled or moved to another source of certificates (static, auto, certManager), because members that use TLS cannot connect to members that do not: undo the change, or create a cluster with the new value from a backup (EtcdRestore with target: New and a clusterTemplate)"
	domainChangeMessage = "ClusterDomain of an existing cluster cannot be changed, because the addresses of its members contain it: undo the change, or create another cluster and move the data with a snapshot"
	changeMessage       = "persistentVolumeClaimSpec of an existing cluster cannot be changed, except that resources.requests.storage can be increased: undo the change, or create another cluster and move the data with a snapshot"
	shrinkMessage       = "resources.requests.storage must not be less than before, because volumes cannot shrink: set at least the previous value; for smaller volumes, restore a backup into a new cluster"
)

// Where a cluster keeps its data, and how its members call each other, is settled
// when it is made.
func TestWhatMembersRestOnIsImmutable(t *testing.T) {
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	cases := map[string]struct {
		before, after  string
		field, message string // of the refusal; both empty if it is accepted
	}{
		"claim added to a pod policy":   {before: `{pod: {labels: {a: b}}}`, after: `{pod: {labels: {a: b}, ` + claim1Gi + `}}`, field: "spec.pod", message: switchMessage},
		"claim added with a pod policy": {before: `{}`, after: `{pod: {` + claim1Gi + `}}`, field: "spec.pod", message: switchMessage},
		"claim removed":                 {before: `{pod: {` + claim1Gi + `}}`, after: `{pod: {labels: {a: b}}}`, field: "spec.pod", message: switchMessage},
		"pod policy removed":            {before: `{pod: {` + claim1Gi + `}}`, after: `{}`, field: "spec.pod", message: switchMessage},
		"claim grown":                   {before: `{pod: {` + claim1Gi + `}}`, after: `{pod: {` + claim2Gi + `}}`},
		"claim grown, as bytes":         {before: `{pod: {` + claim1Gi + `}}`, after: `{pod: {` + claimBytes + `}}`},
		"claim written otherwise":       {before: `{pod: {` + claim2Gi + `}}`, after: `{pod: {` + claimBytes + `}}`},
		"claim shrunk":                  {before: `{pod: {` + claim2Gi + `}}`, after: `{pod: {` + claim1Gi + `}}`, field: "spec.pod.persistentVolumeClaimSpec", message: shrinkMessage},
		"claim shrunk from bytes":       {before: `{pod: {` + claimBytes + `}}`, after: `{pod: {` + claim1Gi + `}}`, field: "spec.pod.persistentVolumeClaimSpec", message: shrinkMessage},
		"claim of another class":        {before: `{pod: {` + claim1Gi + `}}`, after: `{pod: {` + claimSlow + `}}`, field: "spec.pod.persistentVolumeClaimSpec", message: changeMessage},
		"claim without its class":       {before: `{pod: {` + claim1Gi + `}}`, after: `{pod: {` + claimBare + `}}`, field: "spec.pod.persistentVolumeClaimSpec", message: changeMessage},
		"claim of more access modes":    {before: `{pod: {` + claim1Gi + `}}`, after: `{pod: {` + claimMore + `}}`, field: "spec.pod.persistentVolumeClaimSpec", message: changeMessage},
		"claim limited":                 {before: `{pod: {` + claim1Gi + `}}`, after: `{pod: {` + claimLimit + `}}`, field: "spec.pod.persistentVolumeClaimSpec", message: changeMessage},
		"claim of another resource":     {before: `{pod: {` + claim1Gi + `}}`, after: `{pod: {` + claimOther + `}}`, field: "spec.pod.persistentVolumeClaimSpec", message: changeMessage},
		"claim kept":                    {before: `{pod: {` + claim1Gi + `}}`, after: `{size: 5, pod: {labels: {a: b}, ` + claim1Gi + `}}`},
		"policy of deletion":            {before: `{storage: {deletionPolicy: Delete}}`, after: `{storage: {deletionPolicy: Retain}}`},
		"policy of deletion, dropped":   {before: `{storage: {deletionPolicy: Retain}}`, after: `{}`},
		"domain added":                  {before: `{}`, after: `{pod: {ClusterDomain: .cluster.local}}`, field: "spec.pod", message: domainChangeMessage},
		"domain removed":                {before: `{pod: {ClusterDomain: .cluster.local}}`, after: `{pod: {labels: {a: b}}}`, field: "spec.pod", message: domainChangeMessage},
		"TLS switched on":               {before: `{}`, after: `{TLS: {auto: {}}}`, field: "spec.TLS", message: tlsSwitchMessage},
		"static TLS switched on":        {before: `{}`, after: `{TLS: {static: {member: {serverSecret: s}, operatorSecret: o}}}`, field: "spec.TLS", message: tlsSwitchMessage},
		"TLS switched off":              {before: `{TLS: {auto: {}}}`, after: `{}`, field: "spec.TLS", message: tlsSwitchMessage},
		"TLS emptied":                   {before: `{TLS: {certManager: {issuerRef: {name: a}}}}`, after: `{TLS: {}}`, field: "spec.TLS", message: tlsSwitchMessage},
		"static TLS switched off":       {before: `{TLS: {static: {member: {serverSecret: s}, operatorSecret: o}}}`, after: `{TLS: {static: {operatorSecret: "", member: {serverSecret: ""}}}}`, field: "spec.TLS", message: tlsSwitchMessage},
		"TLS from elsewhere":            {before: `{TLS: {static: {member: {peerSecret: p, serverSecret: s}, operatorSecret: o}}}`, after: `{TLS: {auto: {}}}`, field: "spec.TLS", message: tlsSwitchMessage},
		"TLS of another issuer's":       {before: `{TLS: {auto: {}}}`, after: `{TLS: {certManager: {issuerRef: {name: a}}}}`, field: "spec.TLS", message: tlsSwitchMessage},
		"peers by TLS, too":             {before: `{TLS: {static: {member: {serverSecret: s}, operatorSecret: o}}}`, after: `{TLS: {static: {member: {serverSecret: s, peerSecret: p}, operatorSecret: o}}}`, field: "spec.TLS", message: tlsSwitchMessage},
		"peers in the clear":            {before: `{TLS: {static: {member: {peerSecret: p}}}}`, after: `{TLS: {static: {member: {}}}}`, field: "spec.TLS", message: tlsSwitchMessage},
		"other Secrets":                 {before: `{TLS: {static: {member: {peerSecret: p, serverSecret: s}, operatorSecret: o}}}`, after: `{TLS: {static: {member: {peerSecret: p2, serverSecret: s2}, operatorSecret: o2}}}`},
		"another issuer":                {before: `{TLS: {certManager: {issuerRef: {name: a}}}}`, after: `{TLS: {certManager: {issuerRef: {name: b, kind: ClusterIssuer}}}}`},
		"other certificates":            {before: `{TLS: {auto: {}}}`, after: `{TLS: {auto: {certificateLifetime: 24h, serverNames: [a.b]}, minVersion: TLS1.3}}`},
		"a policy of no TLS":            {before: `{}`, after: `{TLS: {minVersion: TLS1.3, static: {}}}`},
		"domain kept":                   {before: `{pod: {ClusterDomain: .cluster.local}}`, after: `{size: 5, pod: {ClusterDomain: .cluster.local}}`},
		"no claim, pod policy added":    {before: `{}`, after: `{pod: {labels: {a: b}}}`},
		"no claim, pod policy removed":  {before: `{pod: {labels: {a: b}}}`, after: `{}`},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			u := admissiontest.Object(t, "EtcdCluster", namespace, "", tc.before)
			if err := c.Create(apiservertest.Context(t), u); err != nil {
				t.Fatal(err)
			}
			u.Object["spec"] = admissiontest.Parse(t, []byte(tc.after))
			err := c.Update(apiservertest.Context(t), u)
			if tc.message == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			admissiontest.Refused(t, err, tc.field, tc.message, "the members would be lost")
		})
	}
}

// kubectl scale changes size, and is held to its limits.
func TestScale(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdCluster", apiservertest.Namespace(t), "scaled", `{}`)
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = map[string]any{"size": int64(2), "selector": "etcd_cluster=scaled"}
	if err := c.Status().Update(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}

	scale := &unstructured.Unstructured{}
	scale.SetAPIVersion("autoscaling/v1")
	scale.SetKind("Scale")
	if err := c.SubResource("scale").Get(apiservertest.Context(t), u, scale); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[[2]string]any{
		{"spec", "replicas"}:   int64(3),
		{"status", "replicas"}: int64(2),
		{"status", "selector"}: "etcd_cluster=scaled",
	} {
		if got, _, _ := unstructured.NestedFieldNoCopy(scale.Object, path[:]...); got != want {
			t.Errorf("%s.%s of the scale = %v, want %v", path[0], path[1], got, want)
		}
	}

	if err := unstructured.SetNestedField(scale.Object, int64(5), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if err := c.SubResource("scale").Update(apiservertest.Context(t), u, client.WithSubResourceBody(scale)); err != nil {
		t.Fatalf("scale to 5: %v", err)
	}
	if err := c.Get(apiservertest.Context(t), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedInt64(u.Object, "spec", "size"); got != 5 {
		t.Errorf("spec.size = %d after a scale to 5", got)
	}

	if err := unstructured.SetNestedField(scale.Object, int64(8), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(scale.Object, "metadata", "resourceVersion")
	if err := c.SubResource("scale").Update(apiservertest.Context(t), u, client.WithSubResourceBody(scale)); err == nil {
		t.Error("scale to 8 was accepted")
	}
}
