package agentpod

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Environment is that of an agent's container: its task, as JSON in the variable name,
// how much memory it may take, and what the user's policy adds. Nothing of the user's
// replaces a variable of ours, or refers to one.
func Environment(name string, task any, resources corev1.ResourceRequirements, extra ...v1beta2.AgentEnv) ([]corev1.EnvVar, error) {
	t, err := json.Marshal(task)
	if err != nil {
		return nil, fmt.Errorf("write the agent's task: %w", err)
	}
	// Kubernetes would take $(NAME) for a variable, and $$ for one dollar sign.
	value := strings.ReplaceAll(string(t), "$", `\u0024`)
	env := []corev1.EnvVar{{Name: name, Value: value}}
	if limit := resources.Limits.Memory(); !limit.IsZero() {
		// Below the limit, so that the garbage collector works harder before the
		// kernel kills.
		env = append(env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: strconv.FormatInt(limit.Value()/4*3, 10)})
	}
	ours := len(env)
	for _, e := range extra {
		if !slices.ContainsFunc(env[:ours], func(o corev1.EnvVar) bool { return o.Name == e.Name }) {
			env = append(env, corev1.EnvVar{Name: e.Name, Value: strings.ReplaceAll(e.Value, "$", "$$")})
		}
	}
	return env, nil
}
