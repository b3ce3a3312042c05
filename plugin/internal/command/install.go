package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

const (
	// repository is where the manifests of branches are, in the folder deploy, and the files of releases.
	repository = "https://github.com/etcd-operators/etcd-operators"
	// downloads is in the URL of each file of a release, before the release's tag.
	downloads = "/releases/download/"
	// downloadTimeout and maxManifest bound the download of a file. It has some hundred KiB.
	downloadTimeout = time.Minute
	maxManifest     = 16 << 20
)

// installation are the flags of kubectl etcd install.
type installation struct {
	operators          []string
	source, ref        string
	registry, tag      string
	clusterWide, print bool
	force              bool
}

func (a *App) install() *cobra.Command {
	var i installation
	var c confirmation
	var w waiting
	cmd := &cobra.Command{
		Use: "install", Short: "Install or update the operators", Args: cobra.NoArgs, DisableFlagsInUseLine: true,
		Long: `Install or update the operators, with their CustomResourceDefinitions and Roles: for one namespace, or
for all. A released plugin installs the files of its release, which pin the images by digest. A branch
is installed from the folder deploy of the repository, as by kubectl and its flag -k; this needs git.
An installation by Helm is updated by Helm.`,
		Example: example("install -n databases", "install --cluster-wide --operators etcd-operator,etcd-backup-operator,etcd-restore-operator",
			"install --ref v1.2.3 --registry registry.example.com/etcd-operators",
			"install --source ./deploy --registry registry.example.com --tag dev", "install --print > operators.yaml"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			for _, name := range i.operators {
				if !slices.Contains(operatorNames, name) {
					return fmt.Errorf("--operators %s is not supported: set one or more of %s", name, strings.Join(operatorNames, ", "))
				}
			}
			access, err := a.Connect(false)
			if err != nil {
				return err
			}
			objects, err := i.build(ctx, access.Namespace)
			if err != nil {
				return err
			}
			if i.print {
				return a.printObjects(objects)
			}
			if err := errNoNamespace(ctx, access, objects); err != nil {
				return err
			}
			if err := a.confirm(c, "%s", i.plan(objects, access.Namespace)); err != nil {
				return err
			}
			if err := i.claim(ctx, access, objects); err != nil {
				return err
			}
			for _, o := range objects {
				if err := apply(ctx, access, o, client.ForceOwnership); err != nil {
					return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
				}
				fmt.Fprintf(a.ErrOut, "applied %s %s\n", o.GetKind(), o.GetName())
			}
			w.timedOut = errors.New("not ready yet: everything is applied, and the Deployments continue; the last line says what they wait for")
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return deployed(ctx, access, objects) }); err != nil || !w.wait {
				return err
			}
			fmt.Fprintf(a.Out, "%s: ready.\n", strings.Join(i.operators, ", "))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&i.operators, "operators", []string{"etcd-operator"}, "which operators: etcd-operator, etcd-backup-operator, etcd-restore-operator")
	f.BoolVar(&i.clusterWide, "cluster-wide", false, "for all namespaces, in the namespace etcd-operators: for the objects that have the annotation etcd.database.coreos.com/scope: clusterwide")
	f.StringVar(&i.source, "source", "", "the folder deploy of the repository, or a folder with a release's files: local, or a URL, which for a release has "+downloads+" in it; default: the project's, as --ref says")
	f.StringVar(&i.ref, "ref", cmp.Or(version.Release(), "main"), "a release, such as v1.2.3, or a branch; a released plugin takes its own release by default; not read if --source is local or has a release's files")
	f.StringVar(&i.registry, "registry", "", "the registry of the operators' images, in place of that of the manifests; tags and digests stay")
	f.StringVar(&i.tag, "tag", "", "the tag of the operators' images, in place of the manifests' tag and digest")
	f.BoolVar(&i.print, "print", false, "print the objects, and apply nothing")
	f.BoolVar(&i.force, "force-conflicts", false, "set also what another program than kubectl apply has set, such as Helm or a person with kubectl edit")
	complete(cmd, "operators", operatorList)
	c.addTo(cmd)
	w.addTo(cmd, 5*time.Minute)
	return cmd
}

