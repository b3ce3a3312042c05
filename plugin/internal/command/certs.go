package command

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
)

func (a *App) certs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "certs", Short: "See, renew and replace the certificates of a cluster",
		Long: "See, renew and replace the certificates of a cluster.", Example: example("certs status example"),
	}
	cmd.AddCommand(a.certsStatus(), a.certsRenew(), a.certsRotate())
	return cmd
}

// Certificate is one of a cluster's, as far as it can be read.
type Certificate struct {
	Secret   string       `json:"secret"`
	Use      string       `json:"use"`
	Subject  string       `json:"subject,omitempty"`
	Issuer   string       `json:"issuer,omitempty"`
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// Trouble says why it cannot be shown.
	Trouble string `json:"trouble,omitempty"`
}

func (a *App) certsStatus() *cobra.Command {
	var o output
	cmd := a.of("status CLUSTER", "Show the certificates of a cluster and when they expire",
		"Show the certificates of a cluster and when they expire. It reads the Secrets that hold them, and shows no key.",
		examples("certs status example"), func(cmd *cobra.Command, args []string) error {
			s, err := a.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !s.cluster.UsesTLS() {
				return fmt.Errorf("%s does not use TLS, so it has no certificates: set spec.TLS when you create a cluster", s.title())
			}
			certificates := s.certificates(cmd.Context())
			return a.print(o, certificates, func(f screen.Format) error {
				t := &screen.Table{Columns: []string{"Secret", "Use", "Subject", "Issuer", "Expires", "In"}}
				for _, c := range certificates {
					row := []string{c.Secret, c.Use, c.Subject, c.Issuer, "", ""}
					if c.NotAfter != nil {
						row[4], row[5] = c.NotAfter.UTC().Format(time.DateTime), screen.Age(c.NotAfter.Time, a.Now())
						if c.NotAfter.Time.Before(a.Now()) {
							row[5] = "expired"
						}
					}
					if c.Trouble != "" {
						row[2] = c.Trouble
					}
					t.Add(row...)
				}
				if err := t.Print(a.Out, f); err != nil {
					return err
				}
				fmt.Fprintf(a.Out, "\n%s\n", s.condition(v1beta2.ConditionCertificatesReady))
				return nil
			})
		}, cobra.ExactArgs(1))
	o.addTo(cmd)
	return cmd
}

// certificates are those of the cluster's Secrets.
func (s *scene) certificates(ctx context.Context) []Certificate {
	var all []Certificate
	for _, of := range []struct{ secret, use, legacy string }{
		{s.cluster.PeerTLSSecret(), "members among each other", "peer.crt"},
		{s.cluster.ServerTLSSecret(), "members, to clients", "server.crt"},
		{s.cluster.OperatorTLSSecret(), "operators and backups", "etcd-client.crt"},
		{s.cluster.ClientTLSSecret(), "applications", ""},
		{s.cluster.CATLSSecret(), "CA", ""},
	} {
		if of.secret == "" {
			continue
		}
		c := Certificate{Secret: of.secret, Use: of.use}
		secret := &corev1.Secret{}
		if err := s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: of.secret}, secret); err != nil {
			c.Trouble = err.Error()
		} else if err := c.read(secret, of.legacy); err != nil {
			c.Trouble = err.Error()
		}
		all = append(all, c)
	}
	return all
}

// read takes over what a Secret's certificate says.
func (c *Certificate) read(secret *corev1.Secret, legacy string) error {
	data, ok := secret.Data[corev1.TLSCertKey]
	if !ok {
		data = secret.Data[legacy]
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return fmt.Errorf("it has no certificate in PEM under %s", corev1.TLSCertKey)
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	c.Subject, c.Issuer, c.NotAfter = parsed.Subject.CommonName, parsed.Issuer.CommonName, &metav1.Time{Time: parsed.NotAfter}
	return nil
}

func (a *App) certsRenew() *cobra.Command {
	var w waiting
	cmd := a.of("renew CLUSTER", "Have all certificates of a cluster issued anew",
		`Have all certificates of a cluster issued anew, by the operator or by cert-manager. Nothing restarts:
etcd reads them again. The wait needs the right to get the Secrets that hold them.`,
		examples("certs renew example", "certs renew example --wait=false"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			if err := s.errPaused(); err != nil {
				return err
			}
			if s.cluster.Spec.Issued() == nil {
				return fmt.Errorf("no certificates are issued for %s: renew those in your Secrets yourself", s.title())
			}
			asked := a.stamp()
			if err := s.annotate(ctx, v1beta2.AnnotationRenew, asked); err != nil {
				return err
			}
			w.unseen = s.unmoved()
			fmt.Fprintf(a.Out, "Asked for new certificates of %s. See them with: %s certs status %s\n", s.title(), Name, s.cluster.Name)
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return s.renewed(ctx, asked) }); err != nil || !w.wait {
				return err
			}
			fmt.Fprintf(a.Out, "The Secrets of %s have new certificates. Kubelets deliver them to the members within a minute or two.\n", s.title())
			return nil
		}, cobra.ExactArgs(1))
	w.addTo(cmd, reconcileWait)
	return cmd
}

