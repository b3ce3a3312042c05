package member

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Ports of a member's Pod.
const (
	// ClientPort is where etcd serves clients.
	ClientPort = 2379
	// PeerPort is where members talk to each other.
	PeerPort = 2380
	// MetricsPort is where etcd serves metrics and health, and where the
	// launcher answers until etcd runs. Plain HTTP always: probes cannot show a
	// client certificate, and nothing secret is served.
	MetricsPort = 2381
)

// Names of the ports, in Pods and Services alike.
const (
	clientPortName  = "client"
	peerPortName    = "peer"
	metricsPortName = "metrics"
)

const (
	suffixLength   = 10
	suffixAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
)

// Name is the name of a member, its Pod and its claim: <cluster>-<suffix>.
func Name(cluster, suffix string) string {
	return cluster + "-" + suffix
}

// IsName reports whether a name is one that [Name] and [Suffix] make.
func IsName(cluster, name string) bool {
	suffix, ok := strings.CutPrefix(name, cluster+"-")
	return ok && len(suffix) == suffixLength && strings.Trim(suffix, suffixAlphabet) == ""
}

// IsListed reports whether the status of an EtcdCluster lists a member with this name. A member that a user added by
// hand counts only if its name could be the operator's: the user decides about its Pod and PVC.
func IsListed(c *v1beta2.EtcdCluster, name string) bool {
	return slices.ContainsFunc(c.Status.MemberDetails, func(d v1beta2.MemberDetail) bool {
		return d.Name == name && (!d.Unmanaged || IsName(c.Name, name))
	})
}

// Suffix draws ten lower-case letters and digits from rand, each equally likely
// (36^10 = 3.7e15 names). It panics if rand fails, as crypto/rand.Reader never
// does.
func Suffix(rand io.Reader) string {
	// The largest multiple of the alphabet's size in a byte: what lies above
	// would make the first characters of the alphabet likelier.
	const limit = 256 / len(suffixAlphabet) * len(suffixAlphabet)
	s := make([]byte, 0, suffixLength)
	var b [1]byte
	for len(s) < suffixLength {
		if _, err := io.ReadFull(rand, b[:]); err != nil {
			panic(fmt.Sprintf("member: draw a name: %v", err))
		}
		if int(b[0]) < limit {
			s = append(s, suffixAlphabet[int(b[0])%len(suffixAlphabet)])
		}
	}
	return string(s)
}

// ClientServiceName is the name of the Service for clients.
func ClientServiceName(cluster string) string {
	return cluster + "-client"
}

// PeerServiceName is the name of the headless Service that gives members their
// DNS names.
func PeerServiceName(cluster string) string {
	return cluster
}

// Host is the DNS name of a member: <member>.<cluster>.<namespace>.svc, followed
// by spec.pod.ClusterDomain.
func Host(c *v1beta2.EtcdCluster, name string) string {
	host := serviceHost(c, name)
	if c.Spec.Pod != nil {
		host += c.Spec.Pod.ClusterDomain
	}
	return host
}

// serviceHost is Host without the domain of the Kubernetes cluster.
func serviceHost(c *v1beta2.EtcdCluster, name string) string {
	return name + "." + PeerServiceName(c.Name) + "." + c.Namespace + ".svc"
}

// PeerURL is the one URL at which the other members reach a member. etcd's
// member list holds it, character by character.
func PeerURL(c *v1beta2.EtcdCluster, name string) string {
	return scheme(c.PeerTLSSecret()) + "://" + Host(c, name) + ":" + strconv.Itoa(PeerPort)
}

// IsPeerURL reports whether a URL is where a member of that name is reached: whatever the
// domain of the Kubernetes cluster was called, and whether or not by TLS, when it was added.
func IsPeerURL(c *v1beta2.EtcdCluster, name, peerURL string) bool {
	u, err := url.Parse(peerURL)
	if err != nil || name == "" || u.Port() != strconv.Itoa(PeerPort) {
		return false
	}
	domain, ok := strings.CutPrefix(u.Hostname(), serviceHost(c, name))
	return ok && (domain == "" || domain[0] == '.')
}

// ClientURL is the URL at which clients in the Kubernetes cluster reach a member.
func ClientURL(c *v1beta2.EtcdCluster, name string) string {
	return fmt.Sprintf("%s://%s:%d", scheme(c.ServerTLSSecret()), Host(c, name), ClientPort)
}

// NameFromURL is the name of the member that a peer URL belongs to: the first
// label of its host. etcd's member list has no other name for a member that was
// added and has not started. It returns "" for what is not a URL.
func NameFromURL(peerURL string) string {
	u, err := url.Parse(peerURL)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(u.Hostname(), ".")
	return name
}

// Peer is a member as --initial-cluster names it.
type Peer struct {
	Name string
	URL  string
}

// InitialCluster is the value of --initial-cluster: name=URL,… in the order of
// the names, so that the same members always give the same text.
func InitialCluster(peers []Peer) string {
	entries := make([]string, len(peers))
	for i, p := range peers {
		entries[i] = p.Name + "=" + p.URL
	}
	slices.Sort(entries)
	return strings.Join(entries, ",")
}
