package suite

import (
	"context"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// datastore is a cluster of one of the examples, with TLS, in which a real program keeps its data,
// configured as kubectl etcd connect says. The tests with one take it through an upgrade, the loss
// of its leader, a CA rotation and a restore in place, and compare the program's data at the end.
type datastore struct {
	*cluster
	plugin  plugin
	backups *volume
}

// program is one that keeps its data in a datastore, with clients that write by it the whole time.
type program interface {
	// goesOn fails the test if no write that begins after what has happened is acknowledged soon.
	goesOn(after string)
	// reloads is called during a CA rotation, when the Secret has a certificate of the new CA, and
	// trusts both: it does what the documentation tells the program's users to do within caOverlap.
	reloads()
}

// aDatastore begins a scene with all operators and the EtcdCluster of an example.
func aDatastore(t *testing.T, example, name string) *datastore {
	t.Helper()
	s := aNamespaceFor(t, "restricted", programTimeout)
	s.install(harness.Install{})
	s.backsUp()
	s.restores()
	backups := s.aVolume("backups")
	s.applyExample(example, onlyCluster)
	d := &datastore{cluster: s.existing(name), plugin: s.aPlugin(), backups: backups}
	d.settles(3, twoMinutes)
	return d
}

// connect is what kubectl etcd connect writes for a kind of program.
func (d *datastore) connect(kind string) string {
	d.s.t.Helper()
	return d.plugin.runs("connect", d.Name, "-o", kind).text
}

// lives goes through all that leaves the data as it is.
func (d *datastore) lives(p program) {
	d.s.t.Helper()
	d.becomes("at "+etcd36, harness.AtVersion(etcd36), oneMinute)
	d.wantsVersion(etcd37)
	d.becomes("at "+etcd37, harness.AtVersion(etcd37), anUpgrade)
	d.settles(3, oneMinute)
	p.goesOn("the upgrade")

	d.isDestroyed(d.leader())
	p.goesOn("the loss of the leader")
	d.settles(3, twoMinutes)
	p.goesOn("its replacement")

	d.rotatesItsCA(p)
	p.goesOn("the CA rotation")
}

// rotatesItsCA replaces the CA. The old one is trusted for the default of a day, which a person
// shortens when the program has the new one.
func (d *datastore) rotatesItsCA(p program) {
	d.s.t.Helper()
	members, trust := d.members(), d.State().Cluster.Status.TLS.Trust
	d.plugin.runs("certs rotate-ca", d.Name, "--yes", "--wait=false").shows("Asked for another CA")
	d.becomes("reissuing", rotation(v1beta2.CAReissuing), anUpgrade)
	p.reloads()
	p.goesOn("the certificates of the new CA")
	d.s.must(d.Remount(d.s.ctx, d.members()...))
	d.s.must(d.Patch(d.s.ctx, map[string]any{"spec": map[string]any{"TLS": map[string]any{"auto": map[string]any{"caOverlap": overlap.String()}}}}))
	d.becomes("trusting the new CA alone", rotation(""), anUpgrade)
	d.becomes("settled with the same members", harness.All(sameMembers(members), harness.Settled(3)), anUpgrade)
	if now := d.State().Cluster.Status.TLS.Trust; now == trust {
		d.s.t.Errorf("%s trusts the same CA as before: %s", d.Name, now)
	}
}

// isBackedUp stores a backup, as a person does by the plugin.
func (d *datastore) isBackedUp(name string) {
	d.s.t.Helper()
	d.plugin.runs("backup", d.Name, "--pvc", d.backups.claim+"/"+name+".db", "--name", name).shows("Stored revision")
	d.s.within(oneMinute, func(ctx context.Context) error {
		return env.Backup(d.s.view, d.s.ns, name).Await(ctx, "stored", harness.Stored)
	})
}

// isRestored restores the cluster in its place from an EtcdBackup.
func (d *datastore) isRestored(name, backup string) v1beta2.RestoreStatus {
	d.s.t.Helper()
	r := d.s.restore(name, harness.InPlace(d.Name), harness.FromBackup(backup))
	status := r.serves(oneMinute)
	r.completes(twoMinutes)
	d.settles(3, twoMinutes)
	return status
}
