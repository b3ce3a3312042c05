// Package manifests tests what deploy/ ships, as kustomize renders it and a real API server
// takes it: what each Role grants, which Pods come of it, and whom NetworkPolicies let in.
package manifests
