// Package access has the rules for an operator that cannot ask members: for want of a client
// certificate, or of credentials for etcd's authentication (S9).
package access
