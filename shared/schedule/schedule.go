// Package schedule knows when something repeated is due, such as a backup: by a fixed
// interval or by a cron expression. It reads no clock, and its work is bounded whatever
// the gap between two looks at it.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the operator's image holds no zones

	"github.com/robfig/cron/v3"
)

// MaxCount is up to where Due counts the times of a cron expression: a minutely
// schedule that nobody looked at for years has millions of them.
const MaxCount = 1000

// lastYear is the last year whose times can be written in JSON.
const lastYear = 9999

// Schedule is a series of times, in whole seconds of UTC. The zero Schedule has none.
type Schedule struct {
	every  time.Duration
	atOnce bool
	cron   cron.Schedule
	text   string
}

// Every has a time whenever d (rounded down to whole seconds, and at least one) has
// passed since the last, the first of them at once.
func Every(d time.Duration) Schedule {
	d = max(d.Truncate(time.Second), time.Second)
	return Schedule{every: d, atOnce: true, text: "every " + d.String()}
}

// Parse reads a cron expression of the five standard fields or a descriptor such as
// @daily or "@every 6h", in UTC, or with CRON_TZ=<zone> (or TZ=<zone>) before it, in
// that zone. Where clocks are put forward, a time that does not exist that day is left
// out; where they are put back, one that comes twice that day is there twice.
func Parse(expression string) (Schedule, error) {
	text := strings.Join(strings.Fields(expression), " ")
	zone, rest, err := cutZone(text)
	if err != nil {
		return Schedule{}, err
	}
	if d, ok := strings.CutPrefix(rest, "@every "); ok {
		return parseEvery(d, text)
	}
	c, err := cron.ParseStandard(rest)
	if err != nil {
		return Schedule{}, err
	}
	// Without a zone of its own, the expression is read in that of the time it is
	// asked about.
	if spec, ok := c.(*cron.SpecSchedule); ok {
		spec.Location = zone
	}
	return Schedule{cron: c, text: "cron " + text}, nil
}

// cutZone takes the zone off the front of an expression. The parser can do that too,
// and panics when nothing follows.
func cutZone(text string) (zone *time.Location, rest string, err error) {
	value, ok := strings.CutPrefix(text, "CRON_TZ=")
	if !ok {
		if value, ok = strings.CutPrefix(text, "TZ="); !ok {
			return time.UTC, text, nil
		}
	}
	name, rest, ok := strings.Cut(value, " ")
	if !ok {
		return nil, "", errors.New("no cron expression follows the time zone")
	}
	if strings.Contains(rest, "=") {
		return nil, "", errors.New("there is more than one time zone")
	}
	// time.LoadLocation takes Local for the zone of this machine.
	if name == "" || name == "Local" {
		return nil, "", fmt.Errorf("%q is not the name of a time zone, such as Europe/Berlin", name)
	}
	zone, err = time.LoadLocation(name)
	if err != nil {
		return nil, "", fmt.Errorf("%q is not the name of a time zone, such as Europe/Berlin", name)
	}
	return zone, rest, nil
}

func parseEvery(duration, text string) (Schedule, error) {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return Schedule{}, fmt.Errorf("%q is not a duration, such as 6h", duration)
	}
	if d < time.Second {
		return Schedule{}, fmt.Errorf("%s is shorter than a second", duration)
	}
	s := Every(d)
	s.atOnce, s.text = false, "cron "+text
	return s, nil
}

// String names the schedule: two of the same name have the same times.
func (s Schedule) String() string { return s.text }

// Equal reports whether two schedules have the same name.
func (s Schedule) Equal(o Schedule) bool { return s.text == o.text }

// Start is the time to count from (see Next and Due) for the first time of the schedule
// to be at t, where it begins at once, and else later than t.
func (s Schedule) Start(t time.Time) time.Time {
	t = whole(t)
	if s.atOnce {
		return t.Add(-s.every)
	}
	return t
}

// Interval is the time from one to the next, or 0 if that differs.
func (s Schedule) Interval() time.Duration { return s.every }

// Next is the first time that is later than both after and now; zero if there is none.
// The times of an interval are counted from after.
func (s Schedule) Next(after, now time.Time) time.Time {
	after, now = whole(after), whole(now)
	if s.every > 0 {
		n := int64(1)
		if now.After(after) {
			n += int64(now.Sub(after) / s.every)
		}
		return valid(s.step(after, n))
	}
	if now.After(after) {
		after = now
	}
	return s.next(after)
}

// Due are the times later than after and not later than now: the newest of them, and
// how many there are, at most MaxCount of a cron expression. Both are zero if there is
// none. The times of an interval are counted from after.
func (s Schedule) Due(after, now time.Time) (newest time.Time, count int64) {
	after, now = whole(after), whole(now)
	if !now.After(after) {
		return time.Time{}, 0
	}
	if s.every > 0 {
		if count = int64(now.Sub(after) / s.every); count == 0 {
			return time.Time{}, 0
		}
		return valid(s.step(after, count)), count
	}
	first := s.next(after)
	if first.IsZero() || first.After(now) {
		return time.Time{}, 0
	}
	newest = s.newest(after, now)
	for t := first; !t.IsZero() && !t.After(newest) && count < MaxCount; t = s.next(t) {
		count++
	}
	return newest, count
}

// step is after plus n intervals; n is at most what makes that a time.Duration, give
// or take one interval.
func (s Schedule) step(after time.Time, n int64) time.Time {
	return after.Add(time.Duration(n-1) * s.every).Add(s.every)
}

// newest is the last time of a cron expression that is not later than now, of which
// there is at least one later than after. It halves the gap until that is a second.
func (s Schedule) newest(after, now time.Time) time.Time {
	low, high := after.Unix(), now.Unix()
	for high-low > 1 {
		middle := low + (high-low)/2
		if t := s.next(time.Unix(middle, 0)); t.IsZero() || t.After(now) {
			high = middle
		} else {
			low = middle
		}
	}
	return s.next(time.Unix(low, 0))
}

// next is the first time of a cron expression later than t; zero if there is none
// within years.
func (s Schedule) next(t time.Time) time.Time {
	if s.cron == nil {
		return time.Time{}
	}
	next := s.cron.Next(t.UTC())
	if next.IsZero() {
		return next
	}
	return valid(next.UTC())
}

// valid is t, or zero if it lies too far ahead to be written down.
func valid(t time.Time) time.Time {
	if t.Year() > lastYear {
		return time.Time{}
	}
	return t
}

func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
