// Package bootstrap has the rules of the one beginning of a cluster, from nothing or on the
// volumes of an earlier one (S1).
package bootstrap
