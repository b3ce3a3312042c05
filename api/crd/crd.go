// Package crd embeds the custom resource definitions that controller-gen makes
// from the types in package v1beta2, for an operator that installs them itself
// (--create-crd) and for tests.
//
// "make generate" writes the YAML here and copies it to deploy/.
package crd

import _ "embed"

// EtcdClusters is the CustomResourceDefinition of EtcdCluster, as YAML.
//
//go:embed etcd.database.coreos.com_etcdclusters.yaml
var EtcdClusters []byte

// EtcdBackups is the CustomResourceDefinition of EtcdBackup, as YAML.
//
//go:embed etcd.database.coreos.com_etcdbackups.yaml
var EtcdBackups []byte

// EtcdRestores is the CustomResourceDefinition of EtcdRestore, as YAML.
//
//go:embed etcd.database.coreos.com_etcdrestores.yaml
var EtcdRestores []byte
