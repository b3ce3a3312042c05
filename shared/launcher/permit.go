package launcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/types"
)

// StartPermitAnnotation is the Pod annotation that holds a [StartPermit] as JSON.
const StartPermitAnnotation = "etcd.database.coreos.com/start-permit"

// StartState is a value of etcd's --initial-cluster-state.
type StartState string

const (
	// StateNew founds a cluster: the seed, and nobody else.
	StateNew StartState = "new"
	// StateExisting joins a cluster whose member list already names this member.
	StateExisting StartState = "existing"
)

// StartPermit is the permit to start etcd once on a data dir without a write-ahead log.
type StartPermit struct {
	// Attempt numbers the permits of one Pod from 1. A permit is usable only if
	// its attempt is higher than that of the last one used.
	Attempt int64 `json:"attempt"`
	// State is "new" or "existing".
	State StartState `json:"state"`
	// InitialCluster is the value of --initial-cluster: name=peerURL,…, with one entry for each peer URL of a
	// member. For "new" it names only this member. For "existing" it is etcd's own member list, with each
	// unstarted member under its future name.
	InitialCluster string `json:"initialCluster"`
	// Token is the value of --initial-cluster-token. Required for "new", where
	// it makes the cluster's id unique; without effect for "existing".
	Token string `json:"token,omitempty"`
	// After are the peer URLs of those members that join at the same time and
	// start first. Only for "existing". Give every joiner all those before it, in
	// one order for all.
	//
	// An etcd that joins listens on its peer port from the first moment, but
	// answers only once it has asked every other member for the member list and
	// its version, with 10 and 7 s for each that does not answer. So two that
	// start together wait for each other: six took 38 s and more, and take half
	// a second in turn.
	After []string `json:"after,omitempty"`
	// CatchUp starts etcd a first time only to receive what the cluster has, and then
	// again to serve. Only for "existing"; it saves time and no more. Give it when the
	// leader's log no longer goes back to its beginning.
	//
	// An etcd that joins tells its name through the log as soon as it hears of a
	// leader, and serves clients once it has applied that entry. If the leader has to
	// send a snapshot, the entry is in it already and never applied by itself: etcd
	// (3.4 to 3.7, publishV3) then serves nobody until it tells its name again after
	// 7 s. A restart tells it at once.
	CatchUp bool `json:"catchUp,omitempty"`
}

// String returns the permit as the JSON that the annotation holds.
func (p StartPermit) String() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil { // strings and a number: cannot fail
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ParseStartPermit reads an annotation's value. Nothing but white space is no start permit:
// nil without an error. Unknown fields are refused, since this launcher could
// not honour what they ask for.
func ParseStartPermit(value []byte) (*StartPermit, error) {
	if len(bytes.TrimSpace(value)) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.DisallowUnknownFields()
	var p StartPermit
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("annotation %s is not a start permit: %w", StartPermitAnnotation, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("annotation %s holds more than one JSON value", StartPermitAnnotation)
	}
	return &p, nil
}

// Validate says why the permit must never be used by the member of this name and
// peer URL, or nil. It refuses what etcd would take in a way that nobody meant.
func (p StartPermit) Validate(name, peerURL string) error {
	if p.Attempt < 1 {
		return fmt.Errorf("attempt is %d, want 1 or more", p.Attempt)
	}
	members, err := parseInitialCluster(p.InitialCluster)
	if err != nil {
		return err
	}
	own, ok := members[name]
	if !ok {
		return fmt.Errorf("initialCluster %q does not name this member, %s", p.InitialCluster, name)
	}
	// Compared as text: only equal text spares etcd from looking its own name up
	// in DNS (netutil.URLStringsEqual), perhaps before its record exists.
	if !slices.Contains(own.StringSlice(), peerURL) {
		return fmt.Errorf("initialCluster gives this member the peer URL %s, but it is %s", own, peerURL)
	}
	others := p.others(name)
	for _, peer := range p.After {
		if !slices.Contains(others, peer) {
			return fmt.Errorf("after contains %s, which is not the URL of another member in initialCluster", peer)
		}
	}
	switch p.State {
	case StateNew:
		if len(members) != 1 || len(own) != 1 {
			return fmt.Errorf("state is new, but initialCluster is %q: a cluster begins with one member, with one peer URL", p.InitialCluster)
		}
		if p.Token == "" {
			return errors.New("state is new, but token is empty: clusters with the same token can have the same ids")
		}
		if p.CatchUp {
			return errors.New("state is new, but catchUp is set: a new cluster has no other member to catch up with")
		}
		return nil
	case StateExisting:
		if len(members) < 2 {
			return errors.New("state is existing, but initialCluster names no member to join")
		}
		return nil
	default:
		return fmt.Errorf("state is %q, want %s or %s", p.State, StateNew, StateExisting)
	}
}

// others returns the sorted peer URLs in initialCluster of all members except the one with this name. It
// returns nil if initialCluster cannot be parsed.
func (p StartPermit) others(name string) []string {
	members, err := parseInitialCluster(p.InitialCluster)
	if err != nil {
		return nil
	}
	delete(members, name)
	return members.URLs()
}

// parseInitialCluster parses name=peerURL,… with etcd's own parser. A member with several peer URLs has an
// entry for each. Like etcd, it refuses a duplicate URL (config.checkDuplicateURL), even within one member.
func parseInitialCluster(s string) (types.URLsMap, error) {
	members, err := types.NewURLsMap(s)
	if err != nil {
		return nil, fmt.Errorf("initialCluster is %q: %w", s, err)
	}
	urls := members.URLs() // sorted
	if len(slices.Compact(urls)) < len(urls) {
		return nil, fmt.Errorf("initialCluster %q contains a peer URL twice", s)
	}
	return members, nil
}
