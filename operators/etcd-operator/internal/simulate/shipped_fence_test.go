package simulate

import (
	"context"
	"testing"
	"time"
)

// S12: an operator that has looked before another one acknowledged the fence is excused for the one
// call that it has looked for, and for nothing after that.
func TestOneCallAfterALook(t *testing.T) {
	for name, calls := range map[string]struct {
		calls  []string
		after  time.Duration
		reason string
		broken bool
	}{
		"the call":       {[]string{"creating Pod p"}, 0, "no precondition covers the moment between a look and its call", false},
		"other reads":    {[]string{"listing Pods", "reading *v1.Pod p", "creating Pod p"}, 0, "act reads Pods between the look and the call", false},
		"a second call":  {[]string{"creating PVC p", "creating Pod p"}, 0, "each effect has a look of its own", true},
		"members":        {[]string{"asking members", "adding a learner"}, 0, "etcd may take its time", true},
		"another look":   {[]string{"reading *v1beta2.EtcdCluster c", "creating Pod p"}, 0, "it has seen the fence", true},
		"after the time": {[]string{"creating Pod p"}, actionTime + time.Second, "no action lasts for so long", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Config{}, 1, nil, nil)
			w.operators = append(w.operators, newOperator(w, "b"))
			w.operators[0].todo = &todo{}
			s := &shipped{w: w, op: w.operators[0], mishap: numFaults, coroutine: coroutine{yield: func(string) bool { return true }}}
			s.noteLook()
			w.fences++ // the other one has acknowledged it
			w.cluster.fence.By = "restore"
			w.now += calls.after
			for i, call := range calls.calls {
				_ = s.call(context.Background(), call, nil, func() error {
					switch {
					case call == "reading *v1beta2.EtcdCluster c":
						s.noteLook()
					case i == len(calls.calls)-1:
						w.touch(call)
					}
					return nil
				})
			}
			if broken := w.broken != nil; broken != calls.broken {
				t.Errorf("S12 is broken: %t, want %t: %s", broken, calls.broken, calls.reason)
			}
		})
	}
}
