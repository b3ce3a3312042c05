// Package agents passes values between an operator and the agents in its Pods, for package roundtriptest.
package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// Task passes an agent's task through the environment of its container. The text must contain no dollar sign,
// because the kubelet would expand it as a variable.
func Task[T any](v T) (read T, err error) {
	env, err := agentpod.Environment("TASK", v, corev1.ResourceRequirements{})
	if err != nil {
		return read, err
	}
	if strings.Contains(env[0].Value, "$") {
		return read, fmt.Errorf("the kubelet expands $ in %s", env[0].Value)
	}
	return read, json.Unmarshal([]byte(env[0].Value), &read)
}

// Result returns a function that passes an agent's result through the termination message of its container.
func Result[T any](t *testing.T, failure func(*T) *agent.Failure) func(T) (T, error) {
	file := filepath.Join(t.TempDir(), "termination-log")
	reading := agentpod.Reading[T]{Failure: failure}
	return func(v T) (read T, err error) {
		if err := runner.Write(file, v); err != nil {
			return read, err
		}
		message, err := os.ReadFile(file)
		if err != nil {
			return read, err
		}
		r := reading.Result(&corev1.ContainerStateTerminated{Message: string(message), ExitCode: int32(failure(&v).ExitCode())})
		if r == nil {
			return read, fmt.Errorf("there is no result in %s", message)
		}
		return *r, nil
	}
}
