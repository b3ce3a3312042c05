// Package deploy embeds the manifests of this folder that the operators themselves need: the
// CustomResourceDefinitions, which --create-crd applies, and the Roles, whose rights an operator checks at its
// start. "make generate" writes the CustomResourceDefinitions from the types in api/v1beta2.
package deploy

import "embed"

// EtcdClusters is the CustomResourceDefinition of EtcdCluster, as YAML.
//
//go:embed etcd-operator/crd/etcd.database.coreos.com_etcdclusters.yaml
var EtcdClusters []byte

// EtcdBackups is the CustomResourceDefinition of EtcdBackup, as YAML.
//
//go:embed etcd-backup-operator/crd/etcd.database.coreos.com_etcdbackups.yaml
var EtcdBackups []byte

// EtcdRestores is the CustomResourceDefinition of EtcdRestore, as YAML.
//
//go:embed etcd-restore-operator/crd/etcd.database.coreos.com_etcdrestores.yaml
var EtcdRestores []byte

// Roles has the Roles of each operator, for example etcd-operator/base/role.yaml.
//
//go:embed */base/role.yaml */base/leader-election.yaml
var Roles embed.FS
