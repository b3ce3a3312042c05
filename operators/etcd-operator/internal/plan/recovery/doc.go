// Package recovery has the rules for a cluster without a quorum, and for one that begins anew
// with a survivor's data, because the data of a majority is lost (S13).
package recovery
