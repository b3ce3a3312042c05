package agentpod

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Environment is that of an agent's container: its task, as JSON in the variable name,
// and how much memory it may take.
func Environment(name string, task any, resources corev1.ResourceRequirements) ([]corev1.EnvVar, error) {
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
	return env, nil
}
