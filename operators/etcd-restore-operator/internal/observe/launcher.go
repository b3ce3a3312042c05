package observe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// AskLauncher settles whether the launcher of a seed that is prepared lacks the start permit
// alone. That its container runs does not show it: one that exits runs for a moment, again
// and again. Of a seed without a permit that does not serve it settles whether it has
// never started, or its data is gone: with data, a launcher asks for no permit.
func AskLauncher(ctx context.Context, network http.RoundTripper, pod *corev1.Pod, seen *plan.Pod) {
	if !seen.Seed || !seen.Prepared || !seen.Launched || seen.Ready || seen.Permit == plan.PermitToStart {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, progressTimeout)
	defer cancel()
	said, err := launcher.Ask(ctx, agentpod.Asker(network), net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(member.MetricsPort)))
	waits := err == nil && said.State == launcher.Waiting && said.PodUID == string(pod.UID)
	if seen.Permit == plan.PermitNone {
		seen.Unstarted = waits && said.Reason == launcher.ReasonNoPermit // it has what it was to start with
		seen.Emptied = waits && !seen.Unstarted
		return
	}
	seen.Launched = waits && said.Reason == launcher.ReasonNoPermit
	switch {
	case seen.Launched:
	case err == nil && said.PodUID == string(pod.UID):
		seen.Waiting = said.Message
	case errors.Is(err, launcher.ErrNotWaiting):
		seen.Waiting = "its launcher is of another version than the operator"
	}
}
