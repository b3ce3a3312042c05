package manifests

import (
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// pod is what NetworkPolicies see of a Pod.
type pod struct {
	namespace       string
	namespaceLabels labels.Set
	labels          labels.Set
	ports           []int32
	// named are those of its ports that have a name.
	named map[string]int32
}

// network is a namespace's NetworkPolicies.
type network []networkingv1.NetworkPolicy

// admits tells whether a connection is let in, as the API documentation of NetworkPolicySpec
// has it: a Pod that no policy for ingress selects takes all; one that some select takes
// what a rule of one of them allows.
func (n network) admits(t *testing.T, from, to pod, port int32) bool {
	t.Helper()
	isolated := false
	for _, policy := range n {
		ingress := slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
		if !ingress || policy.Namespace != to.namespace || !selects(t, &policy.Spec.PodSelector, to.labels) {
			continue
		}
		isolated = true
		for _, rule := range policy.Spec.Ingress {
			if hasPort(t, rule.Ports, port) && slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool { return isPeer(t, peer, from, to.namespace) }) {
				return true
			}
		}
	}
	return !isolated
}

func hasPort(t *testing.T, ports []networkingv1.NetworkPolicyPort, port int32) bool {
	t.Helper()
	return slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if p.Port == nil || p.EndPort != nil || p.Port.IntVal == 0 || *p.Protocol != corev1.ProtocolTCP {
			t.Fatalf("this test knows TCP ports by number only, not %v", p)
		}
		return p.Port.IntVal == port
	})
}

func isPeer(t *testing.T, peer networkingv1.NetworkPolicyPeer, from pod, here string) bool {
	t.Helper()
	switch {
	case peer.IPBlock != nil:
		t.Fatal("this test knows no blocks of addresses")
		return false
	case peer.NamespaceSelector == nil:
		return from.namespace == here && selects(t, peer.PodSelector, from.labels)
	default:
		return selects(t, peer.NamespaceSelector, from.namespaceLabels) && (peer.PodSelector == nil || selects(t, peer.PodSelector, from.labels))
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, of labels.Set) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(of)
}

// in puts a Pod in a namespace, which has the label with its name that every one has, and
// others.
func in(namespace string, spec *corev1.PodSpec, podLabels labels.Set, namespaceLabels labels.Set) pod {
	p := pod{
		namespace: namespace, labels: podLabels, named: map[string]int32{},
		namespaceLabels: labels.Merge(labels.Set{corev1.LabelMetadataName: namespace}, namespaceLabels),
	}
	if spec != nil {
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			for _, port := range c.Ports {
				p.ports = append(p.ports, port.ContainerPort)
				if port.Name != "" {
					p.named[port.Name] = port.ContainerPort
				}
			}
		}
	}
	return p
}

// built reads the Pods that the builders of members, backups and restores make, from the
// manifests that their own tests compare them with.
func built(t *testing.T, pattern string) []pod {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no %s: %v", pattern, err)
	}
	var found []pod
	for _, f := range files {
		objects := read(t, f)
		for _, p := range of[corev1.Pod](t, "Pod", objects) {
			found = append(found, in(databases, &p.Spec, p.Labels, nil))
		}
		for _, j := range of[batchv1.Job](t, "Job", objects) {
			found = append(found, in(databases, &j.Spec.Template.Spec, j.Spec.Template.Labels, nil))
		}
	}
	return found
}

// deployed are the operators' Pods of an installation.
func deployed(t *testing.T, namespace string, clusterWideToo bool) map[string]pod {
	t.Helper()
	pods := map[string]pod{}
	for _, operator := range operators {
		objects := overlay(t, []string{operator}, nil)
		if clusterWideToo {
			objects = clusterWide(t, operator)
		}
		for _, d := range of[appsv1.Deployment](t, "Deployment", objects) {
			pods[operator] = in(namespace, &d.Spec.Template.Spec, d.Spec.Template.Labels, nil)
		}
	}
	return pods
}

