package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/goldentest"
)

// manySeeds is from how many seeds on a test run is taken to have time.
const manySeeds = 20_000

// TestPlantedBugs proves the simulator: each row plants a bug in the planner, in act
// or in the launcher, and some seed must find it. The planner's bugs are planted from
// outside: it is lied to, or its decision is changed, so that it does what a planner
// with that bug would do.
func TestPlantedBugs(t *testing.T) {
	type row struct {
		reason  string
		planner Planner
		// config changes a random configuration to where the bug matters.
		config func(*Config)
		// by are the invariants one of which must catch it; the others are not checked.
		by []string
		// seeds is within how many it is caught; 0 means 500.
		seeds int
		// rare ones take minutes, and run only when many seeds are asked for.
		rare bool
	}
	rows := map[string]row{
		"refusals that nobody remembers": {
			reason: "each try of a Pod that is refused makes another volume",
			planner: lie(func(o *facts.Observation) {
				o.Rejections = nil
			}),
			config: func(c *Config) {
				c.Persistent, c.Kinds = true, append(c.Kinds, RefusePods, RefusePods)
			},
			by: []string{orphans},
		},
		"the volume of a joiner that was refused, for another's": {
			reason: "the name of a member that is down is taken for one whose Pod was refused: it starts on data without a permit",
			planner: lie(func(o *facts.Observation) {
				for _, c := range o.Claims {
					if !slices.ContainsFunc(o.Pods, func(p facts.Pod) bool { return p.Name == c.Name }) {
						o.Rejections = append(slices.Clone(o.Rejections), facts.Rejection{Kind: "CreatePods", Role: facts.Joiner, Name: c.Name})
					}
				}
			}),
			config: func(c *Config) {
				c.Persistent, c.Kinds = true, append(c.Kinds, EditSize, EditSize, DeletePod)
			},
			by: []string{"S2", "S7"},
		},
		"off-by-one quorum": {
			reason: "one voter that does not answer is counted as healthy",
			planner: lie(func(o *facts.Observation) {
				pretendHealthy(o, 1)
			}),
			by: []string{"S3", "S4", "S5"},
		},
		"off-by-one quorum, by what comes of it": {
			reason: "as above, found in the truth alone",
			planner: lie(func(o *facts.Observation) {
				pretendHealthy(o, 1)
			}),
			config: func(c *Config) { c.TruthOnly = true },
			by:     []string{"S4", "S5"},
			seeds:  3000,
		},
		"what people do with etcdctl is not seen": {
			reason: "a member that a person has added, or moved, is taken for the operator's own",
			planner: func(o facts.Observation) plan.Decision {
				told := map[uint64]facts.Member{}
				unheard := o
				unheard.Pods = slices.Clone(o.Pods)
				for i := range unheard.Pods {
					a := &unheard.Pods[i].Answer
					a.Members = slices.Clone(a.Members)
					for j := range a.Members {
						told[a.Members[j].ID] = a.Members[j]
						a.Members[j].Foreign, a.Members[j].At = false, ""
					}
				}
				d := plan.Plan(unheard)
				if x, ok := d.Action.(action.RemoveMember); ok {
					x.Members = slices.Clone(x.Members)
					for i := range x.Members {
						x.Members[i] = told[x.Members[i].ID]
					}
					d.Action = x
				}
				return d
			},
			config: func(c *Config) { c.Kinds = append(c.Kinds, AddByHand, ChangePeerURL, AddByHand, ChangePeerURL) },
			by:     []string{"S9"},
		},
		"bootstrap on unreachable": {
			reason: "when nobody answers, the cluster is taken for new",
			planner: lie(func(o *facts.Observation) {
				if !anyAnswer(o) && o.Cluster.ClusterID != 0 {
					takeForNew(o)
					o.Cluster.Bootstrap = nil
				}
			}),
			by: []string{"S1"},
		},
		"bootstrap on unreachable, by what comes of it": {
			reason:  "as above, found in the truth alone",
			planner: lie(takeForNew),
			config:  func(c *Config) { c.TruthOnly = true },
			by:      []string{"S1", "S2"},
			seeds:   3000,
		},
		"fresh cluster after quorum loss": {
			reason: "once the data of a majority is lost, a seed is started again under the recorded name",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				b := o.Cluster.Bootstrap
				if d.Outcome != action.QuorumLost || b == nil {
					return d
				}
				for _, p := range o.Pods {
					if p.Name == b.Member && p.Answer.Waiting {
						d.Action = newPermit(&p, b)
					}
				}
				return d
			},
			config: func(c *Config) { c.Gentle = false },
			by:     []string{"S2"},
		},
		"removing before checking health": {
			reason: "every voter is taken for healthy",
			planner: lie(func(o *facts.Observation) {
				pretendHealthy(o, len(o.Pods))
			}),
			by: []string{"S3", "S4", "S6"},
		},
		"forgetting a phantom member": {
			reason: "a member that was added and never started is not seen",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					a := &o.Pods[i].Answer
					a.Members = slices.DeleteFunc(slices.Clone(a.Members), func(m facts.Member) bool {
						return !m.Started && !slices.ContainsFunc(o.Pods, func(p facts.Pod) bool { return p.Name == m.Name })
					})
				}
			}),
			by:    []string{liveness},
			seeds: 3000,
		},
		"members changed by who is not root": {
			reason: "that etcd refuses the operator is passed over, where it tells who the members are",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Answer.Refused = ""
				}
			}),
			config: withAuth,
			by:     []string{"S3", "S4", "S5"},
		},
		"a refusal for the loss of a quorum": {
			reason: "that etcd tells nothing is taken for the loss of all that it would tell, and a person gives the cluster up",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if d.Reason == v1beta2.ConditionCredentialsMissing || d.Reason == v1beta2.ConditionCredentialsInvalid {
					d.Outcome = action.QuorumLost
				}
				return d
			},
			config: withAuth,
			by:     []string{"QuorumLost"},
		},
		"the first survivor": {
			reason: "the one that comes first is chosen, and not the most advanced",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Answer.Committed = 100
				}
			}),
			config: losingMany,
			by:     []string{"S13"},
			seeds:  3000,
		},
		"the survivor of the highest term": {
			reason: "the term tells whose election was the last, and not who has the most of the log",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					if a := &o.Pods[i].Answer; a.Reached && !a.Read {
						a.Committed, a.Applied, a.Revision = a.Term, a.Term, int64(a.Term)
					}
				}
			}),
			config: func(c *Config) {
				losingMany(c)
				c.TruthOnly, c.Version, c.Size = true, "3.4.37", 5
				c.Nodes = max(c.Nodes, 6)
				c.Kinds = append(c.Kinds, SlowMember, SlowMember, PartitionPeers)
			},
			by:    []string{"S13"},
			seeds: 6000,
		},
		"whoever does not answer has no data": {
			reason: "a member that does not answer is taken for one without data",
			planner: lie(func(o *facts.Observation) {
				if anyAnswer(o) {
					for i := range o.Pods {
						if p := &o.Pods[i]; !p.Answer.Reached && p.Role != facts.Joiner {
							p.Answer = facts.Answer{Waiting: true, Attempt: 1, Identified: true, Waited: time.Hour}
						}
					}
				}
			}),
			config: losingMany,
			by:     []string{"S13"},
			seeds:  3000,
		},
		"clients stay with the survivors": {
			reason: "the seed is made, and adopted, without taking the survivors' clients",
			planner: lie(func(o *facts.Observation) {
				if r := o.Cluster.Recovery; r != nil && r.Phase == v1beta2.RecoverySeeding {
					for i := range o.Pods {
						if o.Pods[i].Name != r.Seed {
							o.Pods[i].Role = facts.Survivor
						}
					}
				}
			}),
			config: func(c *Config) { losingMany(c); c.TruthOnly = true },
			by:     []string{"S1", liveness},
			seeds:  3000,
		},
		"a permit that is not withdrawn": {
			reason: "a seed that loses its disk after it was adopted is made anew from the survivor",
			planner: func(o facts.Observation) plan.Decision {
				seeding := o.Cluster.Recovery != nil && o.Cluster.Recovery.Phase == v1beta2.RecoverySeeding
				for i := range o.Pods {
					o.Pods[i].SurvivorPermit = o.Pods[i].SurvivorPermit && !seeding
				}
				return plan.Plan(o)
			},
			config: func(c *Config) { losingMany(c); c.Kinds = append(c.Kinds, WipeDisk, WipeDisk, WipeDisk, WipeDisk) },
			by:     []string{"S1", "S13"},
			seeds:  6000,
		},
		"survivors are not kept": {
			reason: "what is left of the old cluster is deleted as soon as the new one serves",
			planner: lie(func(o *facts.Observation) {
				if r := o.Cluster.Recovery; r != nil && r.Phase == v1beta2.RecoveryGrowing {
					o.Cluster.Recovery = nil
				}
			}),
			config: func(c *Config) { losingMany(c); c.TruthOnly = true },
			by:     []string{"S13"},
			seeds:  3000,
		},
		"volumes of two clusters that look like those of one": {
			reason: "a seed's volume loses its mark while there is data from before it",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				for _, c := range o.Claims {
					if r := o.Cluster.Recovery; r != nil && r.Phase == v1beta2.RecoveryGrowing && r.Token == c.Reseed {
						d.Action = action.KeepClaims{Claims: []action.ClaimRef{{Name: c.Name, UID: c.UID}}, Retain: o.Cluster.Retain, Recovered: true}
					}
				}
				return d
			},
			config: func(c *Config) { losingMany(c); c.Persistent, c.TruthOnly = true, true },
			by:     []string{"S13"},
			seeds:  3000,
		},
		"a recovery that nothing calls off": {
			reason: "the old cluster serves again, and the new one is put in its place",
			planner: lie(func(o *facts.Observation) {
				r := o.Cluster.Recovery
				if r == nil || r.Phase != v1beta2.RecoverySeeding {
					return
				}
				for i := range o.Pods {
					if p := &o.Pods[i]; p.Name != r.Seed && p.Name != r.Survivor {
						p.Answer = facts.Answer{Waiting: true, Attempt: 1}
					} else if a := &p.Answer; a.ClusterID == r.ClusterID {
						a.Leader, a.Read, a.Committed, a.Members = 0, false, r.Committed, nil
					}
				}
				o.Claims = slices.DeleteFunc(slices.Clone(o.Claims), func(c facts.Claim) bool { return c.Name != r.Seed && c.Name != r.Survivor })
			}),
			config: func(c *Config) { losingMany(c); c.Persistent, c.TruthOnly = true, true },
			by:     []string{"S13", "S1", liveness},
			seeds:  6000,
		},
		"promoting a dead learner": {
			reason:  "a learner is believed to answer as long as the others do",
			planner: lie(pretendLearners),
			by:      []string{"S5"},
		},
		"promoting a dead learner, by what comes of it": {
			reason:  "as above, found in the truth alone",
			planner: lie(pretendLearners),
			config:  func(c *Config) { c.TruthOnly = true },
			by:      []string{"S5"},
			seeds:   3000,
		},
		"learner limits that differ": {
			reason: "all Pods are taken to run with the same limit",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Learners = 7
				}
			}),
			config: func(c *Config) { c.TruthOnly, c.Version = true, "3.6.16" },
			by:     []string{"S3"},
			seeds:  3000,
		},
		"learner limits of others not looked at": {
			reason: "how many learners there may be is told by the one that is to join, and others have been made with a smaller limit",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				list := list(&o)
				learners := len(list) - countVoters(list)
				if d.SkipChildren || learners == 0 || len(list) >= o.Cluster.Size {
					return d
				}
				for _, p := range o.Pods {
					if p.Role == facts.Joiner && p.Answer.Waiting && p.Addressed && p.Learners > learners && !slices.ContainsFunc(list, func(m facts.Member) bool { return m.Name == p.Name }) {
						d.Action = action.AddLearner{Name: p.Name, Members: list}
					}
				}
				return d
			},
			config: func(c *Config) {
				c.TruthOnly, c.Version, c.Learners, c.Size, c.Formed = true, "3.6.16", 1, max(c.Size, 4), false
				c.Kinds, c.Faults = []FaultKind{ChangeLearners, EditSize, DeletePod, WipeDisk}, 20
			},
			by:    []string{"S3"},
			seeds: 3000,
		},
		"several learners on 3.5": {
			reason: "members of 3.5 are taken for 3.6",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Version, o.Pods[i].Answer.Version = "3.6.16", "3.6.16"
				}
			}),
			config: func(c *Config) { c.Version = "3.5.35" },
			by:     []string{"S3", liveness},
		},
		"a wiped seed restarted with new": {
			reason:  "the seed begins again whenever it has no data",
			planner: restartSeed,
			by:      []string{"S2"},
		},
		"a wiped seed restarted with new, by what comes of it": {
			reason:  "as above, found where the second cluster begins",
			planner: restartSeed,
			config:  func(c *Config) { c.TruthOnly = true },
			by:      []string{"S1"},
			seeds:   3000,
		},
		"a wiped voter let in again": {
			reason:  "a member without data may always join under its old name",
			planner: restartMembers,
			by:      []string{"S2"},
		},
		"a wiped voter let in again, by what comes of it": {
			reason:  "without memory of its log and votes it helps to elect a leader that lacks acknowledged writes",
			planner: restartMembers,
			config:  fewVotes,
			by:      []string{history},
			seeds:   20000,
		},
		"constant flags": {
			reason:  "a Pod starts etcd as a joining member whenever it has no data: the predecessor's way",
			planner: plan.Plan,
			config:  func(c *Config) { c.Planted = []Bug{EagerLauncher, TrustingLauncher} },
			by:      []string{"S2"},
		},
		"a launcher that forgets": {
			reason:  "a start permit is good for every start, and a kubelet that is cut off does not hear that it was withdrawn",
			planner: plan.Plan,
			config: func(c *Config) {
				losingRecords(SilenceNode, SilenceNode)(c)
				c.Persistent, c.Planted = true, []Bug{ForgetfulLauncher, TrustingLauncher} // volumes: the record stays
			},
			by:    []string{"S1", "S2"},
			seeds: 3000,
		},
		"a vote before the start permit is withdrawn": {
			reason: "a voter that serves has a permit to start, and its Pod loses its data and the record of start permits together",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					p := &o.Pods[i]
					if slices.ContainsFunc(list(o), func(m facts.Member) bool { return m.Name == p.Name && m.Started }) {
						p.StartPermit = nil
					}
				}
			}),
			config: func(c *Config) { losingRecords()(c); c.Planted, c.TruthOnly = []Bug{TrustingLauncher}, true },
			by:     []string{"S2"},
		},
		"a launcher that trusts its start permit": {
			reason:  "its copy of the start permit was not renewed since its kubelet was cut off, and the record of used ones is lost with the data",
			planner: plan.Plan,
			config:  func(c *Config) { losingRecords(SilenceNode, SilenceNode)(c); c.Planted = []Bug{TrustingLauncher} },
			by:      []string{"S2"},
			seeds:   20000,
		},
		"a latch before the seed's start permit is withdrawn": {
			reason: "the seed whose data counts has a permit to begin, and its Pod loses its data and the record of start permits together",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					if o.Pods[i].Role == facts.Seed {
						o.Pods[i].StartPermit = nil
					}
				}
			}),
			config: func(c *Config) { losingRecords(StallOperator, StallOperator)(c); c.Formed, c.TruthOnly = false, true },
			by:     []string{"S1"},
			seeds:  3000,
		},
		"a seed's start permit withdrawn only with a quorum": {
			reason: "of a seed that was given up the permit to begin stays while nobody serves",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					if p := &o.Pods[i]; reader(o) == nil && p.StartPermit != nil && p.StartPermit.New && (o.Cluster.Bootstrap == nil || o.Cluster.Bootstrap.Member != p.Name) {
						p.StartPermit = nil
					}
				}
			}),
			config: func(c *Config) {
				c.Formed, c.BornFenced, c.Existed = false, false, ""
				c.Kinds = []FaultKind{StopNode, StopNode, LoseNode, CutNode, Unschedulable, PassTime, PassTime, EditVersion, ImageTrouble}
				c.Faults = 20
			},
			by: []string{"S2"},
		},
		"removing who is merely unknown": {
			reason: "who does not answer is taken for lost with its node",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					if a := &o.Pods[i].Answer; !a.Reached && !a.Waiting {
						o.Pods[i].NodeLostSince = o.Now.Add(-o.Cluster.MemberTimeout)
					}
				}
			}),
			by: []string{"S9"},
		},
		"no hand-over": {
			reason: "the leader is removed instead of being asked to step aside",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if m, ok := d.Action.(action.TransferLeadership); ok {
					d.Action = removal(&o, m.From)
				}
				return d
			},
			config: shrinking,
			by:     []string{"S8"},
			seeds:  3000,
		},
		"a request answered too early": {
			reason: "another leader is asked for, and the answer is that it leads before it does",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if _, ok := d.Action.(action.TransferLeadership); ok && o.Cluster.Maintenance.LeaderAsked() != "" {
					d.Action = action.AnswerLeaderRequest{Request: o.Cluster.Maintenance.LeaderRequest}
				}
				return d
			},
			config: requesting,
			by:     []string{"S8"},
		},
		"a request never answered": {
			reason:  "what a user asks for is carried out again and again",
			planner: without("AnswerLeaderRequest"),
			config:  requesting,
			by:      []string{liveness},
		},
		"a round without a request": {
			reason: "a request for a round is not told from the one before",
			planner: lie(func(o *facts.Observation) {
				o.Cluster.Maintenance.DefragmentAnswered = o.Cluster.Maintenance.DefragmentRequest
			}),
			config: requesting,
			by:     []string{liveness},
		},
		"paused is ignored": {
			reason:  "spec.paused is not looked at",
			planner: lie(func(o *facts.Observation) { o.Cluster.Paused = false }),
			by:      []string{"S12"},
		},
		"a claim deleted too early": {
			reason: "the volume of a member that has no Pod is deleted",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				for _, c := range o.Claims {
					if list := list(&o); len(list) > 0 && !slices.ContainsFunc(o.Pods, func(p facts.Pod) bool { return p.Name == c.Name }) {
						d.Action = action.DeleteClaim{Name: c.Name, UID: c.UID, Members: list}
					}
				}
				return d
			},
			by: []string{"S7"},
		},
		"budget off by one": {
			reason: "the PodDisruptionBudget is one too low",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if d.Budget > 0 {
					d.Budget--
				}
				return d
			},
			by: []string{"Budget"},
		},
		"a step that is never taken": {
			reason: "leftover Pods are never deleted",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if _, ok := d.Action.(action.DeletePod); ok {
					d.Action = nil
				}
				return d
			},
			by: []string{liveness},
		},
		"forgetting to look again": {
			reason: "after a wait nobody looks before something happens in Kubernetes",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if d.Action == nil {
					d.RequeueAfter = 24 * time.Hour
				}
				return d
			},
			by: []string{liveness},
		},
		"no live read": {
			reason:  "act does not read the EtcdCluster before it acts",
			planner: plan.Plan,
			config:  withoutChecks(NoLiveRead),
			by:      []string{"S1"},
			seeds:   20000,
		},
		"no live read before patches": {
			reason:  "act does not read the EtcdCluster before it opens a start permit",
			planner: plan.Plan,
			config:  withoutChecks(NoLiveReadForPatches),
			by:      []string{"S1", "S2"},
			seeds:   20000,
		},
		"no live names": {
			reason:  "act creates Pods whatever there are meanwhile",
			planner: plan.Plan,
			config:  withoutChecks(NoLiveNames),
			by:      []string{"S11"},
			seeds:   20000,
		},
		"no live Pod": {
			reason:  "act removes members whatever became of their Pods",
			planner: plan.Plan,
			config: func(c *Config) {
				withoutChecks(NoLivePod)(c)
				c.Formed, c.Persistent, c.Steps, c.MemberTimeout, c.Size = true, true, 150, 30*time.Second, 5
				c.AntiAffinity = false
				c.Kinds = []FaultKind{SecondOperator, LagPods, LagPods, LagPods, DeletePod, DeletePod, DeletePod, PassTime}
			},
			by:    []string{"S9"},
			seeds: 20000,
			rare:  true,
		},
		"no uid": {
			reason:  "act changes and deletes by name",
			planner: plan.Plan,
			config: func(c *Config) {
				withoutChecks(NoUID)(c)
				c.Persistent, c.Steps = true, 150
				c.Kinds = []FaultKind{
					SecondOperator, StallOperator, StallOperator, StallOperator, LagPods, LagPods, WipeDisk, WipeDisk, WipeSeed,
					DeletePod, ForceDeletePod, ForceDeletePod, FinishPod, CrashOperator,
				}
			},
			by:    []string{"S2", "S7", "S9", history},
			seeds: 20000,
			rare:  true,
		},
		"no member list": {
			reason:  "act changes members whatever the list is meanwhile",
			planner: plan.Plan,
			config:  withoutChecks(NoMemberList),
			by:      []string{"S4", "S5", "S7", "S8", "S9"},
			seeds:   20000,
		},
		"acknowledging while something is under way": {
			reason:  "an operator that has just started does not wait for what the one before has begun",
			planner: lie(func(o *facts.Observation) { o.Since = time.Time{} }),
			config:  restoring(LateCall, LateCall, LateCall, DeletePod, FinishPod, KillContainer, EditSize),
			by:      []string{"S12"},
		},
		"acknowledging while something is under way, by what comes of it": {
			reason:  "as above, found where it takes effect",
			planner: lie(func(o *facts.Observation) { o.Since = time.Time{} }),
			config: func(c *Config) {
				restoring(LateCall, LateCall, LateCall, DeletePod, FinishPod, KillContainer, EditSize)(c)
				c.TruthOnly = true
			},
			by:    []string{"S12"},
			seeds: 3000,
		},
		"no live fence": {
			reason:  "act does not look whether the EtcdCluster is fenced before it acts",
			planner: plan.Plan,
			config: func(c *Config) {
				restoring(StallOperator, StallOperator, LagStatus, SecondOperator, EditSize, DeletePod, KillContainer, TearCall)(c)
				c.Planted = []Bug{NoLiveFence}
			},
			by:    []string{"S12"},
			seeds: 3000,
		},
		"a fence that is only as good as its annotation": {
			reason:  "once the annotation has vanished the cluster is looked after again",
			planner: lie(func(o *facts.Observation) { o.Cluster.Fence.By = "" }),
			config:  restoring(EraseFence, EraseFence, EditSize, LagStatus),
			by:      []string{"S12"},
		},
		"a new cluster begun in spite of its fence": {
			reason:  "an EtcdCluster that was made for a restore gets a seed at once",
			planner: lie(func(o *facts.Observation) { o.Cluster.Fence = facts.Fence{} }),
			config: func(c *Config) {
				restoring()(c)
				c.Formed, c.BornFenced = false, true
			},
			by: []string{"S12"},
		},
		"adopting by name": {
			reason:  "the Pod of the name that was handed over is taken, whatever its uid",
			planner: lie(takeByName),
			config: func(c *Config) {
				restoring(DeletePod, DeletePod, ForceDeletePod, FinishPod, FinishPod)(c)
				c.TruthOnly, c.Gentle = true, false
			},
			by:    []string{"S12"},
			seeds: 20000,
		},
		"adopting twice": {
			reason:  "what was handed over counts whenever it is seen",
			planner: lie(takeAlways),
			config: func(c *Config) {
				restoring(OldMarks, OldMarks, LagStatus)(c)
				c.TruthOnly, c.Size = true, 1
			},
			by:    []string{"S12"},
			seeds: 3000,
		},
		"adopting what has been given up": {
			reason:  "a seed is taken although its restore has lifted the fence",
			planner: lie(func(o *facts.Observation) { o.Cluster.Fence.Lifted = "" }),
			config:  restoring(SecondOperator, LagStatus, StallOperator),
			by:      []string{liveness},
		},
		"adopting a seed that refuses writes": {
			reason: "the restore is called a success, and every write is refused",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Answer.Write.Acknowledged = true
				}
			}),
			config: func(c *Config) { restoring()(c); c.TruthOnly = true },
			by:     []string{"S12"},
		},
		"an adoption that leaves the highest revision": {
			reason: "a second restore begins at the revision of the first",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if _, ok := d.Action.(action.AdoptSeed); ok {
					d.Status.HighestRevision = o.Cluster.LastStatus.HighestRevision
				}
				return d
			},
			config: restoring(),
			by:     []string{"S12"},
		},
		"keeping the old cluster id": {
			reason: "the seed is adopted under the id of the cluster that was",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if a, ok := d.Action.(action.AdoptSeed); ok && o.Cluster.ClusterID != 0 {
					a.ClusterID = o.Cluster.ClusterID
					d.Action = a
				}
				return d
			},
			config: func(c *Config) { restoring()(c); c.TruthOnly = true },
			by:     []string{"S1"},
		},
		"two restarted at once": {
			reason:  "a member that is being restarted is taken for one that has come back",
			planner: lie(pretendRestarted),
			config:  changing(EditRepository, KillContainer, MoveAway),
			by:      []string{"S6"},
		},
		"the leader restarted": {
			reason: "it is not asked to step aside",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				m, ok := d.Action.(action.TransferLeadership)
				if !ok {
					return d
				}
				for _, p := range o.Pods {
					if p.Name == m.From && p.Role == facts.Restarting {
						d.Action = action.ChangeImage{Name: p.Name, UID: p.UID, Repository: o.Cluster.Repository, Version: o.Cluster.Target}
					}
				}
				return d
			},
			config: func(c *Config) { changing()(c); c.TruthOnly = true },
			by:     []string{"S8"},
		},
		"a minor skipped": {
			reason:  "members go straight to what is wanted",
			planner: lie(func(o *facts.Observation) { o.Cluster.Target = o.Cluster.WantedVersion }),
			config:  changing(),
			by:      []string{"S10"},
		},
		"back when it is too late": {
			reason: "members go back to an earlier minor whatever etcd's cluster version is",
			planner: lie(func(o *facts.Observation) {
				if minorOf(o.Cluster.WantedVersion) >= minorOf(o.Cluster.Target) {
					return
				}
				o.Cluster.Target = o.Cluster.WantedVersion
				for i := range o.Pods {
					o.Pods[i].Answer.ClusterVersion = ""
				}
			}),
			config: func(c *Config) { changing(EditVersion, EditVersion)(c); c.TruthOnly = true },
			by:     []string{"S10"},
			seeds:  3000,
		},
		"down before etcd's cluster version is": {
			reason: "members that are to go down are restarted at once",
			planner: lie(func(o *facts.Observation) {
				pretendLowered(o, func(a *facts.Answer, to string) { a.ClusterVersion, a.StorageVersion, a.Downgrade = to, to, to })
			}),
			config: func(c *Config) { changing()(c); c.TruthOnly, c.Version = true, "3.6.16" },
			by:     []string{"S10"},
		},
		"down before the data is": {
			reason: "members are restarted as soon as etcd's cluster version has gone down",
			planner: lie(func(o *facts.Observation) {
				pretendLowered(o, func(a *facts.Answer, to string) { a.StorageVersion = to })
			}),
			config: func(c *Config) { changing()(c); c.TruthOnly, c.Version = true, "3.6.16" },
			by:     []string{"S10"},
		},
		"down although the downgrade was cancelled": {
			reason: "etcd's cluster version is taken to stay where it is",
			planner: lie(func(o *facts.Observation) {
				pretendLowered(o, func(a *facts.Answer, to string) { a.Downgrade = to })
			}),
			config: func(c *Config) { changing(EditVersion, EditVersion)(c); c.Version = "3.6.16" },
			by:     []string{"S10", liveness},
			seeds:  3000,
		},
		"a downgrade cancelled in the middle of a restart": {
			reason:  "it is cancelled as soon as the user has changed his mind",
			planner: cancelAtOnce,
			config:  func(c *Config) { changing(EditVersion, EditVersion, HoldContainer)(c); c.Version = "3.6.16" },
			by:      []string{"S10"},
			seeds:   3000,
		},
		"a downgrade cancelled in the middle of a restart, by what comes of it": {
			reason:  "as above, found where the member starts",
			planner: cancelAtOnce,
			config: func(c *Config) {
				changing(EditVersion, EditVersion, HoldContainer)(c)
				c.TruthOnly, c.Version = true, "3.6.16"
			},
			by:    []string{"S10"},
			seeds: 20_000,
		},
		"a downgrade never cancelled": {
			reason:  "etcd is believed to end it by itself",
			planner: without("CancelDowngrade"),
			config:  func(c *Config) { changing(EditVersion, EditVersion)(c); c.Version = "3.6.16" },
			by:      []string{liveness},
			seeds:   3000,
		},
		"growing between two members": {
			reason:  "the size that is wanted counts at once",
			planner: lie(func(o *facts.Observation) { o.Cluster.UpgradeSize = 0 }),
			config:  changing(EditSize, EditSize, EditSize),
			by:      []string{"S6"},
			seeds:   3000,
		},
		"an idle cluster that is left to wait for snapshots": {
			reason:  "clients are believed to write enough",
			planner: without("AdvanceLog"),
			config: func(c *Config) {
				changing(EditVersion, EditVersion)(c)
				c.Version, c.Weight, c.Idle = "3.5.35", 1, true
			},
			by:    []string{liveness},
			seeds: 3000,
		},
		"the log of 3.5 forgotten": {
			reason:  "members move to 3.7 as soon as they run 3.6",
			planner: lie(func(o *facts.Observation) { o.Cluster.VersionIndex = 0 }),
			config:  func(c *Config) { changing(EditVersion, EditVersion)(c); c.Version, c.Weight = "3.5.35", 1 },
			by:      []string{"S10"},
			seeds:   3000,
		},
		"the log of 3.5 forgotten when a member joins": {
			reason:  "an addition that 3.5 has refused is in it",
			planner: lie(func(o *facts.Observation) { o.Cluster.VersionIndex = 0 }),
			config: func(c *Config) {
				changing(EditVersion, EditSize, EditSize)(c)
				c.Version, c.Weight, c.Idle = "3.5.35", 1, true
			},
			by:    []string{"S3"},
			seeds: 3000,
		},
		"a bad image kept": {
			reason: "what does not run is not given another image",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if d.Reason == "RepairingImage" {
					d.Action = nil
				}
				return d
			},
			config: changing(EditRepository),
			by:     []string{liveness},
		},
		"no live Pods": {
			reason:  "act changes images whatever became of the Pods meanwhile",
			planner: plan.Plan,
			config: func(c *Config) {
				changing(SecondOperator, StallOperator, StallOperator, LagPods, LagPods, MoveAway)(c)
				c.Planted, c.TruthOnly = []Bug{NoLivePods}, true
			},
			by:    []string{"S6"},
			seeds: 3000,
		},
		"no live Pods before a Pod is recreated": {
			reason:  "act deletes Pods to recreate them whatever became of the others meanwhile",
			planner: plan.Plan,
			config: func(c *Config) {
				reshaping(SecondOperator, StallOperator, StallOperator, LagPods, LagPods, MoveAway)(c)
				c.Planted, c.TruthOnly, c.Persistent = []Bug{NoLivePods}, true, true
			},
			by:    []string{"S6"},
			seeds: 3000,
		},
		"two recreated at once": {
			reason:  "a member whose Pod is recreated is taken for one that has come back",
			planner: lie(pretendRecreated),
			config:  func(c *Config) { reshaping(KillContainer, MoveAway)(c); c.Persistent = true },
			by:      []string{"S6", "S10"},
			seeds:   3000,
		},
		"a Pod without a volume deleted to be recreated": {
			reason:  "every member is taken to have a volume",
			planner: lie(pretendVolumes),
			config:  func(c *Config) { reshaping()(c); c.Persistent = false },
			by:      []string{"S7"},
		},
		"a bad template kept": {
			reason: "what does not run is not recreated when the spec is set back",
			planner: forgetting(func(d *plan.Decision) bool {
				_, ok := d.Action.(action.DeletePod)
				return ok && d.Reason == "UpdatingMembers"
			}),
			config: func(c *Config) { reshaping()(c); c.Persistent = true },
			by:     []string{liveness},
		},
		"a template forgotten": {
			reason: "members are taken to have the Pods that the spec asks for",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Template = o.Cluster.Template
				}
			}),
			config: func(c *Config) { reshaping()(c) },
			by:     []string{liveness},
		},
		"a cordoned node forgotten": {
			reason: "nodes are taken for such as may be used",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Cordoned = false
				}
			}),
			config: func(c *Config) { emptying()(c) },
			by:     []string{liveness},
		},
		"moved to where it may not stay": {
			reason: "the node of the one that takes the place is not looked at",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					if o.Pods[i].Role == facts.Joiner {
						o.Pods[i].Cordoned = false
					}
				}
			}),
			config: func(c *Config) { emptying(Cordon, Cordon, Cordon)(c); c.AntiAffinity = false },
			by:     []string{"S6"},
			seeds:  3000,
		},
		"removed before another one is there": {
			reason: "a member that is to be replaced is removed first",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if a, ok := d.Action.(action.AddLearner); ok && len(a.Members) >= o.Cluster.Size {
					for _, p := range o.Pods {
						if p.Cordoned && p.Answer.Reached && p.Answer.MemberID != p.Answer.Leader {
							d.Action = removal(&o, p.Name)
						}
					}
				}
				return d
			},
			config: func(c *Config) { emptying()(c); c.Size, c.Nodes = 3, 6 },
			by:     []string{"S4", "S9"},
		},
		"alarms taken for errors": {
			reason: "no member is healthy while there is no space, so nothing is done about that",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					for _, a := range o.Pods[i].Answer.Alarms {
						o.Pods[i].Answer.Errors = append(o.Pods[i].Answer.Errors, string(a.Kind))
					}
				}
			}),
			config: filling(),
			by:     []string{liveness},
		},
		"no room made": {
			reason:  "nothing is compacted",
			planner: without("Compact"),
			config:  filling(),
			by:      []string{liveness},
		},
		"a full database disarmed": {
			reason: "the alarm is taken back before the members are defragmented",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Answer.DBSize = 1
				}
			}),
			config: func(c *Config) { filling()(c); c.TruthOnly = true },
			by:     []string{"Alarm"},
		},
		"no client certificate taken for silence": {
			reason: "an operator without a certificate decides as if members had been asked",
			planner: lie(func(o *facts.Observation) {
				o.Cluster.TLS.NoClientCertificate, o.Cluster.TLS.Problem = false, ""
			}),
			config: secured(LackCertificates, LackCertificates, EditSize, DeletePod, Unschedulable),
			by:     []string{"S9"},
		},
		"a loss told without a client certificate": {
			reason: "that nobody was asked is passed over where a majority's Pods have ended, and a person gives the cluster up",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if o.Cluster.TLS.NoClientCertificate && o.Cluster.ClusterID != 0 {
					d.Outcome = action.QuorumLost
				}
				return d
			},
			config: secured(LackCertificates, LackCertificates),
			by:     []string{"S9", "QuorumLost"},
		},
		"clients sent to whoever has come back": {
			reason: "an operator without a client certificate does not wait until a Pod is ready, or was a voter's",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				for _, p := range o.Pods {
					if d.Action == nil && o.Cluster.TLS.NoClientCertificate && o.Cluster.ClusterID != 0 && !d.SkipChildren && p.Role == facts.Returning {
						d.Action = action.SetRoles{Roles: []action.PodRole{{Name: p.Name, UID: p.UID, Role: facts.Voter}}}
					}
				}
				return d
			},
			config: func(c *Config) {
				secured(LackCertificates, LackCertificates, LackCertificates, DeletePod, DeletePod)(c)
				c.Persistent = true
			},
			by: []string{"S9"},
		},
		"begun without certificates": {
			reason:  "nobody looks whether they are there",
			planner: lie(func(o *facts.Observation) { o.Cluster.TLS.Wanted = false }),
			config: func(c *Config) {
				secured(LackCertificates, SpoilCertificates)(c)
				c.Formed, c.TruthOnly = false, true
			},
			by: []string{certified},
		},
		"restarted without a Secret": {
			reason:  "that the Secret of members is gone is not looked at before one of them is ended",
			planner: lie(func(o *facts.Observation) { o.Cluster.TLS.Problem = "" }),
			config: func(c *Config) {
				secured(SpoilCertificates, SpoilCertificates, SpoilCertificates, AskRestart, AskRestart, RotateCA)(c)
				c.Persistent, c.TruthOnly = true, true
			},
			by: []string{"S6"},
		},
		"a trust that nobody hears of": {
			reason: "whom members are to trust is not reported once they run, so that none is restarted for it",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				if o.Cluster.Bootstrap != nil && o.Cluster.LastStatus.TLS != nil {
					d.Status.TLS = o.Cluster.LastStatus.TLS
				}
				return d
			},
			config: secured(RotateCA),
			by:     []string{liveness},
		},
		"members taken for restarted": {
			reason: "Pods are not compared with whom they were made to trust",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Template = o.Cluster.Template
				}
			}),
			config: secured(RotateCA),
			by:     []string{liveness},
		},
		"a new CA signs too early": {
			reason:  "certificates are of it before every member was restarted to trust it",
			planner: plan.Plan,
			config:  func(c *Config) { secured(RotateCA)(c); c.Planted = []Bug{EarlyLeaves} },
			by:      []string{trustKept},
		},
		"a new CA signs too early, by what comes of it": {
			reason:  "as above, found where members don't reach each other any more, and nobody is left to restart them",
			planner: plan.Plan,
			config: func(c *Config) {
				secured(RotateCA, KillContainer, KillContainer)(c)
				c.Planted, c.TruthOnly = []Bug{EarlyLeaves}, true
			},
			by:    []string{liveness},
			seeds: 3000,
		},
		"an old CA dropped too early": {
			reason:  "it is not trusted any more before members have loaded the certificates of the new one",
			planner: plan.Plan,
			config: func(c *Config) {
				secured(RotateCA, RotateCA, SilenceNode, SilenceNode, SilenceNode)(c)
				c.Planted = []Bug{EarlyDrop}
			},
			by: []string{trustKept},
		},
		"a corrupt member trusted": {
			reason: "the alarm is taken back, and the member that it names stays",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				a := reader(&o)
				if a == nil || d.SkipChildren {
					return d
				}
				for _, alarm := range a.Alarms {
					if alarm.Kind == facts.Corrupt {
						d.Action = action.DisarmAlarm{MemberID: alarm.MemberID, Alarm: alarm.Kind, Members: a.Members}
					}
				}
				return d
			},
			config: func(c *Config) { filling(CorruptMember, CorruptMember, CorruptSomebody)(c); c.TruthOnly = true },
			by:     []string{"Alarm"},
		},
		"a corrupt member kept": {
			reason:  "it is not removed",
			planner: without("RemoveMember"),
			config:  filling(CorruptMember, CorruptMember),
			by:      []string{liveness},
		},
		"who differs kept": {
			reason:  "what a comparison has shown is not recorded",
			planner: without("RecordConsistency"),
			config:  altering,
			by:      []string{liveness},
		},
		"data never compared": {
			reason:  "etcd itself notices nothing",
			planner: without("CompareData"),
			config:  altering,
			by:      []string{liveness},
		},
		"another one removed than differs": {
			reason: "a member of the majority is taken for the one that differs",
			planner: lie(func(o *facts.Observation) {
				if c := o.Comparison; c != nil && len(c.Differing) == 1 {
					wrong := *c
					i := slices.IndexFunc(c.Members, func(id uint64) bool { return id != c.Differing[0] })
					wrong.Differing = []uint64{c.Members[i]}
					o.Comparison = &wrong
				}
			}),
			config: func(c *Config) { altering(c); c.TruthOnly = true },
			by:     []string{"S9"},
		},
		"a majority called different": {
			reason: "all but one are removed, where no majority has the same data",
			planner: lie(func(o *facts.Observation) {
				if c := o.Comparison; c != nil && c.Result == v1beta2.ResultNoMajority {
					wrong := *c
					wrong.Result, wrong.Differing = v1beta2.ResultMemberDiffers, c.Members[1:]
					o.Comparison = &wrong
				}
			}),
			config: func(c *Config) { altering(c); c.Size = 3 },
			by:     []string{"Consistency", "S9"},
		},
		"two defragmented at once": {
			reason:  "a member that is being defragmented is taken for one that is done",
			planner: lie(pretendDefragmented),
			config:  func(c *Config) { filling()(c); c.TruthOnly = true },
			by:      []string{"S6"},
		},
		"the leader defragmented": {
			reason: "it is not asked to step aside",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				m, ok := d.Action.(action.TransferLeadership)
				if !ok {
					return d
				}
				for _, p := range o.Pods {
					if p.Name == m.From && p.Role == facts.Defragmenting {
						d.Action = action.Defragment{Name: p.Name, UID: p.UID, ID: p.Answer.MemberID, Members: list(&o)}
					}
				}
				return d
			},
			config: filling(),
			by:     []string{"S8"},
		},
		"a round that is never over": {
			reason: "which members are done is forgotten",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					if o.Pods[i].Role != facts.Defragmenting {
						o.Pods[i].Defragmented = facts.Defragmented{}
					}
				}
			}),
			config: func(c *Config) { filling()(c); c.AbovePercent = 30 },
			by:     []string{liveness},
		},
		"defragmenting late": {
			reason:  "act asks a member however long ago it has decided that: by then it may be another's turn",
			planner: plan.Plan,
			config: func(c *Config) {
				filling(SecondOperator, StallOperator, StallOperator, StallOperator, StallOperator)(c)
				c.Planted, c.TruthOnly = []Bug{NoDeadline}, true
			},
			by:    []string{"S6"},
			seeds: 20000,
		},
		"one look at an empty disk": {
			reason: "a launcher that has just begun to wait is believed",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Answer.Waited += time.Minute
				}
			}),
			config: func(c *Config) { c.Kinds = append(c.Kinds, WipeDisk, WipeDisk) },
			by:     []string{"S9", "S13"},
			seeds:  1000,
		},
		"too little memory taken for broken data": {
			reason: "a member that is killed whenever it starts is taken for one that ends by itself",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					if e := &o.Pods[i].LastExit; e.Reason == "OOMKilled" {
						*e = facts.Exit{Code: 2, Reason: "Error", Damage: "d"}
					}
				}
			}),
			config: func(c *Config) { spoiling(StarveMember)(c); c.TruthOnly = true },
			by:     []string{"S9"},
			seeds:  3000,
		},
		"a slow start taken for broken data": {
			reason: "one exit is enough",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					if p := &o.Pods[i]; p.LastExit.Code > 0 && !p.UnreadySince.IsZero() && p.Restarts > p.ProvenRestarts {
						p.Restarts, p.UnreadySince, p.Looping = p.ProvenRestarts+5, o.Now.Add(-time.Hour), true
						p.LastExit = facts.Exit{Code: 1, Reason: "Error", Damage: "d"}
					}
				}
			}),
			config: func(c *Config) { spoiling(KillContainer, HoldContainer)(c); c.TruthOnly = true },
			by:     []string{"S9"},
			seeds:  3000,
		},
		"broken data kept": {
			reason: "a member that crashes for ever is waited for",
			planner: lie(func(o *facts.Observation) {
				for i := range o.Pods {
					o.Pods[i].Restarts = o.Pods[i].ProvenRestarts
				}
			}),
			config: spoiling(CorruptDisk),
			by:     []string{liveness},
		},
		"damaged data that nobody is told to delete": {
			reason:  "Degraded does not name the member that crashes",
			planner: mute(v1beta2.ConditionDegraded),
			config:  spoiling(CorruptDisk),
			by:      []string{liveness},
			seeds:   3000,
		},
		"a database near its quota that nobody is told of": {
			reason:  "SpaceLow is not there",
			planner: unwarned,
			config:  trickling,
			by:      []string{space},
		},
		"a database near its quota that nobody is told of, by what comes of it": {
			reason:  "as above, found when etcd refuses writes",
			planner: unwarned,
			config:  func(c *Config) { trickling(c); c.TruthOnly = true },
			by:      []string{space},
		},
		"an empty volume that nobody is told to delete": {
			reason:  "a survivor's seed finds no place, and Degraded does not name the Pod that takes it",
			planner: keepingSilent(func(d *plan.Decision) bool { return d.DeleteEmpty != "" }),
			config: func(c *Config) {
				losingMany(c)
				c.Persistent, c.AntiAffinity, c.Nodes = true, true, c.Size
			},
			by:    []string{liveness},
			seeds: 6000,
		},
		"a member that nobody is told to remove": {
			reason:  "a quorum lacks one whose data differs, and Degraded does not name whom a person is to remove",
			planner: keepingSilent(func(d *plan.Decision) bool { return d.RemoveByHand != 0 }),
			config: func(c *Config) {
				altering(c)
				c.Kinds = append(c.Kinds, DeleteUserClaim, LoseMajority, LoseNode)
			},
			by:    []string{liveness},
			seeds: 6000,
		},
		"all volumes grown at once": {
			reason: "a volume counts as grown as soon as it was asked to",
			planner: func(o facts.Observation) plan.Decision {
				o.Claims = slices.Clone(o.Claims)
				for i := range o.Claims {
					o.Claims[i].Capacity = o.Claims[i].Requested
				}
				return plan.Plan(o)
			},
			config: func(c *Config) {
				spoiling(EditStorage, EditStorage)(c)
				c.Planted, c.TruthOnly = []Bug{NoLiveClaims}, true
			},
			by: []string{"S6"},
		},
		"volumes grown whoever is down": {
			reason: "nobody looks whether all is well",
			planner: func(o facts.Observation) plan.Decision {
				d := plan.Plan(o)
				for _, c := range o.Claims {
					if d.Action == nil && c.Requested < o.Cluster.Storage && len(list(&o)) > 0 {
						d.Action = action.GrowClaim{Name: c.Name, UID: c.UID, From: c.Requested, Size: o.Cluster.Storage}
					}
				}
				return d
			},
			config: spoiling(EditStorage, KillContainer, StopNode),
			by:     []string{"S6", "S12"},
		},
		"a fresh cluster over volumes that were kept": {
			reason: "an EtcdCluster begins whatever volumes of its name there are",
			planner: lie(func(o *facts.Observation) {
				o.Cluster.Existed, o.Cluster.AdoptVolumes, o.Retained = "", "", nil
			}),
			config: func(c *Config) {
				spoiling(Recreate, Recreate)(c)
				c.Planted, c.TruthOnly = []Bug{NoLiveClaims}, true
			},
			by: []string{"S1"},
		},
		"adopted volumes begun anew": {
			reason: "the beginning that is recorded for volumes that were adopted is taken for a seed's",
			planner: lie(func(o *facts.Observation) {
				if b := o.Cluster.Bootstrap; b != nil {
					o.Cluster.Bootstrap = &facts.Bootstrap{Member: b.Member, Token: b.Token}
				}
			}),
			config: func(c *Config) { spoiling(Recreate, Recreate, WipeDisk, WipeDisk)(c); c.Gentle = false },
			by:     []string{"S1", "S2"},
			seeds:  3000,
		},
		"volumes taken that nobody asked for": {
			reason:  "the annotation is not looked at",
			planner: lie(func(o *facts.Observation) { o.Cluster.AdoptVolumes = v1beta2.AdoptAny }),
			config:  func(c *Config) { spoiling(Recreate, Recreate)(c); c.TruthOnly = true },
			by:      []string{"S12"},
		},
		"constant flags, by what comes of it": {
			reason:  "as above, found where acknowledged writes are lost",
			planner: plan.Plan,
			config:  func(c *Config) { c.Planted, c.Faults = []Bug{EagerLauncher, TrustingLauncher}, 20 },
			by:      []string{history},
			seeds:   20000,
		},
	}
	caught := readCaught(t)
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			if r.rare && seeds(t) < manySeeds {
				t.Skipf("only with -seeds %d or more", manySeeds)
			}
			if r.seeds == 0 {
				r.seeds = 500
			}
			config := func(seed int64) Config {
				c := RandomConfig(seed)
				c.Faults, c.Only = max(c.Faults, 8), r.by
				if r.config != nil {
					r.config(&c)
				}
				return c
			}
			// The seed that caught it last is tried first: the search takes minutes for all.
			if seed, ok := caught[name]; ok && seed < int64(r.seeds) {
				if _, f := Run(config(seed), seed, r.planner); f != nil {
					if _, own := Run(config(seed), seed, plan.Plan); own != nil && config(seed).Planted == nil {
						t.Errorf("the planner itself fails there, too: %s", own)
					}
					t.Logf("%s: noticed by %s: %s", r.reason, f.Invariant, f.Message)
					return
				}
			}
			stats, failures := runSeeds(0, r.seeds, false, config, r.planner)
			if len(failures) == 0 {
				t.Fatalf("%s: not noticed in %d runs", r.reason, stats.Runs)
			}
			caught[name] = failures[0].Seed
			t.Logf("%s: noticed by %s after %d runs, with seed %d (-update notes that): %s", r.reason, failures[0].Invariant, stats.Runs, failures[0].Seed, failures[0].Message)
		})
	}
	unknown := func(name string, _ int64) bool { _, ok := rows[name]; return !ok }
	if *goldentest.Update {
		maps.DeleteFunc(caught, unknown)
		writeCaught(t, caught)
	}
	for name, seed := range caught {
		if unknown(name, seed) {
			t.Errorf("%s has %q, which is no planted bug: run this test with -update", caughtFile, name)
		}
	}
}