// build makes the objects of all operators, each once.
func (i *installation) build(ctx context.Context, namespace string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, name := range i.operators {
		objects, err := i.buildOne(ctx, name, namespace)
		if err != nil {
			return nil, fmt.Errorf("build the manifests of %s from %s: %w", name, i.location(), err)
		}
		for _, o := range objects {
			isThere := slices.ContainsFunc(all, func(other *unstructured.Unstructured) bool {
				return other.GetKind() == o.GetKind() && other.GetName() == o.GetName() && other.GetNamespace() == o.GetNamespace()
			})
			if !isThere { // several have the same Namespace
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// buildOne makes the objects of one operator by an overlay, as kubectl kustomize does.
func (i *installation) buildOne(ctx context.Context, operator, namespace string) ([]*unstructured.Unstructured, error) {
	dir, err := os.MkdirTemp("", "kubectl-etcd-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	resource, err := i.resource(ctx, dir, operator)
	if err != nil {
		return nil, err
	}
	overlay := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{resource}}
	if !i.clusterWide {
		overlay["namespace"] = namespace
	}
	tag := cmp.Or(i.tag, i.releaseTag())
	if i.registry != "" || tag != "" {
		image := map[string]string{"name": "ghcr.io/etcd-operators/" + operator}
		if i.registry != "" {
			image["newName"] = strings.TrimSuffix(i.registry, "/") + "/" + operator
		}
		if tag != "" {
			image["newTag"] = tag
		}
		overlay["images"] = []any{image}
	}
	data, err := yaml.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), data, 0o600); err != nil {
		return nil, err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, r := range built.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// location is where the manifests are: the folder deploy, or one with the files of a release. It is a
// URL, or local.
func (i *installation) location() string {
	switch {
	case isURL(i.source):
		return strings.TrimSuffix(i.source, "/")
	case i.source != "":
		return i.source
	case version.IsReleaseTag(i.ref):
		return repository + downloads + i.ref
	}
	return repository + "/deploy"
}

func isURL(location string) bool { return strings.Contains(location, "://") }

// releaseTag is the tag of the images of the release whose folder deploy is taken; empty: it is of
// none. In the repository the manifests name the development build, also those of a release.
func (i *installation) releaseTag() string {
	if from := i.location(); isURL(from) && !strings.Contains(from, downloads) && version.IsReleaseTag(i.ref) {
		return i.ref
	}
	return ""
}

// resource is what an overlay in dir takes for an operator: its folder in deploy, or its file of a
// release, which is then in dir, too.
func (i *installation) resource(ctx context.Context, dir, operator string) (string, error) {
	from, folder, file := i.location(), operator, operator+".yaml"
	if i.clusterWide {
		folder, file = operator+"/cluster-wide", operator+"-cluster-wide.yaml"
	}
	var data []byte
	var err error
	switch {
	case isURL(from) && !strings.Contains(from, downloads):
		return from + "/" + folder + "?ref=" + i.ref, nil
	case isURL(from):
		data, err = download(ctx, from+"/"+file)
	case isFolder(filepath.Join(from, operator)):
		return relative(dir, filepath.Join(from, folder))
	default:
		data, err = os.ReadFile(filepath.Join(from, file))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s has neither the folder %s, as deploy has, nor the file %s of a release", from, operator, file)
		}
	}
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(filepath.Join(dir, file), data, 0o600)
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// relative is the path of a folder as an overlay in dir names it.
func relative(dir, folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	return filepath.Rel(dir, folder)
}

// download reads a file of a release. kustomize would take an address that does not answer for a
// repository, and ask git for it.
func download(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{CheckRedirect: staysEncrypted}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", url, response.Status)
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, maxManifest))
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", url, err)
	}
	return data, nil
}

// maxRedirects is Go's own limit.
const maxRedirects = 10

// staysEncrypted follows no redirect from https to http: what is downloaded grants rights.
func staysEncrypted(to *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && to.URL.Scheme != "https" {
		return fmt.Errorf("it redirects from https to %s", to.URL)
	}
	return nil
}

// plan says what is applied.
func (i *installation) plan(objects []*unstructured.Unstructured, namespace string) string {
	where := "for namespace " + namespace
	if i.clusterWide {
		where = "for all namespaces"
	}
	var lines []string
	for _, o := range objects {
		lines = append(lines, fmt.Sprintf("  %s %s", o.GetKind(), o.GetName()))
	}
	return fmt.Sprintf("This installs or updates %s %s, from %s:\n%s", strings.Join(i.operators, ", "), where, i.location(), strings.Join(lines, "\n"))
}

func (a *App) printObjects(objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "---\n%s", data)
	}
	return nil
}

