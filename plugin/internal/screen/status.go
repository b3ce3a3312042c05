package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/runbook"
)

// Status is all that one screen shows of a cluster.
type Status struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Phase     string `json:"phase,omitempty"`
	Version   string `json:"version,omitempty"`
	// Target is the version that members move to; empty if they do not move.
	Target    string `json:"targetVersion,omitempty"`
	Size      int    `json:"size"`
	Ready     string `json:"ready,omitempty"`
	ClusterID string `json:"clusterID,omitempty"`
	// Stale says that the operator has not looked at the newest spec yet.
	Stale bool `json:"stale,omitempty"`
	// Available is whether a quorum serves; Doing is what the operator does or waits for. Other
	// are further conditions that tell of something under way.
	Available *metav1.Condition  `json:"available,omitempty"`
	Doing     *metav1.Condition  `json:"doing,omitempty"`
	Other     []metav1.Condition `json:"other,omitempty"`

	Members []Member `json:"members"`
	// EtcdNotAsked says why etcd itself was not asked; empty if it was.
	EtcdNotAsked string `json:"etcdNotAsked,omitempty"`
	// BackupsNotListed and RestoresNotListed say why the EtcdBackups and EtcdRestores are not shown.
	BackupsNotListed  string `json:"backupsNotListed,omitempty"`
	RestoresNotListed string `json:"restoresNotListed,omitempty"`

	Alarms []string `json:"alarms,omitempty"`

	Certificates *Certificates `json:"certificates,omitempty"`
	Backup       *Backup       `json:"backup,omitempty"`
	// Restore is an EtcdRestore of the cluster that is in progress.
	Restore *Restore `json:"restore,omitempty"`

	// ToDo are the runbooks that fit.
	ToDo []runbook.Finding `json:"toDo,omitempty"`

	now time.Time
}

// Certificates is the state of a cluster's certificates.
type Certificates struct {
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// IssuedBy is the operator, cert-manager or you.
	IssuedBy string `json:"issuedBy"`
	Rotation string `json:"rotation,omitempty"`
	// Trouble is the message of CertificatesReady, while that is False.
	Trouble string `json:"trouble,omitempty"`
}

// Backup is what is known of a cluster's backups.
type Backup struct {
	Newest *v1beta2.ClusterBackupRecord `json:"newest,omitempty"`
	// RecoveryTime is the recovery point of an archive: all that etcd had acknowledged before
	// it is stored.
	RecoveryTime *metav1.Time `json:"recoveryTime,omitempty"`
	// LastVerified is when a backup was last proved by restoring it.
	LastVerified *metav1.Time `json:"lastVerified,omitempty"`
	// Next is when the next backup is due.
	Next *metav1.Time `json:"next,omitempty"`
	// EtcdBackups are those of the cluster.
	EtcdBackups []string `json:"etcdBackups,omitempty"`
}

// Restore is a restore in progress.
type Restore struct {
	Name     string `json:"name"`
	Phase    string `json:"phase"`
	Progress string `json:"progress,omitempty"`
	Message  string `json:"message,omitempty"`
}

// Seen is what a status is made of.
type Seen struct {
	runbook.Seen
	Pods []corev1.Pod
	// NotAsked says why there are no answers of etcd.
	NotAsked string
	// PodsNotListed, BackupsNotListed and RestoresNotListed say why there are none of these.
	PodsNotListed, BackupsNotListed, RestoresNotListed string
}

// StatusOf makes the status of a cluster.
func StatusOf(s Seen) *Status {
	c := s.Cluster
	out := &Status{
		Namespace: c.Namespace, Name: c.Name, Phase: string(c.Status.Phase), Version: c.Status.CurrentVersion, Target: c.Status.TargetVersion,
		Size: c.Spec.Size, Ready: c.Status.ReadyMembers, ClusterID: c.Status.ClusterID,
		Stale:     c.Status.ObservedGeneration < c.Generation,
		Available: meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionAvailable),
		Doing:     meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionProgressing),
		Members:   Members(c, s.Pods, s.Answers), EtcdNotAsked: s.NotAsked,
		BackupsNotListed: s.BackupsNotListed, RestoresNotListed: s.RestoresNotListed,
		Certificates: certificatesOf(c), Backup: backupOf(s), Restore: restoreOf(s.Restores),
		ToDo: runbook.Diagnose(s.Seen), now: s.Now,
	}
	for _, kind := range []string{v1beta2.ConditionScaling, v1beta2.ConditionUpgrading, v1beta2.ConditionRecovering, v1beta2.ConditionStorageResizing} {
		if x := meta.FindStatusCondition(c.Status.Conditions, kind); x != nil && x.Status == metav1.ConditionTrue {
			out.Other = append(out.Other, *x)
		}
	}
	for _, a := range s.Alarms() {
		out.Alarms = append(out.Alarms, strings.TrimSpace(a.Kind+" "+a.Member))
	}
	return out
}

