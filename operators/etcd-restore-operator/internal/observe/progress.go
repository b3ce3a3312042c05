package observe

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

const (
	// progressTimeout is how long an agent may take to tell its progress; it is not
	// worth more.
	progressTimeout = time.Second
	// maxProgress is the longest answer, in bytes, that is read.
	maxProgress = 1 << 10
)

// teller asks what runs in Pods. It keeps no connections: they live for a moment.
func teller(network http.RoundTripper) *http.Client {
	if network == nil {
		network = theNetwork
	}
	return &http.Client{
		Timeout:   progressTimeout,
		Transport: network,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // an agent never redirects
		},
	}
}

var theNetwork = &http.Transport{DisableKeepAlives: true}

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
		if p, err := progressOf(ctx, teller(obs.network), net.JoinHostPort(ip, strconv.Itoa(task.ProgressPort))); err == nil {
			return p
		}
	}
	return nil
}

func progressOf(ctx context.Context, c *http.Client, address string) (*task.Progress, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+task.ProgressPath, nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // only read
	var p task.Progress
	return &p, json.NewDecoder(io.LimitReader(answer.Body, maxProgress)).Decode(&p)
}
