package act

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/client/pkg/v3/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/roundtriptest"
)

// TestAnnotationRoundTrips: the operator reads back exactly what it writes on Pods.
func TestAnnotationRoundTrips(t *testing.T) {
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	type written struct {
		Restarts    int
		Since, Role time.Time
		Before      int64
		IsDone      bool
		Image, Runs int
		Container   string
	}
	images := []facts.Pod{
		{Repository: "quay.io/coreos/etcd", Version: "3.6.16"}, {Repository: "localhost:5000/a/b", Version: "3.7.3"}, {Repository: "etcd", Version: "3.5.35-rc.1"},
	}
	roundtriptest.Check(t, func(w written) (written, error) {
		image, id := images[w.Image], w.Container
		p := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: member.ContainerEtcd, ContainerID: id}}}}
		image.Restarts = w.Restarts
		p.Annotations = map[string]string{
			v1beta2.AnnotationProven:       observe.Proven(&image),
			v1beta2.AnnotationChangedFrom:  observe.ChangedFrom(p, images[w.Runs].Version),
			v1beta2.AnnotationDefragmented: member.DefragmentedMark(w.Since, w.Before, w.IsDone),
			v1beta2.AnnotationRoleSince:    observe.RoleSince(w.Role),
		}
		read := observe.PodOf(c, p)
		if want := image.Repository + ":v" + image.Version; read.ProvenImage != want || read.From != images[w.Runs].Version {
			return w, fmt.Errorf("image %q and version %q, want %q and %q", read.ProvenImage, read.From, want, images[w.Runs].Version)
		}
		w.Restarts, w.Role, w.Since, w.Before, w.IsDone = read.ProvenRestarts, read.RoleSince, read.Defragmented.Since, read.Defragmented.Before, read.Defragmented.Done
		return w, nil
	}, func(w *written) {
		w.Image, w.Runs = (w.Image%3+3)%3, (w.Runs%3+3)%3
	})
}

// TestPermitRoundTrip generates member lists that etcd can have. For each list, the launcher accepts the permit
// to join it, and etcd finds its own list in the permit. The operator reads back the permit that it wrote:
// otherwise it would write it in each reconcile.
func TestPermitRoundTrip(t *testing.T) {
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	joiner := launcher.Member{Name: "x-aaaaaaaaaa", PeerURL: member.PeerURL(c, "x-aaaaaaaaaa")}
	property := func(seed int64) bool {
		r := rand.New(rand.NewSource(seed))
		list := append(drawnMembers(r), etcdclient.Member{ID: 1, PeerURLs: []string{joiner.PeerURL}, Learner: true})
		want := facts.StartPermit{Attempt: 1 + r.Intn(9)}
		for _, m := range observe.Members(c, list) {
			want.Members = append(want.Members, m.Name)
			if m.At != "" && m.At != member.PeerURL(c, m.Name) {
				want.Elsewhere = append(want.Elsewhere, facts.PeerURLs{Name: m.Name, At: m.At})
			}
		}
		slices.Sort(want.Members)
		slices.SortFunc(want.Elsewhere, func(a, b facts.PeerURLs) int { return cmp.Compare(a.Name, b.Name) })

		text := permitOf(c, want).String()
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1beta2.AnnotationStartPermit: text}}}
		if diff := gocmp.Diff(&want, observe.PodOf(c, p).StartPermit); diff != "" {
			t.Errorf("the operator reads another permit than it wrote, %s (-want +got):\n%s", text, diff)
		}
		if strings.Contains(text, "?") {
			return !t.Failed() // no flag of etcd can contain the URL with the comma
		}
		read, err := launcher.ParseStartPermit([]byte(text))
		if err == nil {
			err = read.Validate(joiner.Name, joiner.PeerURL)
		}
		if err != nil {
			t.Errorf("the launcher does not accept %s: %v", text, err)
			return false
		}
		told, err := types.NewURLsMap(read.InitialCluster)
		if err != nil {
			t.Errorf("etcd does not accept %s: %v", text, err)
		}
		var got, listed []string
		for _, urls := range told {
			got = append(got, urls.String())
		}
		for _, m := range list {
			listed = append(listed, types.MustNewURLs(m.PeerURLs).String())
		}
		slices.Sort(got)
		slices.Sort(listed)
		if diff := gocmp.Diff(listed, got); diff != "" {
			t.Errorf("the permit lists other members than etcd has (-want +got):\n%s", diff)
		}
		return !t.Failed()
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 2000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
}

// drawnMembers returns members with random names and peer URLs that etcd accepts. No two members have the same
// peer URL (membership.ErrPeerURLexists).
func drawnMembers(r *rand.Rand) []etcdclient.Member {
	names := []string{"x-bbbbbbbbbb", "x-cccccccccc", "default", "a=b", "a,b", "a b", "\u00e9", strings.Repeat("n", 2000), ""}
	urls := []string{
		"http://x-bbbbbbbbbb.x.ns.svc:2380", "http://x-cccccccccc.x.ns.svc:2380", "http://x-seed.x.ns.svc:2380", "http://a_b.x.ns.svc:2380",
		"http://b:2380", "https://a.example.com:1", "http://[::1]:2380", "unix://c:1", "http://d:2380?a,b",
	}
	r.Shuffle(len(urls), func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
	var list []etcdclient.Member
	for id := uint64(2); len(urls) > 0; id++ {
		n := min(1+r.Intn(3), len(urls))
		m := etcdclient.Member{ID: id, Name: names[r.Intn(len(names))], PeerURLs: urls[:n]}
		m.Started = m.Name != ""
		list, urls = append(list, m), urls[n:]
	}
	return list[:1+r.Intn(len(list))]
}
