package rights

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const role = `apiVersion: v1
kind: ServiceAccount
metadata: {name: keeper}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: keeper}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [list, watch, create, patch]}
  - {apiGroups: [apps], resources: [deployments/status], verbs: [get]}
`

// write makes a folder with one file.
func write(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func granted(t *testing.T) map[string]Role {
	t.Helper()
	roles, err := Granted([]byte(role))
	if err != nil {
		t.Fatal(err)
	}
	return roles
}

func TestRulesAreReadOneByOne(t *testing.T) {
	var got []string
	for _, right := range slices.SortedFunc(maps.Keys(granted(t)["keeper"]), compare) {
		got = append(got, right.String())
	}
	want := []string{"create pods", "list pods", "patch pods", "watch pods", "get deployments/status.apps"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOneObjectByName: its Role permits the right on no other, so that it is counted like all.
func TestOneObjectByName(t *testing.T) {
	roles, err := Granted([]byte(strings.Replace(role, "verbs: [get]", "verbs: [get], resourceNames: [mine]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(granted(t), roles); diff != "" {
		t.Error(diff)
	}
}

// TestWhatCannotBeCounted: a Role that says less than exactly what it grants is refused.
func TestWhatCannotBeCounted(t *testing.T) {
	for name, change := range map[string][2]string{
		"every verb":           {"[get]", `["*"]`},
		"every resource":       {"deployments/status", `"*"`},
		"every subresource":    {"deployments/status", `"*/status"`},
		"every group":          {"[apps]", `["*"]`},
		"twice in one rule":    {"[get]", "[get, get]"},
		"twice in two rules":   {"[apps], resources: [deployments/status], verbs: [get]", `[""], resources: [pods], verbs: [patch]`},
		"objects by name":      {"verbs: [get]", "verbs: [get], resourceNames: [mine, theirs]"},
		"URLs":                 {"verbs: [get]", "verbs: [get], nonResourceURLs: [/metrics]"},
		"two Roles, one name":  {"kind: ServiceAccount", "kind: ClusterRole"},
		"no Role at all":       {"kind: Role", "kind: RoleBinding"},
		"something unreadable": {"rules:", "rules: ["},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(role, change[0]) {
				t.Fatalf("%q is not there to be changed", change[0])
			}
			if roles, err := Granted([]byte(strings.Replace(role, change[0], change[1], 1))); err == nil {
				t.Errorf("accepted: %v", roles)
			}
		})
	}
}

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// request is a line of the audit log.
type request struct {
	user, verb, resource, role string
	podSecurity                string // Pod Security that was enforced
	code                       int
	after                      time.Duration // since start
}

func (r request) String() string {
	user, code, decision, why := r.user, r.code, "forbid", ""
	if user == "" {
		user = "system:serviceaccount:here:keeper"
	}
	if code == 0 {
		code = 200
	}
	if r.role != "" {
		decision, why = "allow", fmt.Sprintf(`RBAC: allowed by RoleBinding \"b/here\" of Role \"%s\" to ServiceAccount \"keeper/here\"`, r.role)
	}
	resource, sub, _ := strings.Cut(r.resource, "/")
	return fmt.Sprintf(`{"stage":"ResponseComplete","requestURI":"/x","verb":%q,"user":{"username":%q},"objectRef":{"resource":%q,"subresource":%q,"namespace":"here"},`+
		`"responseStatus":{"code":%d},"requestReceivedTimestamp":%q,"annotations":{"authorization.k8s.io/decision":%q,"authorization.k8s.io/reason":"%s","pod-security.kubernetes.io/enforce-policy":%q}}`+"\n",
		r.verb, user, resource, sub, code, start.Add(r.after).Format(time.RFC3339Nano), decision, why, r.podSecurity)
}

// used reads these requests back from a log that was rotated after the first.
func used(t *testing.T, l Log, requests ...request) Uses {
	t.Helper()
	dir := write(t, "audit-2030-01-01T00-00-01.000.log", requests[0].String())
	var rest strings.Builder
	for _, r := range requests[1:] {
		rest.WriteString(r.String())
	}
	rest.WriteString(`{"stage":`) // being written
	path := filepath.Join(dir, "audit.log")
	if err := os.WriteFile(path, []byte(rest.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Operators, l.Since = []string{"keeper"}, start
	uses, err := l.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return uses
}

func TestCompare(t *testing.T) {
	watch := request{verb: "watch", resource: "pods", role: "keeper"}
	applied := request{verb: "patch", resource: "pods", role: "keeper", code: 201}
	status := request{verb: "get", resource: "deployments/status", role: "keeper"}
	// Status is in the core group here, so that it is not the one that is granted.
	for name, c := range map[string]struct {
		requests   []request
		retired    time.Duration // 0: never
		notGranted []string
		notUsed    []string
	}{
		"a watch lists first; what is applied may be created": {
			requests: []request{watch, applied}, notUsed: []string{"get deployments/status.apps"},
		},
		"what is applied to something that is there creates nothing": {
			requests: []request{watch, {verb: "patch", resource: "pods", role: "keeper"}},
			notUsed:  []string{"create pods", "get deployments/status.apps"},
		},
		"a list is no watch": {
			requests: []request{{verb: "list", resource: "pods", role: "keeper"}, applied},
			notUsed:  []string{"watch pods", "get deployments/status.apps"},
		},
		"forbidden": {
			requests: []request{watch, applied, {verb: "list", resource: "secrets", code: 403}}, notUsed: []string{"get deployments/status.apps"},
			notGranted: []string{"forbidden to list secrets"},
		},
		"forbidden while its namespace is deleted": {
			requests: []request{watch, applied, {verb: "list", resource: "secrets", code: 403, after: time.Minute}}, retired: time.Minute,
			notUsed: []string{"get deployments/status.apps"},
		},
		"forbidden before": {
			requests: []request{watch, applied, {verb: "list", resource: "secrets", code: 403, after: time.Minute - 1}}, retired: time.Minute,
			notUsed: []string{"get deployments/status.apps"}, notGranted: []string{"forbidden to list secrets"},
		},
		"allowed by a Role of the name that grants more than the shipped one": {
			requests: []request{watch, applied, status}, notUsed: []string{"get deployments/status.apps"},
			notGranted: []string{"allowed to get deployments/status by a keeper that is not the shipped one"},
		},
		"allowed by a Role of somebody else": {
			requests: []request{watch, applied, {verb: "get", resource: "secrets", role: "admin"}}, notUsed: []string{"get deployments/status.apps"},
			notGranted: []string{`allowed to get secrets by "admin"`},
		},
		"what everybody may": {
			requests: []request{watch, applied, {verb: "create", resource: "selfsubjectaccessreviews", role: "system:basic-user"}},
			notUsed:  []string{"get deployments/status.apps"},
		},
		"somebody else, and long ago": {
			requests: []request{watch, {verb: "create", resource: "pods", role: "keeper", user: "system:serviceaccount:here:other"},
				{verb: "create", resource: "pods", role: "keeper", user: "keeper"}, {verb: "patch", resource: "pods", role: "keeper", after: -time.Second}},
			notUsed: []string{"create pods", "patch pods", "get deployments/status.apps"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log Log
			if c.retired != 0 {
				log.Retired = map[string]time.Time{"here": start.Add(c.retired)}
			}
			uses := used(t, log, c.requests...)
			told(t, "not granted", c.notGranted, NotGranted(granted(t), uses))
			told(t, "not used", c.notUsed, NotUsed(granted(t), uses))
		})
	}
}

func TestEventsThatHappenAgain(t *testing.T) {
	create := Right{Group: "events.k8s.io", Resource: "events", Verb: "create"}
	patch, remove := create, create
	patch.Verb, remove.Verb = "patch", "delete"
	granted := map[string]Role{"keeper": {create: true, patch: true, remove: true}}
	told(t, "not used", []string{"delete events.events.k8s.io"}, NotUsed(granted, Uses{{Role: "keeper", Right: create}: 1}))
}

func TestPodsAreRestricted(t *testing.T) {
	create := request{verb: "create", resource: "pods", role: "keeper", podSecurity: "restricted:latest", code: 201}
	baseline, none, forbidden, late := create, create, create, create
	baseline.podSecurity, none.podSecurity = "baseline:latest", ""
	forbidden.role, forbidden.podSecurity, forbidden.code = "", "", 403
	late.podSecurity, late.code = "", 403 // the namespace is being deleted
	other := request{verb: "patch", resource: "pods", role: "keeper"}
	told(t, "restricted", nil, NotRestricted(used(t, Log{}, create, create, forbidden, late, other)))
	told(t, "not restricted", []string{`Pod Security "" is`, `Pod Security "baseline:latest" is`}, NotRestricted(used(t, Log{}, create, baseline, none)))
}

// told compares findings by what they hold.
func told(t *testing.T, what string, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: want %q, got %q", what, want, got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%s: want %q, got %q", what, want[i], got[i])
		}
	}
}

func TestALogThatIsNoneIsAnError(t *testing.T) {
	dir := write(t, "audit.log", "hello\n")
	if _, err := (Log{}).Read(filepath.Join(dir, "audit.log")); err == nil {
		t.Error("read")
	}
	if _, err := (Log{}).Read(filepath.Join(dir, "other.log")); err == nil {
		t.Error("read what is not there")
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	uses := used(t, Log{}, request{verb: "watch", resource: "pods", role: "keeper"},
		request{verb: "watch", resource: "pods", role: "keeper", user: "system:serviceaccount:home:keeper"},
		request{verb: "watch", resource: "pods", role: "keeper", user: "system:serviceaccount:there:keeper"})
	if err := Table(&out, uses, "home"); err != nil {
		t.Fatal(err)
	}
	want := "operator  allowed by  right       for one namespace  for all namespaces\n" +
		"keeper    keeper      watch pods  2                  1\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
