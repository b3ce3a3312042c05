package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/deploy"
)

// The files that an operator's rights are in, in its folder.
const (
	roleFile  = "role.yaml"
	leaseFile = "leader-election.yaml"
)

// right is one that an operator needs: a verb on a resource, in a namespace or in all.
type right struct {
	verb, group, resource, namespace string
	// file of deploy/ grants it.
	file string
}

// rights are those that an operator needs and was not seen to have.
type rights []right

// rights are what the shipped Roles of the operator grant, but for what it can do without.
func (o *Options) rights(optional []string) (rights, error) {
	files := map[string]string{roleFile: o.Namespace}
	if o.ClusterWide {
		files[roleFile] = "" // in every namespace
	}
	if o.LeaderElect {
		files[leaseFile] = o.Namespace
	}
	var all rights
	for _, file := range []string{roleFile, leaseFile} {
		namespace, ok := files[file]
		if !ok {
			continue
		}
		granted, err := grantedBy(o.Name, file, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, granted...)
	}
	return slices.DeleteFunc(all, func(r right) bool { return slices.Contains(optional, r.resource) }), nil
}

// grantedBy reads the Role in an embedded manifest.
func grantedBy(operator, file, namespace string) (rights, error) {
	manifest, err := deploy.Roles.ReadFile(path.Join(operator, "base", file))
	if err != nil {
		return nil, fmt.Errorf("read the embedded Role of %s: %w", operator, err)
	}
	var all rights
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		var role rbacv1.Role
		err := documents.Decode(&role)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the embedded %s of %s: %w", file, operator, err)
		}
		if role.Kind != "Role" {
			continue
		}
		for _, rule := range role.Rules {
			all = append(all, expand(rule, namespace, path.Join("deploy", operator, "base", file))...)
		}
	}
}

// expand writes out what a rule grants.
func expand(rule rbacv1.PolicyRule, namespace, file string) rights {
	var all rights
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all = append(all, right{verb: verb, group: group, resource: resource, namespace: namespace, file: file})
			}
		}
	}
	return all
}

// check asks for each right, and forgets those that the operator has. The error names the
// others. The API server answers every account about itself.
func (r *rights) check(ctx context.Context, c client.Client) error {
	var missing rights
	for _, one := range *r {
		review := one.review()
		if err := c.Create(ctx, review); err != nil {
			return fmt.Errorf("ask for the operator's permissions: %w", err)
		}
		if !review.Status.Allowed {
			missing = append(missing, one)
		}
	}
	*r = missing
	return missing.err()
}

func (r right) review() *authorizationv1.SelfSubjectAccessReview {
	resource, subresource, _ := strings.Cut(r.resource, "/")
	return &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.namespace, Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource,
		},
	}}
}

// err names the rights, by namespace and resource, and the files that grant them. It is
// nil for none.
func (r rights) err() error {
	if len(r) == 0 {
		return nil
	}
	var text, files []string
	for i, verbs := 0, []string(nil); i < len(r); i++ {
		verbs = append(verbs, r[i].verb)
		if i+1 < len(r) && r[i+1].object() == r[i].object() {
			continue
		}
		text = append(text, strings.Join(verbs, ", ")+" "+r[i].object())
		verbs = nil
		if !slices.Contains(files, r[i].file) {
			files = append(files, r[i].file)
		}
	}
	return fmt.Errorf("missing permissions: %s; apply %s, and bind it to the operator's ServiceAccount", strings.Join(text, "; "), strings.Join(files, " and "))
}

// object is what the right is about, such as "leases.coordination.k8s.io in namespace x".
func (r right) object() string {
	name := r.resource
	if r.group != "" {
		name += "." + r.group
	}
	if r.namespace == "" {
		return name + " in all namespaces"
	}
	return name + " in namespace " + r.namespace
}