// bySideApply is the manager of the fields that kubectl apply has set, without --server-side.
const bySideApply = "kubectl-client-side-apply"

// claim tries out to apply the objects that exist. It refuses if that would change what another
// program has set, such as Helm, or a person with kubectl edit. Nothing is changed.
func (i *installation) claim(ctx context.Context, access *kube.Access, objects []*unstructured.Unstructured) error {
	if i.force {
		return nil
	}
	var taken []string
	for _, o := range objects {
		there := &unstructured.Unstructured{}
		there.SetGroupVersionKind(o.GroupVersionKind())
		err := access.Get(ctx, client.ObjectKeyFromObject(o), there)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if err = apply(ctx, access, o, client.DryRunAll); err == nil {
			continue
		}
		var refused apierrors.APIStatus
		if !apierrors.IsConflict(err) || !errors.As(err, &refused) || refused.Status().Details == nil {
			return fmt.Errorf("try to apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		for _, cause := range refused.Status().Details.Causes {
			if cause.Type == metav1.CauseTypeFieldManagerConflict && !strings.Contains(cause.Message, strconv.Quote(bySideApply)) {
				taken = append(taken, fmt.Sprintf("  %s %s: %s: %s", o.GetKind(), o.GetName(), cause.Field, cause.Message))
			}
		}
	}
	if len(taken) > 0 {
		return fmt.Errorf("nothing was changed: another program has set other values, and would set them again; update the operators with that program, or add --force-conflicts:\n%s", strings.Join(taken, "\n"))
	}
	return nil
}

// errNoNamespace says that a namespace is missing into which the objects go, before some are applied.
func errNoNamespace(ctx context.Context, access *kube.Access, objects []*unstructured.Unstructured) error {
	var known []string
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			known = append(known, o.GetName())
		}
	}
	for _, o := range objects {
		name := o.GetNamespace()
		if name == "" || slices.Contains(known, name) {
			continue
		}
		err := access.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("nothing was changed, because namespace %s does not exist: run \"kubectl create namespace %s\" first", name, name)
		}
		known = append(known, name) // who may not read it may have the right to create objects in it
	}
	return nil
}

func apply(ctx context.Context, access *kube.Access, o *unstructured.Unstructured, options ...client.ApplyOption) error {
	return access.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), append(options, client.FieldOwner(kube.FieldOwner))...)
}

// deployed tells how many of the operators' Deployments are ready.
func deployed(ctx context.Context, access *kube.Access, objects []*unstructured.Unstructured) (string, bool, error) {
	var waits []string
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		d := &appsv1.Deployment{}
		if err := access.Get(ctx, client.ObjectKeyFromObject(o), d); err != nil {
			return "", false, fmt.Errorf("read Deployment %s: %w", o.GetName(), err)
		}
		wanted := int32(1)
		if d.Spec.Replicas != nil {
			wanted = *d.Spec.Replicas
		}
		if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < wanted || d.Status.AvailableReplicas < wanted {
			waits = append(waits, fmt.Sprintf("Deployment %s: %d of %d replicas are ready%s", d.Name, d.Status.AvailableReplicas, wanted, hindrance(ctx, access, d)))
		}
	}
	return strings.Join(waits, "; "), len(waits) == 0, nil
}

// hindrance is what keeps a container of a Deployment from running, such as an image that cannot be
// pulled, as it continues a sentence; empty if nothing is known of any.
func hindrance(ctx context.Context, access *kube.Access, d *appsv1.Deployment) string {
	if d.Spec.Selector == nil {
		return ""
	}
	list := &corev1.PodList{}
	if err := access.List(ctx, list, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return ""
	}
	for _, p := range list.Items {
		for _, s := range p.Status.ContainerStatuses {
			if w := s.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
				return fmt.Sprintf(" (Pod %s: %s: %s)", p.Name, w.Reason, w.Message)
			}
		}
	}
	return ""
}
