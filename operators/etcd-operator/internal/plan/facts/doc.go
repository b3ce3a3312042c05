// Package facts has what is known of one EtcdCluster at one moment: the Observation, and what
// follows from it. Nothing in it decides: it knows no action, no rule and no requeue.
package facts
