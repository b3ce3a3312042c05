package facts

import (
	"fmt"
	"slices"
	"time"
)

// volumeLost reports whether a Pod can't run any more since its volume is gone from under
// its claim. For the member timeout it may come back: a person can make the
// PersistentVolume again.
func (v *Objects) volumeLost(p *Pod) bool {
	c := v.ClaimOf[p.Name]
	return p.Persistent && c != nil && c.Lost && v.IsExpired(p.UnreadySince)
}

// containersMissing says of a Pod whose containers are not made what may be the matter: a volume that
// can't be mounted is not lost as far as anyone knows, and is waited for.
func containersMissing(p *Pod) string {
	return fmt.Sprintf("its containers are not created on node %s, as when its volume cannot be mounted: see the events of Pod %s; if the volume is lost, delete the Pod and its PVC",
		p.Node, p.Name)
}

// Serves reports whether a Pod serves although nobody tells how its member does. To an
// operator without a client certificate its probe tells, which is a linearizable read, too.
func (v *Objects) Serves(p *Pod) bool {
	return p.ServesUnseen() || (v.Cluster.NoClientCertificate() && p.IsReady())
}

// NewPodAge is for how long after its creation a Pod is expected to make progress
// every moment; a Pod that takes longer is asked less often, and nobody waits for
// it.
const NewPodAge = 15 * time.Second

// OldPodAge is the age from which a Pod that does not serve is asked slowly.
const OldPodAge = 3 * time.Minute

// startTime is how long an etcd may take to start without a word about it: until it
// listens, what it does not answer with says nothing.
const startTime = 10 * time.Second

// Progress says in words how far a Pod has come.
func (v *Objects) Progress(p *Pod) string {
	switch {
	case !p.DeletingSince.IsZero():
		return "its Pod is being deleted"
	case p.Trouble != "":
		return p.Trouble
	case p.Unschedulable != "":
		return "its Pod is unschedulable: " + p.Unschedulable
	case p.Node == "":
		return "its Pod is not scheduled yet"
	case !p.NodeLostSince.IsZero():
		return fmt.Sprintf("node %s is not ready; the member is replaced after %s", p.Node, v.Cluster.MemberTimeout)
	case p.Answer.Blocked != "":
		return p.Answer.Blocked
	case p.Answer.Waiting && !p.Addressed:
		return "its address is not published yet"
	case p.Answer.Waiting:
		return "waiting for its start permit"
	case p.Answer.Refused != "":
		return "etcd's authentication refuses the operator"
	case p.Answer.Reached:
		return "it is catching up"
	case p.Creating && v.Now.Sub(p.Created) > OldPodAge:
		return containersMissing(p)
	}
	said := fmt.Sprintf("it does not answer yet on node %s", p.Node)
	if p.Answer.Trouble != "" && !p.RunningSince.IsZero() && v.Now.Sub(p.RunningSince) >= startTime {
		said += ": " + p.Answer.Trouble
	}
	return said
}

// dataGone reports whether a member's data is lost for good. A node that is gone
// may come back with it.
func (v *Objects) dataGone(m Member) bool {
	p := v.PodOf[m.Name]
	switch {
	case m.IsUnmanaged():
		return false
	case p == nil:
		return v.hasNoClaim(m.Name)
	}
	return v.HasEnded(p) || v.PVCMissing(p) || v.IsWiped(m, p)
}

// UnplacedPod is the Pod for which the others on adopted volumes stay away while nobody tells who
// is a member: the oldest of those that can't be scheduled, while it has its turn; nil if there
// is none. Whoever had no data has given way to it. Recreated at once, it would be back in that
// place before the Pod that has the data, again and again: that its volume is empty is known
// only while it runs. By the turns of a single Pod there are as many minutes in which all
// volumes get their Pods, however many never find a place.
func (v *Members) UnplacedPod() *Pod {
	if !v.Cluster.IsAdopting() || len(v.List) > 0 {
		return nil
	}
	oldest := v.oldestUnplaced(func(*Pod) bool { return true })
	if oldest == nil || !v.HasTurn(oldest) {
		return nil
	}
	return oldest
}

// UnreportedPod is the Pod for which those without data give way while nobody tells who is a
// member, although no report names it as a voter's: it may have got its vote since the last one.
// It is the oldest of those that can't be scheduled, and its turn is when a voter's is not.
func (v *Members) UnreportedPod() *Pod {
	if v.Cluster.ClusterID == 0 || v.Cluster.IsAdopting() || len(v.List) > 0 {
		return nil
	}
	voters := v.KnownVoters()
	oldest := v.oldestUnplaced(func(p *Pod) bool {
		return p.Role != Joiner && v.OnVolume(p) && !slices.ContainsFunc(voters, func(m Member) bool { return m.Name == p.Name })
	})
	if oldest == nil || v.HasTurn(oldest) {
		return nil
	}
	return oldest
}

// oldestUnplaced is the oldest of some Pods that can't be scheduled; nil if there is none.
func (v *Objects) oldestUnplaced(wanted func(*Pod) bool) (oldest *Pod) {
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.Node == "" && p.Unschedulable != "" && (oldest == nil || p.Created.Before(oldest.Created)) && wanted(p) {
			oldest = p
		}
	}
	return oldest
}

