package recovery

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// This file says of a cluster whose majority is lost for good who is left, and what a
// person can do.

// What this file says of a quorum that is away: whether it may come back, who is
// missing, and why.

// lossReport is the message of QuorumLost, in one line. The first words are what events
// have room for.
func lossReport(v *facts.View, lost string) string {
	said := []string{lost, whoIsLeft(v)}
	said = append(said, "nothing is deleted: bring the lost volumes or nodes back, and the cluster serves again", prospects(v))
	said = append(said, restoreToWrite(v))
	return strings.Join(said, "; ")
}

// whoIsLeft names those who answer, with what they have, and what might hold data besides.
func whoIsLeft(v *facts.View) string {
	var left []string
	h := findHolders(v)
	for _, p := range h.asked {
		left = append(left, fmt.Sprintf("%s (revision %d, committed index %d)", p.Name, p.Answer.Revision, p.Answer.Committed))
	}
	said := "no remaining member answers"
	if len(left) > 0 {
		said = "members that still have data: " + strings.Join(left, ", ")
	}
	for _, d := range h.doubts {
		said += "; " + d.why
	}
	return said
}

// prospects says whether the cluster begins anew with a survivor's data, and how a person
// lets it.
func prospects(v *facts.View) string {
	chosen, why := choice(v)
	switch {
	case why != "" && v.Cluster.IsRegrowing():
		return fmt.Sprintf("%s; remaining Pods and PVCs of cluster %016x are kept: %s", why, v.Cluster.Recovery.ClusterID, strings.Join(oldLeft(v), ", "))
	case why != "":
		return "cannot rebuild the cluster from a survivor: " + why
	case isRecoveryRequested(v):
		return fmt.Sprintf("the cluster will be rebuilt from %s once the loss has lasted %s", chosen.Name, StandTime)
	}
	return fmt.Sprintf("or rebuild the cluster from %s, without the writes that it has not received: set spec.recovery.quorumLoss: Survivor, or, for this once, kubectl -n %s annotate etcd %s %s=%016x --overwrite",
		chosen.Name, v.Cluster.Namespace, v.Cluster.Name, v1beta2.AnnotationRecover, v.Cluster.ClusterID)
}

// oldLeft are the Pods and volumes of the cluster that was lost before.
func oldLeft(v *facts.View) []string {
	left := []string{}
	for i := range v.Pods {
		if p := &v.Pods[i]; v.IsOld(p.Name) {
			left = append(left, p.Name)
		}
	}
	for i := range v.Claims {
		if c := &v.Claims[i]; v.IsOld(c.Name) && v.PodOf[c.Name] == nil {
			left = append(left, c.Name)
		}
	}
	if len(left) == 0 {
		return []string{"none"}
	}
	return left
}

// restoreToWrite is the command that creates the EtcdRestore that brings the cluster back.
func restoreToWrite(v *facts.View) string {
	c := &v.Cluster
	// The name is fixed: an EtcdRestore that is created twice would restore twice, the second
	// time over what was written after the first.
	metadata := map[string]any{"name": fmt.Sprintf("%s-%08x", c.Name, c.ClusterID>>32)}
	if c.Scope != "" {
		metadata["annotations"] = map[string]string{v1beta2.AnnotationScope: c.Scope}
	}
	spec := map[string]any{"etcdCluster": map[string]string{"name": c.Name}, "target": string(v1beta2.TargetInPlace)}
	var said string
	switch {
	case v.Backup != nil:
		spec["backupRef"] = map[string]string{"name": v.Backup.Name}
		said = fmt.Sprintf("or restore EtcdBackup %s, which stored revision %d at %s", v.Backup.Name, v.Backup.Revision, v.Backup.Finished.UTC().Format(time.RFC3339))
	case v.BackupsKnown:
		spec["backupStorageType"], spec["s3"] = string(v1beta2.StorageS3), map[string]string{"path": "BUCKET/KEY", "awsSecret": "SECRET"}
		said = fmt.Sprintf("or restore a snapshot from elsewhere, with its location (no EtcdBackup here has stored cluster %016x)", c.ClusterID)
	default:
		spec["backupRef"] = map[string]string{"name": "BACKUP"}
		said = "or restore the EtcdBackup that has stored this cluster, with its name (EtcdBackups cannot be listed)"
	}
	restore := map[string]any{
		"apiVersion": v1beta2.GroupVersion.String(), "kind": "EtcdRestore",
		"metadata": metadata, "spec": spec,
	}
	content, err := json.Marshal(restore)
	if err != nil {
		return said // not reached: such maps can be written
	}
	return fmt.Sprintf("%s: echo '%s' | kubectl -n %s create -f -", said, content, c.Namespace)
}

// lossPollInterval is how soon to look again at a cluster that is lost: soon while the loss
// has not stood for long, or a survivor is to be chosen.
func lossPollInterval(v *facts.View) time.Duration {
	switch {
	case standing(v) > 0:
		return min(max(standing(v), step.FastPoll), step.Shortly)
	case isRecoveryRequested(v):
		return step.Shortly
	}
	return step.Idle
}

// AwaitQuorum waits while no quorum answers: nothing is added, removed or deleted
// meanwhile (S4, S7, S9).
func AwaitQuorum(v *facts.View) *step.Step {
	if v.HasQuorum() {
		return nil
	}
	if why := v.QuorumLost(); why != "" {
		s := step.Wait(lossPollInterval(v), v1beta2.ClusterReasonQuorumLost, lossReport(v, why)).As(action.QuorumLost).InBrief(why)
		s.NamesBackups = true
		return s
	}
	requeueAfter := step.Shortly
	for i := range v.Pods {
		if p := &v.Pods[i]; step.PollInterval(v, p) == step.FastPoll || (p.IsRestarting() && step.RestartPollInterval(v, p) == step.FastPoll) {
			requeueAfter = step.FastPoll
		}
	}
	s := step.Wait(requeueAfter, v1beta2.ClusterReasonNoQuorum, "waiting for a quorum: "+v.WhoIsMissing()+v.DifferingAdvice()+v.TerminatingVolumesAdvice()).As(action.NoQuorum)
	if len(v.KnownVoters()) == 1 && v.Cluster.WasUpdating() {
		s.Reason, s.Outcome = v1beta2.ClusterReasonUpdatingMembers, action.InProgress // the only member's Pod is recreated
	}
	if m, _ := v.MemberToRemoveByHand(); m != nil {
		s.RemoveByHand = m.ID
	}
	return s
}
