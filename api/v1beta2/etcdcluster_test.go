package v1beta2

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]runtime.Object{
		"EtcdCluster":     &EtcdCluster{},
		"EtcdClusterList": &EtcdClusterList{},
		"EtcdBackup":      &EtcdBackup{},
		"EtcdBackupList":  &EtcdBackupList{},
	} {
		got, err := scheme.New(GroupVersion.WithKind(kind))
		if err != nil || reflect.TypeOf(got) != reflect.TypeOf(want) {
			t.Errorf("%s: made a %T, want a %T (%v)", kind, got, want, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	yes, no := true, false
	cases := map[string]struct {
		reason     string
		spec       ClusterSpec
		repository string
		version    string
		timeout    time.Duration
		budget     bool
		service    corev1.ServiceType
		persistent bool
	}{
		"omitted": {
			reason:     "what the documentation calls defaults",
			spec:       ClusterSpec{Size: 3},
			repository: "quay.io/coreos/etcd", timeout: 5 * time.Minute, budget: true, service: corev1.ServiceTypeClusterIP,
		},
		"empty policies": {
			reason:     "an empty policy says as little as none",
			spec:       ClusterSpec{Size: 2, Pod: &PodPolicy{}, Service: &ServicePolicy{}, Recovery: &RecoveryPolicy{}},
			repository: "quay.io/coreos/etcd", timeout: 5 * time.Minute, service: corev1.ServiceTypeClusterIP,
		},
		"all written": {
			reason: "what is written goes before every default",
			spec: ClusterSpec{
				Size: 3, Repository: "localhost:5000/etcd", Version: "v3.6.16", PodDisruptionBudget: &no,
				Pod:      &PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{}},
				Service:  &ServicePolicy{Type: corev1.ServiceTypeNodePort},
				Recovery: &RecoveryPolicy{MemberTimeout: &metav1.Duration{Duration: time.Minute}},
			},
			repository: "localhost:5000/etcd", version: "3.6.16", timeout: time.Minute, service: corev1.ServiceTypeNodePort, persistent: true,
		},
		"version without v": {
			reason:     "both spellings mean the same",
			spec:       ClusterSpec{Size: 1, Version: "3.6.16", PodDisruptionBudget: &yes},
			repository: "quay.io/coreos/etcd", version: "3.6.16", timeout: 5 * time.Minute, budget: true, service: corev1.ServiceTypeClusterIP,
		},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			for what, pair := range map[string][2]any{
				"ImageRepository":          {tc.spec.ImageRepository(), tc.repository},
				"EtcdVersion":              {tc.spec.EtcdVersion(), tc.version},
				"MemberTimeout":            {tc.spec.MemberTimeout(), tc.timeout},
				"WantsPodDisruptionBudget": {tc.spec.WantsPodDisruptionBudget(), tc.budget},
				"ClientServiceType":        {tc.spec.ClientServiceType(), tc.service},
				"Persistent":               {tc.spec.Persistent(), tc.persistent},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s() = %v, want %v: %s", what, pair[0], pair[1], tc.reason)
				}
			}
		})
	}
}

// An idle or new cluster's status is small, so that a reader sees what matters.
func TestEmptyStatusIsSmall(t *testing.T) {
	encoded, err := json.Marshal(ClusterStatus{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(encoded), `{"size":0}`; got != want {
		t.Errorf("an empty status is %s, want %s", got, want)
	}
}

// A member's name is a DNS label: the cluster's name, a dash and ten characters.
func TestMaxNameLengthLeavesRoomForMembers(t *testing.T) {
	member := strings.Repeat("e", MaxNameLength) + "-" + strings.Repeat("x", 10)
	if len(member) > 63 {
		t.Errorf("a member's name may have %d characters, and a DNS label holds 63", len(member))
	}
}