func certificatesOf(c *v1beta2.EtcdCluster) *Certificates {
	if !c.UsesTLS() {
		return nil
	}
	out := &Certificates{IssuedBy: "you"}
	switch {
	case c.Spec.TLS.Auto != nil:
		out.IssuedBy = "the operator"
	case c.Spec.TLS.CertManager != nil:
		out.IssuedBy = "cert-manager"
	}
	if t := c.Status.TLS; t != nil {
		out.NotAfter, out.Rotation = t.NotAfter, string(t.Rotation)
	}
	if x := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionCertificatesReady); x != nil && x.Status == metav1.ConditionFalse {
		out.Trouble = x.Message
	}
	return out
}

func backupOf(s Seen) *Backup {
	out := &Backup{}
	if b := s.Cluster.Status.Backup; b != nil {
		out.Newest = b.Newest
	}
	for i := range s.Backups {
		b := &s.Backups[i]
		out.EtcdBackups = append(out.EtcdBackups, b.Name)
		if a := b.Status.Archive; a != nil {
			out.RecoveryTime = later(out.RecoveryTime, a.RecoveryTime)
		}
		if v := b.Status.Verification; v != nil {
			out.LastVerified = later(out.LastVerified, v.LastVerifiedTime)
		}
		if next := b.Status.NextScheduleTime; next != nil && (out.Next == nil || next.Before(out.Next)) {
			out.Next = next
		}
	}
	return out
}

func later(a, b *metav1.Time) *metav1.Time {
	if a == nil || b != nil && a.Before(b) {
		return b
	}
	return a
}

func restoreOf(restores []v1beta2.EtcdRestore) *Restore {
	i := slices.IndexFunc(restores, func(r v1beta2.EtcdRestore) bool {
		ended := r.Status.Phase == v1beta2.RestoreComplete || r.Status.Phase == v1beta2.RestoreFailed
		return !ended && !r.Spec.VerifyOnly
	})
	if i < 0 {
		return nil
	}
	out := &Restore{Name: restores[i].Name, Phase: string(restores[i].Status.Phase), Progress: restores[i].Status.Progress}
	if x := meta.FindStatusCondition(restores[i].Status.Conditions, v1beta2.ConditionComplete); x != nil {
		out.Message = x.Message
	}
	return out
}

// label is the width of the first column of the screen.
const label = 14

