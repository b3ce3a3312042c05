package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// This file is about the EtcdCluster that a restore creates where there is none to copy.

// template are the flags that describe an EtcdCluster.
type template struct {
	file    string
	size    int
	version string
	// created is the EtcdCluster that the flags describe, without a name; nil if they describe none.
	created *v1beta2.EtcdCluster
}

// fromStdin is the file that stands for the standard input.
const fromStdin = "-"

func (t *template) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.file, "template", "", "file of an EtcdCluster manifest: the new EtcdCluster gets its spec, if the cluster no longer exists or with --into; - reads standard input and needs --yes")
	f.IntVar(&t.size, "size", 0, "number of members of the new EtcdCluster, without volumes and TLS, if the cluster no longer exists; needs --version")
	f.StringVar(&t.version, "version", "", "etcd version of the new EtcdCluster, for --size: the version of the backup, or the next minor version")
	_ = cmd.MarkFlagFilename("template", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("size", cobra.FixedCompletions([]cobra.Completion{"1", "3", "5"}, cobra.ShellCompDirectiveNoFileComp))
}

// isMinimal reports whether it is described by a size and a version.
func (t *template) isMinimal() bool { return t.size != 0 || t.version != "" }

// read builds the EtcdCluster that the flags describe, if any.
func (t *template) read(in io.Reader) error {
	c := &v1beta2.EtcdCluster{}
	switch {
	case t.file == "" && !t.isMinimal():
		return nil
	case t.file != "" && t.isMinimal():
		return errors.New("--template must not be set together with --size and --version: remove --template, or both of the others")
	case t.file == "" && (t.size == 0 || t.version == ""):
		return errors.New("set both --size and --version, such as --size 3 --version 3.6.16")
	case t.file == "":
		c.Spec = v1beta2.ClusterSpec{Size: t.size, Version: strings.TrimPrefix(t.version, "v")}
		t.created = c
		return nil
	}
	manifest, err := t.manifest(in)
	if err != nil {
		return fmt.Errorf("--template %s: %w", t.file, err)
	}
	c.Spec, c.Labels, c.Annotations = manifest.Spec, manifest.Labels, manifest.Annotations
	// The operators refuse what is theirs alone.
	isOurs := func(key, _ string) bool {
		return strings.HasPrefix(key, v1beta2.GroupName+"/") && key != v1beta2.AnnotationScope || key == corev1.LastAppliedConfigAnnotation
	}
	maps.DeleteFunc(c.Labels, isOurs)
	maps.DeleteFunc(c.Annotations, isOurs)
	c.Spec.Paused = false // a restore waits until it is
	t.created = c
	return nil
}

// manifest is the EtcdCluster of the file. Other objects in it are passed over.
func (t *template) manifest(in io.Reader) (*v1beta2.EtcdCluster, error) {
	var data []byte
	var err error
	if t.file == fromStdin {
		data, err = io.ReadAll(in)
	} else {
		data, err = os.ReadFile(t.file)
	}
	if err != nil {
		return nil, err
	}
	var found *v1beta2.EtcdCluster
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		kind := metav1.TypeMeta{}
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, err
		}
		if kind.Kind == "List" {
			return nil, errors.New("it has a List: name the EtcdCluster when you get it, such as kubectl get etcd example -o yaml")
		}
		if kind.Kind != "EtcdCluster" || kind.GroupVersionKind().Group != v1beta2.GroupName {
			continue
		}
		if found != nil {
			return nil, errors.New("it has several EtcdClusters: keep one")
		}
		found = &v1beta2.EtcdCluster{}
		if err := yaml.UnmarshalStrict(document, found); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, fmt.Errorf("it has no EtcdCluster of %s", v1beta2.GroupVersion)
	}
	return found, nil
}

// openToRestore reads the cluster to restore. Where it is gone, the scene has the EtcdCluster that the
// flags describe, and the error says which flags are needed.
func (a *App) openToRestore(ctx context.Context, name string, t *target) (*scene, error) {
	s, err := a.open(ctx, name)
	if t.isGone = apierrors.IsNotFound(err); err != nil && !t.isGone {
		return nil, err
	}
	if t.isGone {
		access, err := a.Connect(false)
		if err != nil {
			return nil, err
		}
		s = &scene{Access: access, cluster: &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: access.Namespace, Name: name}}}
	}
	if t.created = t.template.created; t.created != nil {
		t.created.Namespace, t.created.Name = s.Namespace, name
	}
	switch {
	case t.isGone && t.created == nil:
		return nil, errGone(ctx, s, t.from)
	case t.isGone:
		s.cluster = t.created
	case t.template.isMinimal():
		return nil, fmt.Errorf("%s exists, and --size and --version are only for a cluster that no longer exists: set --into NAME to create another EtcdCluster, and --template FILE to give it another spec", s.title())
	case t.created != nil && t.into == "":
		return nil, fmt.Errorf("%s exists, and a restore does not change its spec: remove --template, or set --into NAME to create another EtcdCluster", s.title())
	}
	return s, nil
}

