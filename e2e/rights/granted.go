package rights

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Right is one thing that somebody may do, or does.
type Right struct {
	// Group is the API group; empty is the core one.
	Group string
	// Resource is the plural, with the subresource after a slash where there is one.
	Resource string
	Verb     string
}

// String is for example "list jobs.batch", or "update etcdclusters/status.<group>".
func (r Right) String() string {
	if r.Group == "" {
		return r.Verb + " " + r.Resource
	}
	return r.Verb + " " + r.Resource + "." + r.Group
}

func compare(a, b Right) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
}

// Role is a Role or a ClusterRole, by its rules one by one.
type Role map[Right]bool

// Granted reads every Role and ClusterRole of what kustomize renders, by name. It is an
// error if one of them grants anything by a wildcard, several names of objects or a URL, or
// the same twice: the comparison would not know what to make of it. A right on one object
// counts as used when the Role has permitted it: to no other object would it have.
func Granted(rendered []byte) (map[string]Role, error) {
	roles := map[string]Role{}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(rendered), 4096)
	for {
		var role rbacv1.Role // a ClusterRole has the same rules
		switch err := documents.Decode(&role); {
		case errors.Is(err, io.EOF) && len(roles) == 0:
			return nil, errors.New("there is no Role")
		case errors.Is(err, io.EOF):
			return roles, nil
		case err != nil:
			return nil, err
		}
		if role.Kind != "Role" && role.Kind != "ClusterRole" {
			continue
		}
		if _, ok := roles[role.Name]; ok {
			return nil, fmt.Errorf("there are two Roles %s: give one of them another name, so that the audit log tells them apart", role.Name)
		}
		granted, err := rightsOf(role.Rules)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", role.Kind, role.Name, err)
		}
		roles[role.Name] = granted
	}
}

func rightsOf(rules []rbacv1.PolicyRule) (Role, error) {
	granted := Role{}
	for _, rule := range rules {
		if len(rule.ResourceNames) > 1 || len(rule.NonResourceURLs) > 0 {
			return nil, fmt.Errorf("a rule about %v names several objects or URLs, which nothing here counts", rule.Resources)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					right := Right{Group: group, Resource: resource, Verb: verb}
					switch {
					case strings.Contains(group+resource+verb, "*"):
						return nil, fmt.Errorf("%s: write out what the wildcard stands for", right)
					case granted[right]:
						return nil, fmt.Errorf("%s is granted twice", right)
					}
					granted[right] = true
				}
			}
		}
	}
	return granted, nil
}