// renewed tells how far a renewal is: done when each Secret has the certificate that was asked for,
// as the operator notes on it.
func (s *scene) renewed(ctx context.Context, asked string) (string, bool, error) {
	if err := s.refresh(ctx); err != nil {
		return "", false, err
	}
	names := []string{s.cluster.PeerTLSSecret(), s.cluster.ServerTLSSecret(), s.cluster.OperatorTLSSecret(), s.cluster.ClientTLSSecret()}
	fresh := 0
	for _, name := range names {
		secret := &corev1.Secret{}
		if err := s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, secret); client.IgnoreNotFound(err) != nil {
			return "", false, fmt.Errorf("cannot see whether Secret %s has a new certificate, for which you need the right to get it: %w", name, err)
		}
		if secret.Annotations[v1beta2.AnnotationRenew] == asked {
			fresh++
		}
	}
	return fmt.Sprintf("%d of %d Secrets have new certificates; %s", fresh, len(names), s.condition(v1beta2.ConditionCertificatesReady)), fresh == len(names), nil
}

// restartsWait is what the replacement of a CA may take besides TLS.auto.caOverlap: the restarts of all
// members before and after it.
const restartsWait = time.Hour

func (a *App) certsRotate() *cobra.Command {
	var w waiting
	var c confirmation
	cmd := a.of("rotate-ca CLUSTER", "Replace the CA of a cluster",
		`Replace the CA of a cluster with TLS.auto. Members are restarted one at a time so that they trust
both CAs, all certificates are issued by the new one, and after TLS.auto.caOverlap (24h by default)
members are restarted once more, and trust the new one only. Ctrl-C ends the wait, and the operator
continues.`,
		examples("certs rotate-ca example", "certs rotate-ca example --yes --wait=false"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			if err := s.errPaused(); err != nil {
				return err
			}
			if s.cluster.CATLSSecret() == "" {
				return fmt.Errorf("%s has no CA of its own (TLS.auto): replace the CA where its certificates are issued", s.title())
			}
			if t := s.cluster.Status.TLS; t != nil && t.Rotation != "" {
				return fmt.Errorf("a CA rotation of %s is already in progress (%s): %s", s.title(), t.Rotation, s.condition(v1beta2.ConditionCertificatesReady))
			}
			trusted := s.trusted()
			overlap := s.cluster.Spec.Issued().Overlap()
			if err := a.confirm(c, "This replaces the CA of %s. All members restart twice, one at a time.\nClients that keep a copy of the CA's certificate must have the new one within %s after all certificates are issued by it.", s.title(), duration.HumanDuration(overlap)); err != nil {
				return err
			}
			if !cmd.Flags().Changed("timeout") {
				w.timeout = overlap + restartsWait
			}
			if err := s.annotate(ctx, v1beta2.AnnotationRotateCA, a.stamp()); err != nil {
				return err
			}
			w.unseen = s.unmoved()
			fmt.Fprintf(a.Out, "Asked for another CA of %s. Follow it with: %s status %s -w\n", s.title(), Name, s.cluster.Name)
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return s.rotated(ctx, trusted) }); err != nil || !w.wait {
				return err
			}
			fmt.Fprintf(a.Out, "All members of %s trust the new CA only.\n", s.title())
			return nil
		}, cobra.ExactArgs(1))
	c.addTo(cmd)
	w.addTo(cmd, v1beta2.DefaultCAOverlap+restartsWait)
	return cmd
}

// trusted is the hash of the CAs that the members trust; empty if the operator has not said yet.
func (s *scene) trusted() string {
	if t := s.cluster.Status.TLS; t != nil {
		return t.Trust
	}
	return ""
}

// rotated tells how far the replacement of a CA is: done when members trust other CAs than before, and
// nothing is left to do.
func (s *scene) rotated(ctx context.Context, before string) (string, bool, error) {
	if err := s.refresh(ctx); err != nil {
		return "", false, err
	}
	done := s.trusted() != before && s.reason(v1beta2.ConditionCertificatesReady) == v1beta2.ClusterReasonCertificatesValid &&
		s.reason(v1beta2.ConditionProgressing) == v1beta2.ClusterReasonUpToDate
	return s.condition(v1beta2.ConditionCertificatesReady), done, nil
}
