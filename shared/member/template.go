package member

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// template is what the user says of the shape of a member's Pod. Fields are only ever
// added here, or to spec.pod, and what is empty counts as omitted, so that a later release has
// the same hash for the same spec.
type template struct {
	v1beta2.PodPolicy
	Etcd     *v1beta2.EtcdPolicy `json:"etcd,omitempty"`
	NoSpread bool                `json:"noSpread,omitempty"`
	Restart  string              `json:"restart,omitempty"`
	TLS      *tlsTemplate        `json:"tls,omitempty"`
}

// shapesNoPod leaves out what of spec.pod restarts no member. A new field does, unless it is here.
func shapesNoPod(p *v1beta2.PodPolicy) {
	p.Labels, p.Annotations = nil, nil                           // changed in place
	p.PersistentVolumeClaimSpec, p.ClusterDomain = nil, ""       // immutable, but for a size that grows
	p.Tmpfs, p.BusyboxImage, p.DNSTimeoutInSecond = false, "", 0 // nothing uses them
}

// TemplateHash is a short hash of what the user says of the shape of a member's Pod, of
// the restart that was asked for, and of the CAs that members are to trust. A
// member whose Pod was made under another one is restarted, or replaced.
//
// Not in it are the version and the repository, which are changed in place; labels and
// annotations, which are too ([Metadata]); fields that nothing uses; and whatever the
// operator makes of all this, its own image included: a new operator never restarts a
// member by itself.
func TemplateHash(c *v1beta2.EtcdCluster) string {
	var p v1beta2.PodPolicy
	if c.Spec.Pod != nil {
		p = *c.Spec.Pod
	}
	shapesNoPod(&p)
	data, err := json.Marshal(template{
		PodPolicy: p,
		Etcd:      c.Spec.Etcd,
		// An empty list is not the same as none: it leaves out the default.
		NoSpread: p.TopologySpreadConstraints != nil && len(p.TopologySpreadConstraints) == 0,
		Restart:  c.Annotations[v1beta2.AnnotationRestart],
		TLS:      newTLSTemplate(c),
	})
	if err != nil {
		panic(fmt.Sprintf("member: hash a template: %v", err)) // it has nothing that JSON lacks
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		panic(fmt.Sprintf("member: hash a template: %v", err)) // it was written just now
	}
	maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool { return string(value) == "{}" })
	data, err = json.Marshal(fields) // in the order of the names
	if err != nil {
		panic(fmt.Sprintf("member: hash a template: %v", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:5])
}

// settings are the variables of etcd that spec.etcd stands for, without those that the
// user sets himself. The names are the same in etcd 3.4 to 3.7.
func settings(c *v1beta2.EtcdCluster, user []corev1.EnvVar) []corev1.EnvVar {
	e := c.Spec.Etcd
	if e == nil {
		e = &v1beta2.EtcdPolicy{}
	}
	var env []corev1.EnvVar
	set := func(name, value string) {
		if !slices.ContainsFunc(user, func(u corev1.EnvVar) bool { return u.Name == name }) {
			env = append(env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	if q := e.QuotaBackendBytes; q != nil {
		set("ETCD_QUOTA_BACKEND_BYTES", strconv.FormatInt(q.Value(), 10))
	}
	if e.AutoCompactionMode != "" {
		set(EnvCompactionMode, e.AutoCompactionMode)
	}
	if retention := retention(c, user); retention != "" {
		set(EnvCompaction, retention)
	}
	if d := e.HeartbeatInterval; d != nil {
		set("ETCD_HEARTBEAT_INTERVAL", milliseconds(d.Duration))
	}
	if d := e.ElectionTimeout; d != nil {
		set("ETCD_ELECTION_TIMEOUT", milliseconds(d.Duration))
	}
	if e.SnapshotCount != nil {
		set(EnvSnapshotCount, strconv.FormatInt(*e.SnapshotCount, 10))
	}
	if e.LogLevel != "" {
		set("ETCD_LOG_LEVEL", e.LogLevel)
	}
	return env
}
