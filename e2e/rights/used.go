package rights

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Use is a right that an operator used, or would have liked to use.
type Use struct {
	// Namespace and Operator are those of its ServiceAccount.
	Namespace, Operator string
	// Role is the one that allowed it; empty if none did.
	Role  string
	Right Right
	// CreatedPod is true if a Pod was created by it. PodSecurity is the level and version
	// that the namespace enforced then; empty if it enforced none.
	CreatedPod  bool
	PodSecurity string
}

// Uses are counted.
type Uses map[Use]int

// event is what is needed of a line of the audit log.
type event struct {
	Stage      string
	Verb       string
	RequestURI string
	User       struct{ Username string }
	ObjectRef  *struct {
		Namespace, APIGroup, Resource, Subresource string
	}
	ResponseStatus struct{ Code int }
	Received       time.Time `json:"requestReceivedTimestamp"`
	Annotations    map[string]string
}

const (
	decision = "authorization.k8s.io/decision"
	reason   = "authorization.k8s.io/reason"
	policy   = "pod-security.kubernetes.io/enforce-policy"

	// accountPrefix begins the user name of a ServiceAccount: then come the namespace and
	// the name.
	accountPrefix = "system:serviceaccount:"
)

// createPods is what the Pod Security admission looks at.
var createPods = Right{Resource: "pods", Verb: "create"}

// allowedBy finds the name of the role in the reason of what is allowed.
var allowedBy = regexp.MustCompile(` of (?:Cluster)?Role "([^"]+)" to `)

// Log is an audit log, and what of it counts.
type Log struct {
	// Operators are the names of the ServiceAccounts that count.
	Operators []string
	// Since leaves out what was before.
	Since time.Time
	// Retired tells when an operator's namespace began to be deleted. From then on it
	// loses its rights while it still runs, and what it is forbidden does not count.
	Retired map[string]time.Time
}

// Read counts the uses in an audit log, with those files that it was rotated into.
func (l Log) Read(path string) (Uses, error) {
	extension := filepath.Ext(path)
	rotated, err := filepath.Glob(strings.TrimSuffix(path, extension) + "-*" + extension)
	if err != nil {
		return nil, err
	}
	uses := Uses{}
	for _, file := range append(rotated, path) {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) && file != path {
			continue // the oldest goes when another one is made
		}
		if err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		err = l.count(f, uses)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("audit log %s: %w", file, err)
		}
	}
	return uses, nil
}

func (l Log) count(log io.Reader, uses Uses) error {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what has no end yet is being written
		}
		if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("a line is no event: %w", err)
		}
		for _, u := range l.usesOf(e) {
			uses[u]++
		}
	}
}

// usesOf is what an event says of an operator's rights: nothing about others.
func (l Log) usesOf(e event) []Use {
	account, ok := strings.CutPrefix(e.User.Username, accountPrefix)
	if !ok || e.Received.Before(l.Since) {
		return nil
	}
	var u Use
	u.Namespace, u.Operator, _ = strings.Cut(account, ":")
	if !slices.Contains(l.Operators, u.Operator) {
		return nil
	}
	u.Right = Right{Verb: e.Verb, Resource: e.RequestURI}
	if o := e.ObjectRef; o != nil {
		u.Right = Right{Group: o.APIGroup, Resource: o.Resource, Verb: e.Verb}
		if o.Subresource != "" {
			u.Right.Resource += "/" + o.Subresource
		}
	}
	if u.Right == createPods && e.ResponseStatus.Code == http.StatusCreated {
		u.CreatedPod, u.PodSecurity = true, e.Annotations[policy]
	}
	if e.Annotations[decision] != "allow" {
		if retired, ok := l.Retired[u.Namespace]; ok && !e.Received.Before(retired) {
			return nil
		}
		return []Use{u}
	}
	if m := allowedBy.FindStringSubmatch(e.Annotations[reason]); m != nil {
		u.Role = m[1]
	} else {
		u.Role = e.Annotations[reason]
	}
	if e.Verb == "patch" && e.ResponseStatus.Code == http.StatusCreated {
		// What was applied was not there. The API server asks for the right to create it,
		// too, and writes no line about that.
		created := u
		created.Right.Verb = "create"
		return []Use{u, created}
	}
	return []Use{u}
}
