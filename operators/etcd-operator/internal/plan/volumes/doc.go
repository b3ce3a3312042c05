// Package volumes has the rules about members' volumes: that they grow, and whether they
// outlive the EtcdCluster (S6, S7).
package volumes