// HasTurn reports whether others give way to a Pod that can't be scheduled: for some
// minutes, and then not for as many, again and again. Its volume may be where it never
// finds a place, and those that gave way may be voters that were not reported yet.
func (v *Objects) HasTurn(p *Pod) bool { return v.Now.Sub(p.Created)/OldPodAge%2 == 0 }

// OnVolume reports whether a Pod can be recreated as it is.
func (v *Objects) OnVolume(p *Pod) bool {
	c := v.ClaimOf[p.Name]
	return p.Persistent && c != nil && !c.Deleting
}

// losesVolume reports whether the claim that a Pod uses is being deleted: Kubernetes waits for the
// end of the Pod, and deletes it then.
func (v *Objects) losesVolume(p *Pod) bool {
	c := v.ClaimOf[p.Name]
	return p.Persistent && c != nil && c.Deleting
}

// HasOldTemplate reports whether a Pod was made under another template than that of the spec. One
// that does not tell its template is taken to be as it should.
func (v *Objects) HasOldTemplate(p *Pod) bool {
	return p.Template != "" && p.Template != v.Cluster.Template
}

// IsToBeRecreated reports whether a member's Pod is to be recreated on its volume. That of a
// cordoned node might find no place there: its member is moved (see ToMove).
func (v *Objects) IsToBeRecreated(p *Pod) bool {
	return v.HasOldTemplate(p) && v.OnVolume(p) && !p.Cordoned
}

// Updated counts the voters that are healthy in a Pod as the spec says: "2 of 3".
func (v *Versions) Updated() string {
	n := 0
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil && !v.HasOldTemplate(p) && p.DeletingSince.IsZero() && v.Healthy[m.ID] {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", min(n, v.Cluster.Size), v.Cluster.Size)
}

// UpdateProgress is what is said while members get Pods as the spec says.
func (v *Versions) UpdateProgress(what string) string {
	return fmt.Sprintf("%s members are up to date; %s", v.Updated(), what)
}

// Stuck says why nothing runs in a Pod, and will not by itself as far as is known; empty
// if something does or may.
func (v *Objects) Stuck(p *Pod) string {
	switch {
	case p.Answer.Reached || p.Answer.Waiting:
		return ""
	case p.Node == "":
		return p.Unschedulable
	}
	return p.Trouble
}

// RevertAdvice is what to do about a Pod that does not run under the spec of today.
func (v *Objects) RevertAdvice(p *Pod) string {
	if v.HasOldTemplate(p) || v.Stuck(p) == "" {
		return ""
	}
	return "; if the last edit of spec.pod or spec.etcd caused this, revert it, and the Pod is recreated"
}

// IsExpired reports whether a moment is set and further back than the time that a
// member's node may be gone (S9).
func (v *Objects) IsExpired(since time.Time) bool {
	return !since.IsZero() && v.Now.Sub(since) >= v.Cluster.MemberTimeout
}

// NodeLost reports whether the Pod's node has been gone for so long, or has not
// carried out a deletion for so long, that the Pod is given up.
func (v *Objects) NodeLost(p *Pod) bool {
	return v.IsExpired(p.NodeLostSince) || v.IsExpired(p.DeletingSince)
}

// HasEnded reports whether a member's Pod has ended for good and its data with it.
func (v *Objects) HasEnded(p *Pod) bool {
	return p.Finished && (!p.Persistent || v.hasNoClaim(p.Name))
}

// cacheLag is longer than a cache lags behind, so that what it does not show of an
// older Pod is not there.
const cacheLag = time.Minute

// PVCMissing reports whether a Pod waits for a volume that does not exist: it was
// deleted before the Pod was scheduled, and nobody recreates it.
func (v *Objects) PVCMissing(p *Pod) bool {
	return p.Persistent && p.Node == "" && v.hasNoClaim(p.Name) && v.Now.Sub(p.ExistsSince()) > cacheLag
}

// EmptyFor is for how long a launcher must have found no data before its disk counts as
// empty. It looks every second: a disk that is mounted late has not been seen then.
const EmptyFor = 3 * time.Second

// WhyEmptinessUncertain says of a Pod whose launcher finds no data why that is not certain, as it
// continues a sentence about it.
func (v *Objects) WhyEmptinessUncertain(p *Pod) string {
	if !p.Answer.Identified {
		return fmt.Sprintf("its launcher finds no data, but is too old to prove that the disk is empty: if the data is lost, kubectl -n %s delete pod %s", v.Cluster.Namespace, p.Name)
	}
	return fmt.Sprintf("its launcher finds no data; confirming for %s that the disk is empty", EmptyFor)
}

// seemsWiped is the same of a launcher that has said so once.
func (v *Objects) seemsWiped(m Member, p *Pod) bool {
	if !m.Started || !p.Answer.Waiting || p.CanUsePermit() {
		return false
	}
	// A seed has served before its cluster id was latched, if not by a start permit then on data
	// that there was.
	return p.Answer.Attempt > 0 || (p.Role != Joiner && (p.Role != Seed || v.Cluster.ClusterID != 0))
}
