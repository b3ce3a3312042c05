package plan

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// endedBefore leaves a restore alone that the archived operator carried out.
func endedBefore(v *view) *step {
	if !v.predecessors() {
		return nil
	}
	s := wait(v.last.Phase, "EndedBefore", "the archived operator carried this restore out: it is not done again").quietly()
	s.again = 0
	return s
}

// stopJob stops a verification that nobody needs any more.
func stopJob(v *view) *step {
	j := v.Job
	if j == nil || j.Done || j.Deleting || v.last.Phase != v1beta2.RestoreFailed {
		return nil
	}
	return do(v.last.Phase, DeleteJob{Name: j.Name, UID: j.UID}, "JobDeleted", fmt.Sprintf("the Job %s is stopped, since the restore has failed", j.Name)).quietly()
}

// removeFinalizer lets an EtcdRestore be deleted that has ended.
func removeFinalizer(v *view) *step {
	if !v.held {
		return nil
	}
	return do(v.last.Phase, RemoveFinalizer{}, "Released", "nothing is left to give back").quietly()
}

// rest is a restore that is over. It is never begun again.
func rest(v *view) *step {
	s := wait(v.last.Phase, "Over", "the restore is over, and is not done again: create another EtcdRestore for another one").quietly()
	s.again = 0
	return s
}