// caughtFile has the seed by which each planted bug was caught last. It saves time, and
// decides nothing: a bug that its seed no longer catches is searched for.
const caughtFile = "testdata/planted.json"

func readCaught(t *testing.T) map[string]int64 {
	t.Helper()
	caught := map[string]int64{}
	content, err := os.ReadFile(caughtFile)
	if err == nil {
		err = json.Unmarshal(content, &caught)
	}
	if err != nil && (!*goldentest.Update || !errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	return caught
}

func writeCaught(t *testing.T, caught map[string]int64) {
	t.Helper()
	content, err := json.MarshalIndent(caught, "", "\t")
	if err == nil {
		err = os.WriteFile(caughtFile, append(content, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lie is the planner that is told something else than what was observed.
func lie(change func(*facts.Observation)) Planner {
	return func(o facts.Observation) plan.Decision {
		o.Pods = slices.Clone(o.Pods)
		change(&o)
		return plan.Plan(o)
	}
}

// secured has clusters with TLS, and what befalls their certificates.
func secured(kinds ...FaultKind) func(*Config) {
	return func(c *Config) {
		c.TLS, c.Formed, c.Kinds, c.Faults = true, true, kinds, 20
	}
}

// withAuth has clusters on which authentication is enabled, and the operator nobody.
func withAuth(c *Config) {
	c.Formed = true
	c.Kinds = []FaultKind{EnableAuth, EnableAuth, LackCredentials, LackCredentials, EditSize, EditSize, KillContainer, DeletePod}
	c.Faults = 20
}

// takeForNew takes a cluster of which nobody answers for one that has not begun.
func takeForNew(o *facts.Observation) {
	if !anyAnswer(o) {
		o.Cluster.ClusterID, o.Pods, o.Claims = 0, nil, nil
	}
}

func anyAnswer(o *facts.Observation) bool {
	return slices.ContainsFunc(o.Pods, func(p facts.Pod) bool { return p.Answer.Reached })
}

// reader is an answer with a linearizable read; nil if there is none.
func reader(o *facts.Observation) *facts.Answer {
	for i := range o.Pods {
		if o.Pods[i].Answer.Read {
			return &o.Pods[i].Answer
		}
	}
	return nil
}

func list(o *facts.Observation) []facts.Member {
	if a := reader(o); a != nil {
		return a.Members
	}
	return nil
}

// pretendHealthy gives up to n voters the answer of a healthy one.
func pretendHealthy(o *facts.Observation, n int) {
	a := reader(o)
	if a == nil {
		return
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		for _, m := range a.Members {
			if m.Name == p.Name && !m.Learner && !p.Answer.Read && n > 0 {
				p.Answer = *a
				p.Answer.MemberID = m.ID
				n--
			}
		}
	}
}

// pretendLearners gives learners that do not answer the answer of one that has
// caught up.
func pretendLearners(o *facts.Observation) {
	a := reader(o)
	if a == nil {
		return
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		for _, m := range a.Members {
			if m.Name == p.Name && m.Learner && m.Started && !p.Answer.Reached {
				p.Answer = *a
				p.Answer.MemberID, p.Answer.Learner, p.Answer.Read, p.Answer.Members = m.ID, true, false, nil
			}
		}
	}
}

func newPermit(p *facts.Pod, b *facts.Bootstrap) action.GrantStartPermit {
	return action.GrantStartPermit{Name: p.Name, UID: p.UID, StartPermit: facts.StartPermit{
		Attempt: p.Answer.Attempt + 1, New: true, Members: []string{p.Name}, Token: b.Token,
	}}
}

// restartSeed is a planner for which `new` is a constant of the seed.
func restartSeed(o facts.Observation) plan.Decision {
	d := plan.Plan(o)
	if b := o.Cluster.Bootstrap; b != nil && !o.Cluster.Paused && !o.Cluster.Deleting {
		for i := range o.Pods {
			if p := &o.Pods[i]; p.Name == b.Member && p.Answer.Waiting {
				d.Action = newPermit(p, b)
			}
		}
	}
	return d
}

// restartMembers is a planner for which whoever is in the list may start.
func restartMembers(o facts.Observation) plan.Decision {
	d := plan.Plan(o)
	if o.Cluster.Paused || o.Cluster.Deleting {
		return d
	}
	var names []string
	for _, m := range list(&o) {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	for _, p := range o.Pods {
		if slices.Contains(names, p.Name) && p.Answer.Waiting && (p.StartPermit == nil || p.StartPermit.Attempt <= p.Answer.Attempt) {
			d.Action = action.GrantStartPermit{Name: p.Name, UID: p.UID, StartPermit: facts.StartPermit{Attempt: p.Answer.Attempt + 1, Members: names}}
		}
	}
	return d
}

// removal is the action that removes a member by name.
func removal(o *facts.Observation, name string) action.Action {
	for _, m := range list(o) {
		if m.Name == name {
			r := action.RemoveMember{ID: m.ID, Name: name, Members: list(o)}
			for i := range o.Pods {
				if o.Pods[i].Name == name {
					r.Pod = &o.Pods[i]
				}
			}
			return r
		}
	}
	return nil
}

// fewVotes has what leaves acknowledged writes with as few members as they can be
// with, and then empties the disk of one of these.
func fewVotes(c *Config) {
	c.TruthOnly, c.Formed, c.Gentle, c.Size, c.Persistent = true, true, true, 3, true
	c.Kinds = []FaultKind{SlowMember, SlowMember, StopNode, WipeDisk, WipeWhileDown, KillLeader, MoveAway, HoldContainer}
	c.Faults, c.AntiAffinity, c.Nodes = 20, true, 5
	c.Planted = []Bug{TrustingLauncher} // which would keep it out
}

// losingRecords has emptyDirs that are lost with the record of start permits in them, and what
// else matters.
func losingRecords(kinds ...FaultKind) func(*Config) {
	return func(c *Config) {
		c.Kinds = append([]FaultKind{WipeDisk, WipeDisk, WipeSeed, EditSize, EditSize, DeletePod}, kinds...)
		c.Faults, c.Persistent, c.Steps, c.Survive, c.Nodes = 20, false, 250, false, max(c.Nodes, c.Size+1)
	}
}

// shrinking has what moves the lead to a member that is about to leave.
func shrinking(c *Config) {
	c.Formed, c.Size, c.Nodes = true, 5, max(5, c.Nodes)
	c.Kinds = []FaultKind{EditSize, LeadLeaving, StallOperator, MoveAway}
}

// forgetting is the planner that does not carry out some of what it decides.
func forgetting(what func(*plan.Decision) bool) Planner {
	return func(o facts.Observation) plan.Decision {
		d := plan.Plan(o)
		if what(&d) {
			d.Action = nil
		}
		return d
	}
}

// mute is the planner whose condition of a type says nothing.
func mute(kind string) Planner {
	return func(o facts.Observation) plan.Decision {
		d := plan.Plan(o)
		if c := meta.FindStatusCondition(d.Status.Conditions, kind); c != nil {
			c.Message = ""
		}
		return d
	}
}

// keepingSilent is the planner whose Degraded says nothing with some decisions.
func keepingSilent(when func(*plan.Decision) bool) Planner {
	silent := mute(v1beta2.ConditionDegraded)
	return func(o facts.Observation) plan.Decision {
		if d := plan.Plan(o); !when(&d) {
			return d
		}
		return silent(o)
	}
}

// unwarned is the planner that warns nobody of a database that fills.
func unwarned(o facts.Observation) plan.Decision {
	d := plan.Plan(o)
	d.Status.Conditions = slices.DeleteFunc(d.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1beta2.ConditionSpaceLow })
	return d
}

// trickling has databases that fill slowly.
func trickling(c *Config) {
	c.Quota, c.Idle, c.Formed, c.Steps = 60, true, true, 250
	c.Kinds = []FaultKind{FillSlowly}
}

// reshaping has another shape of Pods wanted all the time, and what else matters.
func reshaping(kinds ...FaultKind) func(*Config) {
	return func(c *Config) {
		c.Kinds = append([]FaultKind{EditTemplate, EditTemplate, AskRestart}, kinds...)
		c.Faults, c.Formed, c.Steps, c.Size = 20, true, 250, max(3, c.Size)
		c.Nodes = max(c.Nodes, c.Size+1)
	}
}

// emptying has nodes that are to be emptied, and what else matters.
func emptying(kinds ...FaultKind) func(*Config) {
	return func(c *Config) {
		c.Kinds = append([]FaultKind{Cordon}, kinds...)
		c.Faults, c.Formed, c.Steps, c.NodesReadable = 4, true, 250, true
		c.Nodes = max(c.Nodes, c.Size+2)
	}
}

// pretendRecreated gives a member whose Pod is recreated the look of one that has come back.
func pretendRecreated(o *facts.Observation) {
	a := reader(o)
	if a == nil {
		return
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		for _, m := range a.Members {
			if m.Name == p.Name && !m.Learner && (p.Role == facts.Returning || !p.DeletingSince.IsZero()) {
				p.Answer = *a
				p.Answer.MemberID, p.DeletingSince, p.UnreadySince, p.ReadySince, p.Role = m.ID, time.Time{}, time.Time{}, time.Time{}, facts.Voter
				p.Template = o.Cluster.Template
			}
		}
	}
}

// pretendVolumes gives every member a volume.
func pretendVolumes(o *facts.Observation) {
	for i := range o.Pods {
		p := &o.Pods[i]
		if !p.Persistent {
			p.Persistent = true
			o.Claims = append(o.Claims, facts.Claim{Name: p.Name, UID: "v", Created: p.Created})
		}
	}
}

// changing has another version wanted all the time, and what else matters.
func changing(kinds ...FaultKind) func(*Config) {
	return func(c *Config) {
		c.Kinds = append([]FaultKind{EditVersion, EditVersion, EditVersion}, kinds...)
		c.Faults, c.Formed, c.Steps, c.Size = 20, true, 250, max(3, c.Size)
		c.Nodes = max(c.Nodes, c.Size)
	}
}

// filling has databases that fill, and the operator make room.
func filling(kinds ...FaultKind) func(*Config) {
	return func(c *Config) {
		c.Quota, c.Live, c.AutoRepair, c.Scheduled = 60, 1, true, true
		c.Kinds = append([]FaultKind{Fill, Fill, PassTime}, kinds...)
		c.Faults, c.Formed, c.Steps, c.Size = 20, true, 250, max(3, c.Size)
		c.Nodes = max(c.Nodes, c.Size)
	}
}

// requesting has users ask for rounds of defragmentations and for other leaders.
func requesting(c *Config) {
	c.Formed, c.Size, c.Gentle = true, max(3, c.Size), true
	c.Nodes = max(c.Nodes, c.Size)
	c.Kinds, c.Faults, c.Steps = []FaultKind{AskLeader, AskLeader, AskDefragment, KillContainer, PassTime}, 12, 250
}

// altering has clusters whose data is compared, and altered.
func altering(c *Config) {
	c.Compares, c.Formed, c.Size, c.Gentle = true, true, max(3, c.Size), true
	c.Nodes = max(c.Nodes, c.Size+1)
	c.Kinds, c.Faults, c.Steps = []FaultKind{AlterData, AlterData, PassTime, KillContainer}, 8, 250
}

// without is a planner that never takes an action of a kind.
func without(kind string) Planner {
	return func(o facts.Observation) plan.Decision {
		d := plan.Plan(o)
		if d.Action != nil && action.KindOf(d.Action) == kind {
			d.Action = nil
		}
		return d
	}
}

// pretendDefragmented gives a member that is being defragmented the look of one that is
// done.
func pretendDefragmented(o *facts.Observation) {
	a := reader(o)
	if a == nil {
		return
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		for _, m := range a.Members {
			if m.Name == p.Name && !p.Defragmented.Since.IsZero() {
				p.Answer = *a
				p.Answer.MemberID, p.Defragmented.Done, p.UnreadySince, p.ReadySince = m.ID, true, time.Time{}, time.Time{}
			}
		}
	}
}

// spoiling has volumes that break, grow or are left.
func spoiling(kinds ...FaultKind) func(*Config) {
	return func(c *Config) {
		c.Kinds, c.Faults, c.Formed, c.Persistent, c.Retain, c.Steps = kinds, 20, true, true, true, 250
		c.Size, c.Expansion = max(3, c.Size), growing
		c.Nodes = max(c.Nodes, c.Size)
	}
}

// pretendLowered lets members say something else while they are to go down a minor.
func pretendLowered(o *facts.Observation, change func(a *facts.Answer, to string)) {
	to := minorOf(o.Cluster.Target)
	if to == 0 || to >= minorOf(o.Cluster.Version) {
		return
	}
	for i := range o.Pods {
		change(&o.Pods[i].Answer, fmt.Sprintf("3.%d.0", to))
	}
}

// cancelAtOnce cancels a downgrade that is not wanted any more, whatever is under way.
func cancelAtOnce(o facts.Observation) plan.Decision {
	d := plan.Plan(o)
	if o.Cluster.Target != o.Cluster.Version || action.Records(d.Action) {
		return d
	}
	for i := range o.Pods {
		if o.Pods[i].From != "" && o.Pods[i].Answer.Downgrade != "" {
			d.Action = action.CancelDowngrade{}
		}
	}
	return d
}

// pretendRestarted gives a member that is being restarted the look of one that has been.
func pretendRestarted(o *facts.Observation) {
	a := reader(o)
	if a == nil {
		return
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		for _, m := range a.Members {
			if m.Name == p.Name && (p.From != "" || p.Role == facts.Restarting && p.Version == o.Cluster.Target) {
				p.Answer = *a
				p.Answer.MemberID, p.From, p.UnreadySince, p.ReadySince = m.ID, "", time.Time{}, time.Time{}
			}
		}
	}
}

// restoring has restores, and with them what else matters.
func restoring(kinds ...FaultKind) func(*Config) {
	return func(c *Config) {
		c.Kinds = append([]FaultKind{Restore, Restore}, kinds...)
		c.Faults = 20
	}
}

// takeByName hands over whatever Pod has the name that was handed over.
func takeByName(o *facts.Observation) {
	f := &o.Cluster.Fence
	name, _, ok := f.Offered()
	for _, p := range o.Pods {
		if ok && p.Name == name {
			f.Seeded = f.By + "/" + name + "/" + p.UID
		}
	}
}

// takeAlways takes what was handed over once for what is handed over.
func takeAlways(o *facts.Observation) {
	f := &o.Cluster.Fence
	if uid, _, ok := strings.Cut(f.Seeded, "/"); ok {
		f.By, f.Adopted, o.Cluster.ClusterID = uid, v1beta2.AdoptedSeed{}, 0
	}
}

// withoutChecks leaves out a precondition of act, where two operators with caches
// that lag stand still now and then.
func withoutChecks(bugs ...Bug) func(*Config) {
	return func(c *Config) {
		c.Planted = bugs
		c.Kinds = []FaultKind{
			SecondOperator, StallOperator, StallOperator, LagPods, LagStatus, LagClaims, CrashOperator,
			WipeDisk, DeletePod, ForceDeletePod, KillContainer, EditSize, StopNode, PassTime, WipeSeed,
		}
		c.Faults = 20
	}
}