// errGone says what to give for a cluster that is gone.
func errGone(ctx context.Context, s *scene, from string) error {
	left, _ := s.leftVolumes(ctx) // told where they can be listed
	b, err := chooseBackup(ctx, s, from, false)
	if err != nil && len(left) == 0 {
		return fmt.Errorf("%s does not exist, and there is no backup to create it from: %w; run \"%s list -A\" to see all EtcdClusters", s.title(), err, Name)
	}
	text := s.title() + " does not exist"
	if err == nil {
		version := b.Status.EtcdVersion
		if r := newestGood(b); r != nil && r.EtcdVersion != "" {
			version = r.EtcdVersion
		}
		if version == "" {
			version = "V"
		}
		text += fmt.Sprintf(": to create it from EtcdBackup %s, add --template FILE with its manifest, or --size N --version %s for one without volumes and TLS", b.Name, version)
	}
	if len(left) > 0 {
		text += ". " + adoptInstead(s, left)
	}
	return errors.New(text)
}

// adoptInstead says that volumes are left, and how to continue with them.
func adoptInstead(s *scene, left []corev1.PersistentVolumeClaim) string {
	var names []string
	for _, v := range left {
		names = append(names, v.Name)
	}
	return fmt.Sprintf("PVCs of an earlier EtcdCluster %s are left, and can hold newer data than a backup: %s. To continue with them, create the EtcdCluster from its manifest, and run %s adopt-volumes %s",
		s.cluster.Name, strings.Join(names, ", "), Name, s.cluster.Name)
}

// clusterTemplate is the part of an EtcdRestore that creates an EtcdCluster.
func clusterTemplate(c *v1beta2.EtcdCluster) *v1beta2.ClusterTemplate {
	return &v1beta2.ClusterTemplate{Metadata: v1beta2.TemplateMetadata{Labels: c.Labels, Annotations: c.Annotations}, Spec: c.Spec}
}

// createdNotes are what to know of an EtcdCluster that is created with its own spec, under that name.
func (t *target) createdNotes(ctx context.Context, s *scene, name string) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	c := t.created.DeepCopy()
	c.Name = name
	members := "with the spec of " + t.template.file
	switch {
	case t.template.isMinimal():
		members = "without volumes, so that a lost Pod is a lost member, and without TLS, so that clients with certificates cannot connect"
	case t.template.file == fromStdin:
		members = "with the spec of the standard input"
	}
	note("It has the size %d and etcd %s, %s.", c.Spec.Size, c.Spec.EtcdVersion(), members)
	isMissing := func(secret string) bool {
		return secret != "" && apierrors.IsNotFound(s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: secret}, &corev1.Secret{}))
	}
	if isMissing(c.CATLSSecret()) {
		note("Secret %s does not exist: the operator makes a new CA, and clients must trust that, with certificates of it.", c.CATLSSecret())
	}
	named := []string{}
	if c.Spec.Issued() == nil {
		named = append(named, c.PeerTLSSecret(), c.ServerTLSSecret(), c.OperatorTLSSecret())
	}
	if c.Spec.Auth != nil {
		named = append(named, c.Spec.Auth.RootSecret)
	}
	for _, secret := range named {
		if isMissing(secret) {
			note("Secret %s, which the spec names, does not exist: create it, or the cluster cannot be restored.", secret)
		}
	}
	if !t.isGone || name != s.cluster.Name {
		return notes
	}
	switch left, err := s.leftVolumes(ctx); {
	case err != nil:
		note("Whether volumes of the earlier EtcdCluster are left is not known: %v.", err)
	case len(left) > 0:
		note("%s. The restore does not touch them.", adoptInstead(s, left))
	}
	return notes
}

// errTaken says that a new EtcdCluster cannot have the name; nil if it can.
func errTaken(ctx context.Context, s *scene, name string) error {
	key := client.ObjectKey{Namespace: s.Namespace, Name: name}
	if err := s.Get(ctx, key, &v1beta2.EtcdCluster{}); err == nil {
		return fmt.Errorf("EtcdCluster %s already exists: set --into to another name", name)
	}
	if err := s.Get(ctx, key, &v1beta2.EtcdRestore{}); err == nil {
		return fmt.Errorf("EtcdRestore %s already exists, and the new EtcdCluster needs an EtcdRestore of the same name: if that EtcdRestore has finished, run \"kubectl delete etcdrs %s -n %s\"; otherwise set --into to another name", name, name, s.Namespace)
	}
	return nil
}
