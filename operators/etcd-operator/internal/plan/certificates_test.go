package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// secure gives a cluster the certificates that it asks for, of CAs that were
// reported.
func (w *world) secure(changes ...func(*TLS)) *world {
	return w.cluster(func(c *Cluster) {
		c.TLS = TLS{Wanted: true, Trust: "t1", Leaf: Validity{NotBefore: old, NotAfter: now.Add(time.Hour)}}
		c.LastStatus.TLS = &v1beta2.TLSStatus{Trust: "t1"}
		for _, change := range changes {
			change(&c.TLS)
		}
	})
}

func wrong(problem CertificateProblem) func(*TLS) {
	return func(t *TLS) { t.Problem, t.Message = problem, "Secret etcd-peer-tls is not there: create it" }
}

// noClientCertificate has an operator without a certificate: its members tell it nothing.
func (w *world) noClientCertificate(problem CertificateProblem) *world {
	w.reported()
	details, size := w.o.Cluster.LastStatus.MemberDetails, w.o.Cluster.LastStatus.Size
	w.secure(wrong(problem), func(t *TLS) { t.NoClientCertificate, t.RequeueAfter = true, slowly })
	w.o.Cluster.LastStatus.MemberDetails, w.o.Cluster.LastStatus.Size = details, size
	for i := range w.o.Pods {
		p := &w.o.Pods[i]
		p.Answer, p.ReadySince = Answer{}, old
	}
	return w
}

func unready(p *Pod) { p.UnreadySince, p.ReadySince = old, time.Time{} }

func TestCertificates(t *testing.T) {
	unrecorded := func(c *Cluster) { c.LastStatus.TLS = nil }
	rows{
		"a cluster waits for its certificates": {
			reason: "what begins without would have to begin anew",
			seen:   nothing(3).secure(wrong(CertificatesMissing)), because: v1beta2.ClusterReasonCertificatesMissing,
		},
		"a Secret cannot be read": {
			reason: "what is in it is unknown", seen: nothing(3).secure(wrong(CertificatesUnreadable)), because: v1beta2.ClusterReasonCertificatesUnreadable,
		},
		"a cluster waits for right ones": {
			reason: "its members would not talk with each other",
			seen:   nothing(3).secure(wrong(CertificatesInvalid)), because: v1beta2.ClusterReasonCertificatesInvalid,
		},
		"a cluster waits while they are issued": {
			reason: "that takes moments, and fails nothing",
			seen:   nothing(3).secure(wrong(CertificatesPending)), because: v1beta2.ClusterReasonCertificatesPending,
		},
		"whom members trust is recorded before any is made": {
			reason: "Pods are made by the status: without it each would be recreated at once",
			seen:   nothing(3).secure().cluster(unrecorded), because: v1beta2.ClusterReasonCertificatesPending,
		},
		"what is recorded is what is there": {
			reason: "as above",
			seen:   nothing(3).secure(func(t *TLS) { t.Trust = "t2" }), because: v1beta2.ClusterReasonCertificatesPending,
		},
		"then the cluster begins": {
			reason: "all is there",
			seen:   nothing(3).secure(), do: exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "n1", Token: "fresh-token"}, Version: theVersion}), because: "Bootstrapping",
		},
		"volumes are not adopted without certificates either": {
			reason: "their members are not to start in the clear",
			seen: nothing(3).secure(wrong(CertificatesMissing)).cluster(func(c *Cluster) {
				c.Persistent, c.AdoptVolumes, c.Existed = true, v1beta2.AdoptAny, "volumes"
			}), because: v1beta2.ClusterReasonCertificatesMissing,
		},
		"a cluster that runs goes on though certificates are wrong": {
			reason: "what needs none is done",
			seen:   healthy(3).dead("c").secure(wrong(CertificatesInvalid)), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"members are restarted for other CAs": {
			reason: "etcd reads them when it starts",
			seen:   templated(healthy(3).volumes()).secure(func(t *TLS) { t.Trust = "t2" }).template("b", "before"),
			do:     setRole("b", Restarting), because: v1beta2.ClusterReasonUpdatingMembers,
		},
		"also if certificates end soon": {
			reason: "it is the way to others",
			seen: templated(healthy(3).volumes()).secure(func(t *TLS) { t.Leaf.NotAfter, t.Rotation = now.Add(time.Minute), v1beta2.CATrustingBoth }).
				template("b", "before"),
			do: setRole("b", Restarting), because: v1beta2.ClusterReasonUpdatingMembers,
		},
		"not while all is not well": {
			reason: "S6",
			seen:   templated(healthy(3).volumes()).secure(func(t *TLS) { t.Rotation = v1beta2.CATrustingBoth }).template("b", "before").silent("c"), because: "WaitingForMember",
		},
		"not while the Secret of members is gone": {
			reason: "a member that is ended would not start again",
			seen:   templated(healthy(3).volumes()).secure(wrong(CertificatesMissing)).template("b", "before"), because: v1beta2.ClusterReasonUpdatingMembers,
		},
		"one without a volume is replaced for other CAs": {
			reason: "another one is there before it goes",
			seen:   templated(healthy(3)).secure().template("b", "before"), do: create(joiners(1)...), because: "CreatingMembers",
		},
	}.run(t)
}