// TestNetworkPolicies: each of those who have business with a port is let in, and nobody
// else. What enforces policies is the network plugin; here they are evaluated, for the
// Pods that our builders make.
func TestNetworkPolicies(t *testing.T) {
	const client, peer, metrics, progress, archive, web = 2379, 2380, 2381, 8081, 8090, 8080
	policies := network(of[networkingv1.NetworkPolicy](t, "NetworkPolicy", overlay(t, operators, []string{"network-policies"})))

	isMember := func(p pod) bool { return p.labels["app"] == "etcd" }
	var members, restores []pod
	for _, p := range append(built(t, "shared/member/testdata/*.golden.yaml"), built(t, "operators/etcd-restore-operator/internal/build/testdata/*.golden.yaml")...) {
		if isMember(p) {
			members = append(members, p)
		} else {
			restores = append(restores, p)
		}
	}
	backups := built(t, "operators/etcd-backup-operator/internal/job/testdata/*.golden.yaml")
	ours, theirs := deployed(t, databases, false), deployed(t, home, true)
	// A name alone makes nobody an operator, where it is not at home.
	impostor := in("elsewhere", nil, ours["etcd-operator"].labels, nil)

	asked := func(what string) labels.Set { return labels.Set{"etcd.database.coreos.com/" + what: "true"} }
	stranger := in(databases, nil, labels.Set{"app": "shop"}, nil)
	strangers := []pod{stranger, in("elsewhere", nil, labels.Set{"app": "shop"}, nil), impostor, in("elsewhere", nil, asked("client"), nil), in("elsewhere", nil, asked("metrics"), nil),
		in("elsewhere", nil, members[0].labels, nil)}
	clients := []pod{in(databases, nil, asked("client"), nil), in("shop", nil, labels.Set{"app": "shop"}, asked("client"))}
	collectors := []pod{in(databases, nil, asked("metrics"), nil), in("monitoring", nil, labels.Set{"app": "prometheus"}, asked("metrics"))}
	both := func(operator string) []pod { return []pod{ours[operator], theirs[operator]} }
	everybody := slices.Concat(members, restores, backups, strangers, clients, collectors, both("etcd-operator"), both("etcd-backup-operator"), both("etcd-restore-operator"))

	for name, c := range map[string]struct {
		to      []pod
		allowed map[int32][]pod
	}{
		"members": {members, map[int32][]pod{
			client:   slices.Concat(members, both("etcd-operator"), backups, clients),
			peer:     members,
			metrics:  slices.Concat(both("etcd-operator"), both("etcd-restore-operator"), collectors),
			progress: both("etcd-restore-operator"),
		}},
		"backups":       {backups, map[int32][]pod{archive: both("etcd-backup-operator")}},
		"restores":      {restores, map[int32][]pod{progress: both("etcd-restore-operator")}},
		"the operators": {[]pod{ours["etcd-operator"], ours["etcd-backup-operator"], ours["etcd-restore-operator"]}, map[int32][]pod{web: collectors}},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.to) == 0 {
				t.Fatal("there are none")
			}
			served := map[int32]bool{}
			for _, to := range c.to {
				for _, port := range to.ports {
					served[port] = true
				}
				for _, port := range []int32{client, peer, metrics, progress, archive, web, 22} {
					for _, from := range everybody {
						want := slices.ContainsFunc(c.allowed[port], func(p pod) bool { return same(p, from) })
						if got := policies.admits(t, from, to, port); got != want {
							t.Errorf("from %s/%v to %v, port %d: let in: %v, want %v", from.namespace, from.labels, to.labels, port, got, want)
						}
					}
				}
			}
			for port := range c.allowed {
				if !served[port] {
					t.Errorf("port %d is let through, and no container serves it", port)
				}
			}
			for port := range served {
				if c.allowed[port] == nil {
					t.Errorf("port %d is served, and nobody is let in", port)
				}
			}
		})
	}
	if !policies.admits(t, stranger, stranger, client) {
		t.Error("policies are about Pods that are not ours")
	}
}

func same(a, b pod) bool {
	return a.namespace == b.namespace && labels.Equals(a.labels, b.labels) && labels.Equals(a.namespaceLabels, b.namespaceLabels)
}
