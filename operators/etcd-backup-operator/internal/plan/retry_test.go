package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// A backup is tried again until the next one is due, or for an hour if none follows.
func TestRetryUntil(t *testing.T) {
	const hour, minute = time.Hour, time.Minute
	rows := map[string]struct {
		reason string
		o      Observation
		until  time.Duration // since the creation
	}{
		"one-shot":      {reason: "nothing follows", o: observe(), until: hour},
		"one-shot, old": {reason: "an hour from its start", o: observe(after(72 * hour)), until: 73 * hour},
		"interval":      {reason: "the next one does what this one could not", o: observe(every(6 * hour)), until: 6 * hour},
		"made up": {
			reason: "it is late, and the next one is not",
			o:      observe(every(hour), counted("every 1h0m0s", 0), after(90*minute)), until: 2 * hour,
		},
		"cron": {reason: "as with intervals", o: observe(cron("30 * * * *"), counted("cron 30 * * * *", 0), after(31*minute)), until: 90 * minute},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			d := noted(r.o)
			start, ok := d.Action.(StartJob)
			if !ok {
				t.Fatalf("the action is %+v: %s", d.Action, d.Message)
			}
			if want := born.Add(r.until); !start.RetryUntil.Equal(want) || !start.Started.Equal(r.o.Now) {
				t.Errorf("%s: started at %s and tried until %s, want %s and %s", r.reason, start.Started, start.RetryUntil, r.o.Now, want)
			}
		})
	}
}

// Until when a backup is tried again, and why, is in the status meanwhile.
func TestRetryIsTold(t *testing.T) {
	once := noted(observe(started(0, reportedFailure(false)), after(5*time.Minute)))
	if c := find(t, once.Status.Conditions, v1beta2.ConditionFailed); !strings.Contains(c.Message, "backup attempt failed: there is no bucket mybucket; Job "+name(0)+" retries for up to an hour") {
		t.Errorf("of a one-shot backup it says %q", c.Message)
	}
	hourly := noted(observe(every(time.Hour), counted("every 1h0m0s", 0), started(0, reportedFailure(false)), after(5*time.Minute)))
	if c := find(t, hourly.Status.Conditions, v1beta2.ConditionFailed); !strings.Contains(c.Message, "retries until the next backup is due at 2026-01-01T11:00:00Z") {
		t.Errorf("of a repeated one it says %q", c.Message)
	}
}