// templated notes on all Pods what they were made for.
func templated(w *world) *world {
	w.o.Cluster.Template = "today"
	for i := range w.o.Pods {
		w.o.Pods[i].Template, w.o.Pods[i].ReadySince = "today", old
	}
	return w
}

func (w *world) template(name, template string) *world {
	return w.pod(name, func(p *Pod) { p.Template = template })
}

// S9: whoever asks nobody knows nothing.
func TestNoClientCertificate(t *testing.T) {
	lostNodes := func(w *world, names ...string) *world {
		for _, name := range names {
			w.pod(name, func(p *Pod) { p.NodeLostSince = old })
		}
		return w
	}
	rows{
		"nothing is done": {
			reason: "nothing is known", seen: healthy(3).noClientCertificate(CertificatesMissing), because: v1beta2.ClusterReasonCertificatesMissing,
		},
		"nothing is added": {
			reason: "who leads is not known", seen: healthy(3).size(5).joiner("d").noClientCertificate(CertificatesInvalid), because: v1beta2.ClusterReasonCertificatesInvalid,
		},
		"nobody is given up": {
			reason: "who does not answer may live", seen: lostNodes(healthy(3).noClientCertificate(CertificatesMissing), "a", "b", "c"), because: v1beta2.ClusterReasonCertificatesMissing,
		},
		"no loss is told": {
			reason: "a person might give the cluster up", seen: healthy(3).dead("b", "c").noClientCertificate(CertificatesMissing), because: v1beta2.ClusterReasonCertificatesMissing,
		},
		"nobody is restarted": {
			reason: "S6: how the others do is not known",
			seen:   templated(healthy(3).volumes()).template("b", "before").noClientCertificate(CertificatesPending), because: v1beta2.ClusterReasonCertificatesPending,
		},
		"a broken Pod stays as it is": {
			reason: "it may run by now",
			seen:   templated(healthy(3).volumes()).template("b", "before").noClientCertificate(CertificatesMissing).pod("b", func(p *Pod) { p.Trouble = "CrashLoopBackOff" }), because: v1beta2.ClusterReasonCertificatesMissing,
		},
		"no other seed is begun": {
			reason: "S1: the first may serve",
			seen:   begun(3).add("a", Seed, Answer{}).noClientCertificate(CertificatesMissing).pod("a", func(p *Pod) { p.NodeLostSince = old }), because: v1beta2.ClusterReasonCertificatesMissing,
		},
		"a Pod is recreated on its volume": {
			reason: "it needs no word of anybody",
			seen:   healthy(3).volumes().gone("c").noClientCertificate(CertificatesMissing), do: returning("c"), because: "RestartingMember",
		},
		"clients find a voter again that is ready": {
			reason: "its probe is a linearizable read",
			seen:   healthy(3).volumes().role("b", Returning).noClientCertificate(CertificatesMissing), do: setRole("b", Voter), because: "SettingRoles",
		},
		"not one that is not": {
			reason: "it may be without a quorum",
			seen:   healthy(3).volumes().role("b", Returning).noClientCertificate(CertificatesMissing).pod("b", unready), because: v1beta2.ClusterReasonCertificatesMissing,
		},
		"not one that was no voter": {
			reason: "whose it is is not known",
			seen: healthy(3).volumes().role("b", Returning).noClientCertificate(CertificatesMissing).cluster(func(c *Cluster) {
				c.LastStatus.MemberDetails = slices.Delete(c.LastStatus.MemberDetails, 1, 2)
			}), because: v1beta2.ClusterReasonCertificatesMissing,
		},
		"a restore's seed waits": {
			reason: "it is not known to be alone",
			seen:   healthy(1).noClientCertificate(CertificatesMissing).marked(func(f *Fence) { f.By, f.Seeded = "r1", "r1/a/uid-a" }), because: "Fenced",
		},
		"a restore goes ahead": {
			reason: "it needs no word of the old members", seen: healthy(3).noClientCertificate(CertificatesMissing).asked(), do: exactly(AcknowledgeFence{Restore: "r1"}), because: "Fenced",
		},
	}.run(t)
}

