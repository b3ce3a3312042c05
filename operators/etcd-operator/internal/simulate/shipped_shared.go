package simulate

import (
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// This file keeps the objects that the shipped code was given, for as long as what they are made of
// is the same: most reads find what the last one found. Readers share all that is behind their
// pointers, and must not change it. In some of the runs that is checked.

// sharedFor is how many objects of one name are kept: one for each reader, which may lag.
const sharedFor = 4

// shared is what was made of some values, the last one that was asked for first.
type shared[From comparable, To client.Object] []sharedObject[From, To]

type sharedObject[From comparable, To client.Object] struct {
	from From
	is   To
	// was is a copy of it, where that is checked.
	was runtime.Object
}

// of is what is made of a value.
func (s *shared[From, To]) of(w *world, from From, build func() To) To {
	all := *s
	for i := range all {
		if all[i].from != from {
			continue
		}
		found := all[i]
		copy(all[1:i+1], all[:i])
		all[0] = found
		return found.is
	}
	made := sharedObject[From, To]{from: from, is: build()}
	if w.checksShared() {
		made.was = made.is.DeepCopyObject()
	}
	if len(all) < sharedFor {
		all = append(all, made)
	} else {
		all[sharedFor-1].check(w)
	}
	copy(all[1:], all)
	all[0], *s = made, all
	return made.is
}

// check: nobody who was given the object has changed it.
func (s *sharedObject[From, To]) check(w *world) {
	if s.was != nil && !reflect.DeepEqual(s.was, runtime.Object(s.is)) {
		w.fail("Shared", "%T %s was changed in place by one who has read it", s.is, s.is.GetName())
	}
}

func (s *shared[From, To]) check(w *world) {
	for i := range *s {
		(*s)[i].check(w)
	}
}

func checkEach[From comparable, To client.Object](w *world, all map[string]*shared[From, To]) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name].check(w)
	}
}

// checkShared: nobody has changed the objects that are left at the end of a run.
func (w *world) checkShared() {
	w.shared.clusters.check(w)
	checkEach(w, w.shared.pods)
	checkEach(w, w.shared.claims)
	checkEach(w, w.shared.nodes)
	checkEach(w, w.shared.children)
}

// checksShared reports whether shared objects are compared with copies of them.
func (w *world) checksShared() bool { return w.seed%32 < 2 }

// sharedObjects are those of a run.
type sharedObjects struct {
	clusters shared[clusterView, *v1beta2.EtcdCluster]
	pods     map[string]*shared[pod, *corev1.Pod]
	claims   map[string]*shared[claimView, *corev1.PersistentVolumeClaim]
	nodes    map[string]*shared[nodeView, *corev1.Node]
	children map[string]*shared[client.Object, client.Object]
	// peerURLs are those of members, by name.
	peerURLs map[string]string
}

// The views are all that an object is made of.
type (
	clusterView struct {
		cluster etcdCluster
		quota   int
	}
	claimView struct {
		claim claimObject
		// readAt is when it is read, while it is being deleted.
		readAt time.Duration
	}
	nodeView struct {
		cordoned  bool
		lostSince time.Duration
	}
)

// childObject is a child as the API server has it, shared by all who read it.
func (w *world) childObject(o client.Object) client.Object {
	return sharedOf(&w.shared.children, o.GetName()).of(w, o, func() client.Object { return o })
}

func sharedOf[From comparable, To client.Object](in *map[string]*shared[From, To], name string) *shared[From, To] {
	if *in == nil {
		*in = map[string]*shared[From, To]{}
	}
	s := (*in)[name]
	if s == nil {
		s = &shared[From, To]{}
		(*in)[name] = s
	}
	return s
}
