package command

import (
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/plugin/internal/consumer"
	"github.com/etcd-operators/etcd-operators/shared/plaintext"
)

func (a *App) connect() *cobra.Command {
	var kind, secretFor string
	var settings consumer.Settings
	cmd := a.of("connect CLUSTER", "Write the configuration by which an application reaches a cluster",
		`Write the configuration by which an application reaches a cluster: variables of the environment, the
flags of kube-apiserver, or the exact configuration of kamaji, kubeadm, patroni, apisix or vcluster.`,
		examples("connect example", "connect example -o kubeadm --endpoint https://etcd.example.com:2379", "connect example -o vcluster", "connect example --secret-for team-a | kubectl apply -f -"),
		func(cmd *cobra.Command, args []string) error {
			if err := settings.Check(kind); err != nil {
				return err
			}
			s, err := a.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if secretFor != "" {
				return a.copySecret(cmd, s, secretFor)
			}
			text, err := consumer.Config(s.cluster, kind, settings)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Out, text)
			return err
		}, cobra.ExactArgs(1))
	f := cmd.Flags()
	f.StringVarP(&kind, "output", "o", "env", "for whom: env, kubernetes, kamaji, kubeadm, patroni, apisix or vcluster")
	f.StringVar(&settings.Mount, "mount", "", "the folder in which the application has the files of the Secret (default /etc/etcd-tls)")
	f.StringVar(&settings.Endpoint, "endpoint", "", "the URL of the cluster, for an application outside of Kubernetes")
	f.StringVar(&secretFor, "secret-for", "", "write the Secret with the applications' certificate, for this namespace, with its key in clear text")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(completions(consumer.Kinds), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// copySecret writes the Secret with the applications' certificate for another namespace.
func (a *App) copySecret(cmd *cobra.Command, s *scene, namespace string) error {
	name := s.cluster.ClientTLSSecret()
	if name == "" {
		return fmt.Errorf("%s has no certificate for applications, because neither spec.TLS.auto nor spec.TLS.certManager is set", s.title())
	}
	secret := &corev1.Secret{}
	if err := s.Get(cmd.Context(), client.ObjectKey{Namespace: s.Namespace, Name: name}, secret); err != nil {
		return fmt.Errorf("read Secret %s: %w", name, err)
	}
	data, err := yaml.Marshal(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Type:       secret.Type, Data: secret.Data,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "# A copy of Secret %s/%s. It is not updated when the certificate is renewed: copy the Secret again then.\n%s", s.Namespace, plaintext.Line(name), data)
	return nil
}
