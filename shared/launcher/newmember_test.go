package launcher

import (
	"strings"
	"testing"
	"time"
)

// dirty is the disk of a Pod that contains a log, as a member's launcher reads it.
type dirty struct {
	Host
	owner *Owner
	used  int64
}

func (d dirty) HasWAL() (bool, error)  { return true, nil }
func (d dirty) Owner() (*Owner, error) { return d.owner, nil }
func (d dirty) Used() (int64, error)   { return d.used, nil }
func (d dirty) Now() time.Time         { return time.Unix(1, 0) }

// A new member's volume must be empty until its first permit is used: unmarked data belongs to another member.
func TestNewMemberRefusesUnmarkedData(t *testing.T) {
	const mine = "cluster-1"
	for name, c := range map[string]struct {
		isNew   bool
		disk    dirty
		refused bool
		reason  string
	}{
		"a new member, unmarked data":                  {true, dirty{}, true, "a local volume that was not wiped"},
		"a new member, its own data":                   {true, dirty{owner: &Owner{mine, "a"}, used: 1}, false, "its container was restarted"},
		"a new member whose mark could not be written": {true, dirty{used: 1}, false, "this Pod has started it"},
		"a member that returns, unmarked data":         {false, dirty{}, false, "an earlier release or a restore wrote it"},
	} {
		o, err := ParseRun(command(c.isNew, mine))
		if err != nil {
			t.Fatal(err)
		}
		l := New(o)
		why, err := l.refusal(c.disk)
		if err != nil || (why != "") != c.refused || c.refused && !strings.Contains(why, "already has data of another") {
			t.Errorf("%s (%s): refused %q, %v, want refused: %t", name, c.reason, why, err, c.refused)
		}
	}
}

// A seed has its permit from the start. The permit must not let etcd start on data that another member left.
func TestPermitDoesNotStartANewMemberOnUnmarkedData(t *testing.T) {
	o, err := ParseRun(command(true, "cluster-1"))
	if err != nil {
		t.Fatal(err)
	}
	l := New(o)
	d, _, err := l.Look(t.Context(), dirty{})
	if err != nil || d.Exec || !d.Refuse || d.Reason != ReasonForeignData {
		t.Errorf("got %+v, %v, want a refusal with reason %s", d, err, ReasonForeignData)
	}
}

func command(isNew bool, cluster string) []string {
	args := []string{"--data-dir=d", "--permit-file=p", "--used-file=u", "--listen=:1", "--name=a", "--peer-url=http://a:2380", "--cluster-uid=" + cluster}
	if isNew {
		args = append(args, "--new-member")
	}
	return append(args, "--", "etcd")
}
