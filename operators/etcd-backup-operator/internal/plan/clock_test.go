package plan

import (
	"testing"
	"time"
)

// ttlSecondsAfterFinished counts from completionTime, which an agent dates. With a slow clock on its node, the
// EtcdBackup would be deleted before anyone has read its status.
func TestCompletionTimeIsNotTooEarly(t *testing.T) {
	const ended = 4 * time.Second
	for name, row := range map[string]struct {
		reason    string
		witnessed bool
		clock     time.Duration
		want      time.Duration
	}{
		"a right clock": {"the agent knows best", true, 0, 3 * time.Second},
		"a slow clock":  {"the backup has just ended", true, -time.Hour, ended},
		"a fast clock":  {"no time in the status is in the future", true, time.Hour, ended},
		"an end that the operator did not witness": {"the backup might have ended an hour ago", false, -time.Hour, 3*time.Second - time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			o := observe(started(0, reported), after(ended))
			j := &o.Jobs[0]
			j.Result.Finished = j.Result.Finished.Add(row.clock)
			if row.witnessed {
				j.Witnessed = o.Now
			}
			got := Plan(o).Recorded[0].CompletionTime
			if want := timeAt(row.want); !got.Equal(want) {
				t.Errorf("completed at %s, want %s: %s", got, want, row.reason)
			}
		})
	}
}