// Available is what clients see, as Kubernetes tells it; of members nothing is made up.
func TestStatusWithoutClientCertificate(t *testing.T) {
	d := decided(healthy(3).noClientCertificate(CertificatesMissing).pod("c", unready).seen())
	want := []string{
		"Available=True Serving", "Progressing=False CertificatesMissing", "Degraded=Unknown CertificatesMissing", "Scaling=False AtSize",
		"Recovering=Unknown CertificatesMissing", "Upgrading=False AtVersion", "Paused=False NotPaused", "CertificatesReady=False CertificatesMissing",
	}
	if diff := cmp.Diff(want, said(d.Status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	s := d.Status
	if s.Size != 3 || len(s.MemberDetails) != 3 || !slices.Equal(s.Members.Ready, []string{"a", "b"}) || !slices.Equal(s.Members.Unready, []string{"c"}) || s.Phase != v1beta2.PhaseRunning {
		t.Errorf("the status is %+v, want who was there last, two of them ready", s)
	}
	if d.SkipChildren || d.Budget != KeepBudget || !d.Outcome.AwaitsUser() || d.RequeueAfter != slowly {
		t.Errorf("%+v: Services are looked after, the budget is left, and it looks again soon", d)
	}
	d = decided(healthy(3).noClientCertificate(CertificatesMissing).pod("a", unready).pod("b", unready).pod("c", unready).seen())
	if got := said(d.Status)[0]; got != "Available=False CertificatesMissing" {
		t.Errorf("nobody is ready: %s", got)
	}
}

// What is told of certificates.
func TestCertificatesReady(t *testing.T) {
	for name, tc := range map[string]struct {
		seen  *world
		want  string
		trust string
	}{
		"all is well":       {healthy(3).secure(), "CertificatesReady=True CertificatesValid", "t1"},
		"what is wrong":     {healthy(3).secure(wrong(CertificatesInvalid)), "CertificatesReady=False CertificatesInvalid", "t1"},
		"what is not known": {healthy(3).secure(wrong(CertificatesMissing), func(t *TLS) { t.Trust = "" }), "CertificatesReady=False CertificatesMissing", "t1"},
		"other CAs":         {healthy(3).secure(func(t *TLS) { t.Trust, t.Rotation = "t2", v1beta2.CATrustingBoth }), "CertificatesReady=True TrustingBoth", "t2"},
		"a fence":           {healthy(3).secure(func(t *TLS) { t.Trust = "t2" }).marked(func(f *Fence) { f.By = "r1" }), "CertificatesReady=True CertificatesValid", "t2"},
	} {
		s := decided(tc.seen.seen()).Status
		if !slices.Contains(said(s), tc.want) || s.TLS == nil || s.TLS.Trust != tc.trust || s.TLS.NotAfter == nil {
			t.Errorf("%s: %q, %+v; want %s and %s", name, said(s), s.TLS, tc.want, tc.trust)
		}
	}
	if s := decided(healthy(3).seen()).Status; s.TLS != nil || slices.ContainsFunc(said(s), func(c string) bool { return c[:12] == "Certificates" }) {
		t.Errorf("without TLS: %q, %+v", said(s), s.TLS)
	}
}

// Who waits for certificates, as a restore does, is told whether a person has to do something.
func TestPendingCertificates(t *testing.T) {
	for name, tc := range map[string]struct {
		seen *world
		want bool
	}{
		"valid":                      {healthy(3).secure(), false},
		"being issued":               {healthy(3).secure(wrong(CertificatesPending)), true},
		"not checked yet":            {nothing(3).secure(func(t *TLS) { t.Trust = "" }), true},
		"missing":                    {healthy(3).secure(wrong(CertificatesMissing)), false},
		"invalid":                    {healthy(3).secure(wrong(CertificatesInvalid)), false},
		"the operator's, and issued": {healthy(3).noClientCertificate(CertificatesPending), true},
	} {
		if got := decided(tc.seen.seen()).Status.TLS.Pending; got != tc.want {
			t.Errorf("%s: pending is %t", name, got)
		}
	}
}