// Print writes the screen.
func (s *Status) Print(w io.Writer, f Format) error {
	out := &strings.Builder{}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-*s%s\n", label, name, wrap(fmt.Sprintf(format, args...), label))
	}
	line("EtcdCluster", "%s", s.headline())
	if s.Stale && s.Phase != "" {
		line("", "the operator has not looked at the last edit yet")
	}
	line("Available", "%s", told(s.Available))
	if s.Doing == nil {
		line("Operator", "%s", told(nil))
	} else {
		line("Operator", "%s: %s", s.Doing.Reason, s.Doing.Message)
	}
	for _, c := range s.Other {
		line("", "%s: %s", c.Type, c.Message)
	}
	s.printToDo(line)
	out.WriteByte('\n')
	if err := MemberTable(s.Members).Print(out, f); err != nil {
		return err
	}
	for _, m := range s.Members {
		if m.Trouble != "" {
			line("", "%s does not answer: %s", m.Name, m.Trouble)
		}
	}
	if s.EtcdNotAsked != "" {
		line("", "etcd was not asked: %s", s.EtcdNotAsked)
	}
	out.WriteByte('\n')
	line("Alarms", "%s", cmp.Or(strings.Join(s.Alarms, ", "), "none"))
	line("Certificates", "%s", s.Certificates.text(s.now))
	line("Backups", "%s", s.backups())
	if r := s.Restore; r != nil {
		line("Restore", "EtcdRestore %s", strings.TrimSuffix(strings.Join(strings.Fields(r.Name+": "+cmp.Or(r.Phase, "new")+" "+r.Progress+"; "+r.Message), " "), ";"))
	}
	if s.RestoresNotListed != "" {
		line("Restores", "not shown: %s", s.RestoresNotListed)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (s *Status) backups() string {
	switch {
	case s.BackupsNotListed == "":
		return s.Backup.text(s.now)
	case s.Backup.Newest == nil:
		return "not shown: " + s.BackupsNotListed
	}
	return s.Backup.text(s.now) + "; more is not shown: " + s.BackupsNotListed
}

func (s *Status) headline() string {
	text := fmt.Sprintf("%s/%s: %s", s.Namespace, s.Name, cmp.Or(s.Phase, "no operator has looked at it"))
	if s.Ready != "" {
		text += fmt.Sprintf(", %s members serve", s.Ready)
	}
	if s.Version != "" {
		text += ", etcd " + s.Version
	}
	if s.Target != "" {
		text += ", moving to " + s.Target
	}
	if s.ClusterID != "" {
		text += ", cluster id " + s.ClusterID
	}
	return text
}

func (s *Status) printToDo(line func(name, format string, args ...any)) {
	if len(s.ToDo) == 0 {
		line("To do", "nothing")
		return
	}
	for i, f := range s.ToDo {
		name := ""
		if i == 0 {
			name = "To do"
		}
		object := ""
		if f.Object != "EtcdCluster "+s.Name {
			object = f.Object + ": "
		}
		message := f.Message
		for _, shown := range []*metav1.Condition{s.Available, s.Doing} {
			if shown != nil && shown.Message == message && f.Condition == shown.Type+"="+string(shown.Status) {
				message = "as said above"
			}
		}
		line(name, "%s%s: %s", object, strings.TrimSpace(f.Condition+" "+f.Reason), message)
		line("", "data at risk: %s; runbook: %s", f.DataAtRisk, f.URL())
	}
}

// told is a condition in words.
func told(c *metav1.Condition) string {
	if c == nil {
		return "unknown: the operator has not said yet"
	}
	return fmt.Sprintf("%s (%s): %s", c.Status, c.Reason, c.Message)
}

func (c *Certificates) text(now time.Time) string {
	if c == nil {
		return "none: the traffic of members and clients is not encrypted"
	}
	text := "issued by " + c.IssuedBy
	if c.IssuedBy == "you" {
		text = "provided by you"
	}
	switch {
	case c.NotAfter == nil:
	case c.NotAfter.Time.Before(now):
		text += fmt.Sprintf(", expired since %s (%s ago)", utc(c.NotAfter), Age(now, c.NotAfter.Time))
	default:
		text += fmt.Sprintf(", valid until %s (for %s)", utc(c.NotAfter), Age(c.NotAfter.Time, now))
	}
	if c.Rotation != "" {
		text += "; CA rotation: " + c.Rotation
	}
	if c.Trouble != "" {
		text += "; " + c.Trouble
	}
	return text
}

func (b *Backup) text(now time.Time) string {
	if b.Newest == nil && len(b.EtcdBackups) == 0 {
		return "none: create one with kubectl etcd backup"
	}
	text := "no good backup yet, of EtcdBackup " + strings.Join(b.EtcdBackups, ", ")
	if n := b.Newest; n != nil {
		text = fmt.Sprintf("the newest is %s old: EtcdBackup %s, revision %d, %s, %s", Age(now, n.CompletionTime.Time), n.Backup, n.Revision, Bytes(n.Size), n.Location)
	}
	switch {
	case b.RecoveryTime != nil:
		text += fmt.Sprintf("; recovery point: %s ago, by the archive", Age(now, b.RecoveryTime.Time))
	case b.Newest != nil:
		text += fmt.Sprintf("; recovery point: %s ago", Age(now, b.Newest.CompletionTime.Time))
	}
	if b.LastVerified != nil {
		text += fmt.Sprintf("; verified %s ago", Age(now, b.LastVerified.Time))
	}
	if b.Next != nil {
		text += "; next at " + utc(b.Next)
	}
	return text
}

func utc(t *metav1.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// PrintFindings shows the runbooks that fit, and notes about what was not looked at.
func PrintFindings(w io.Writer, object string, found []runbook.Finding, notes []string) error {
	out := &strings.Builder{}
	if len(found) == 0 {
		fmt.Fprintf(out, "No runbook fits %s: nothing is known to be wrong.\n", object)
	}
	for _, f := range found {
		for _, line := range [][2]string{
			{f.Runbook, f.Object + ": " + strings.TrimSpace(f.Condition+" "+f.Reason)},
			{"", f.Message},
			{"", fmt.Sprintf("data at risk: %s", f.DataAtRisk)},
			{"", f.URL()},
		} {
			fmt.Fprintf(out, "%-*s%s\n", findingLabel, line[0], wrap(line[1], findingLabel))
		}
	}
	for _, note := range notes {
		fmt.Fprintf(out, "Note: %s\n", wrap(note, len("Note: ")))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// findingLabel is the width of the names of runbooks.
const findingLabel = 23
