package observe

import (
	"context"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// progressTimeout is how long the agents of a restore may take together to tell their progress.
const progressTimeout = time.Second

// noteAgents notes where an agent runs.
func (obs *Observation) noteAgents(pods []corev1.Pod) {
	for i := range pods {
		if build.Works(&pods[i]) {
			obs.agents = append(obs.agents, pods[i].Status.PodIP)
		}
	}
}

// AskProgress is how far the agent is that runs now; nil if none tells.
func (obs *Observation) AskProgress(ctx context.Context) *task.Progress {
	ctx, cancel := context.WithTimeout(ctx, progressTimeout)
	defer cancel()
	for _, ip := range obs.agents {
		var p task.Progress
		if err := agentpod.Ask(ctx, agentpod.Asker(obs.network), net.JoinHostPort(ip, strconv.Itoa(task.ProgressPort)), task.ProgressPath, &p); err == nil {
			return &p
		}
	}
	return nil
}
