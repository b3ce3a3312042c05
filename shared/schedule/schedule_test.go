package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.UTC()
}

func parse(t *testing.T, text string) Schedule {
	t.Helper()
	if d, ok := strings.CutPrefix(text, "every "); ok {
		every, err := time.ParseDuration(d)
		if err != nil {
			t.Fatal(err)
		}
		return Every(every)
	}
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseRefuses(t *testing.T) {
	rows := map[string]struct {
		reason, text, want string
	}{
		"empty":           {"there is nothing to read", "", "empty spec"},
		"words":           {"not a cron expression", "every day", "expected exactly 5 fields"},
		"six fields":      {"seconds are not standard", "0 0 * * * *", "expected exactly 5 fields"},
		"out of range":    {"there is no minute 60", "60 * * * *", "above maximum"},
		"step of zero":    {"it would never move", "*/0 * * * *", "step of range should be a positive number"},
		"unknown name":    {"@reboot is no time", "@reboot", "unrecognized descriptor"},
		"zone alone":      {"the parser panics on it", "CRON_TZ=UTC", "no cron expression follows"},
		"zone alone, TZ":  {"the same in its old spelling", "TZ=UTC", "no cron expression follows"},
		"two zones":       {"the parser panics on the second", "TZ=UTC TZ=", "more than one time zone"},
		"empty zone":      {"Go takes that for UTC", "CRON_TZ= 0 * * * *", "not the name of a time zone"},
		"local zone":      {"whatever the operator's machine is set to", "TZ=Local 0 * * * *", "not the name of a time zone"},
		"unknown zone":    {"a typing mistake", "CRON_TZ=Europe/Atlantis 0 * * * *", "not the name of a time zone"},
		"zone with dots":  {"not a path either", "CRON_TZ=../etc/passwd 0 * * * *", "not the name of a time zone"},
		"every nothing":   {"not a duration", "@every often", "not a duration"},
		"every backwards": {"the parser makes a second of it", "@every -5m", "shorter than a second"},
		"every instant":   {"the parser makes a second of it", "@every 1ms", "shorter than a second"},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(r.text)
			if err == nil {
				t.Fatalf("%s: Parse(%q) = %v, want an error", r.reason, r.text, s)
			}
			if !strings.Contains(err.Error(), r.want) {
				t.Errorf("%s: Parse(%q): %q does not say %q", r.reason, r.text, err, r.want)
			}
		})
	}
}

func TestNext(t *testing.T) {
	rows := map[string]struct {
		reason           string
		text, after, now string
		want             []string // this one and those after it
	}{
		"hourly":                 {"on the hour", "0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z", []string{"2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z"}},
		"between two":            {"a part of a second counts", "* * * * *", "2026-01-01T10:00:00Z", "2026-01-01T10:00:59.9Z", []string{"2026-01-01T10:01:00Z"}},
		"done ahead of the time": {"the clock was put back: what is done with stays so", "* * * * *", "2026-01-01T10:05:00Z", "2026-01-01T10:00:30Z", []string{"2026-01-01T10:06:00Z"}},
		"zone":                   {"30 past 3 in Berlin is 2:30 in winter", "CRON_TZ=Europe/Berlin 30 3 * * *", "2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z", []string{"2026-01-02T02:30:00Z"}},
		"zone, old spelling":     {"TZ= means the same", "TZ=Europe/Berlin 30 3 * * *", "2026-07-01T10:00:00Z", "2026-07-01T10:00:00Z", []string{"2026-07-02T01:30:00Z"}},
		"descriptor in a zone":   {"midnight is the zone's", "CRON_TZ=Asia/Tokyo @daily", "2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z", []string{"2026-01-01T15:00:00Z"}},
		"clocks put forward":     {"02:30 does not exist on that day", "CRON_TZ=America/New_York 30 2 * * *", "2026-03-07T12:00:00Z", "2026-03-07T12:00:00Z", []string{"2026-03-09T06:30:00Z"}},
		"clocks put back":        {"01:30 comes twice that day", "CRON_TZ=America/New_York 30 1 * * *", "2026-10-31T12:00:00Z", "2026-10-31T12:00:00Z", []string{"2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"}},
		"midnight skipped":       {"the day in Havana begins at 1 o'clock, and the hours after it are as ever", "CRON_TZ=America/Havana 0 * * * *", "2026-03-08T04:00:00Z", "2026-03-08T04:00:00Z", []string{"2026-03-08T05:00:00Z", "2026-03-08T06:00:00Z"}},
		"hourly across summer":   {"an hourly backup does not care", "CRON_TZ=Europe/Berlin 0 * * * *", "2026-03-29T00:00:00Z", "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"}},
		"leap day":               {"there are years until then", "0 0 29 2 *", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
		"interval":               {"counted from the last", "every 90s", "2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z", []string{"2026-01-01T10:01:30Z", "2026-01-01T10:03:00Z"}},
		"interval after a gap":   {"those that are missed do not shift the others", "every 90s", "2026-01-01T10:00:00Z", "2026-01-01T10:10:00Z", []string{"2026-01-01T10:10:30Z"}},
		"interval, ahead":        {"the clock was put back", "every 90s", "2026-01-01T10:00:00Z", "2026-01-01T09:00:00Z", []string{"2026-01-01T10:01:30Z"}},
		"@every":                 {"a descriptor that is an interval", "@every 6h", "2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z", []string{"2026-01-01T16:00:00Z"}},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			s := parse(t, r.text)
			after, now := at(t, r.after), at(t, r.now)
			var got []string
			for range r.want {
				next := s.Next(after, now)
				got = append(got, next.Format(time.RFC3339))
				after, now = next, next
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.reason, diff)
			}
		})
	}
}

func TestNever(t *testing.T) {
	s := parse(t, "0 0 30 2 *")
	now := at(t, "2026-01-01T00:00:00Z")
	if next := s.Next(now, now); !next.IsZero() {
		t.Errorf("30 February comes at %s", next)
	}
	if newest, n := s.Due(now, now.AddDate(50, 0, 0)); n != 0 || !newest.IsZero() {
		t.Errorf("30 February came at %s (%d)", newest, n)
	}
}

func TestDue(t *testing.T) {
	type due struct {
		Newest string
		Count  int64
	}
	rows := map[string]struct {
		reason           string
		text, after, now string
		want             due
	}{
		"none yet":             {"a second too early", "0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T10:59:59Z", due{}},
		"just now":             {"to the second", "0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", due{"2026-01-01T11:00:00Z", 1}},
		"a few":                {"the newest is made up", "0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T13:30:00Z", due{"2026-01-01T13:00:00Z", 3}},
		"clock put back":       {"nothing is due twice", "0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T09:30:00Z", due{}},
		"years of minutes":     {"five million of them: counting stops, and the newest is right", "* * * * *", "2016-01-01T00:00:00Z", "2026-01-01T00:00:30Z", due{"2026-01-01T00:00:00Z", MaxCount}},
		"sparse and dense":     {"all minutes of one day a year", "* * 1 1 *", "2025-06-01T00:00:00Z", "2026-06-01T00:00:00Z", due{"2026-01-01T23:59:00Z", MaxCount}},
		"clocks put forward":   {"that night has none", "CRON_TZ=America/New_York 30 2 * * *", "2026-03-07T12:00:00Z", "2026-03-08T23:00:00Z", due{}},
		"clocks put back":      {"that night has two", "CRON_TZ=America/New_York 30 1 * * *", "2026-10-31T12:00:00Z", "2026-11-01T23:00:00Z", due{"2026-11-01T06:30:00Z", 2}},
		"a year of Berlin":     {"at 3:30 every night; the clocks change at 2 and 3", "CRON_TZ=Europe/Berlin 30 3 * * *", "2026-01-01T12:00:00Z", "2027-01-01T12:00:00Z", due{"2027-01-01T02:30:00Z", 365}},
		"interval, none":       {"not yet", "every 1h", "2026-01-01T10:00:00Z", "2026-01-01T10:59:59.9Z", due{}},
		"interval, one":        {"just now", "every 1h", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", due{"2026-01-01T11:00:00Z", 1}},
		"interval, years":      {"arithmetic", "every 1s", "2016-01-01T00:00:00Z", "2026-01-01T00:00:00Z", due{"2026-01-01T00:00:00Z", 315619200}},
		"interval, put back":   {"nothing is due twice", "every 1h", "2026-01-01T10:00:00Z", "2025-01-01T10:00:00Z", due{}},
		"interval, very long":  {"longer than the gap", "every 876000h", "2016-01-01T00:00:00Z", "2026-01-01T00:00:00Z", due{}},
		"interval, not whole":  {"rounded down to seconds", "every 1500ms", "2026-01-01T10:00:00Z", "2026-01-01T10:00:03Z", due{"2026-01-01T10:00:03Z", 3}},
		"interval, too little": {"a second is the least", "every 1ms", "2026-01-01T10:00:00Z", "2026-01-01T10:00:03Z", due{"2026-01-01T10:00:03Z", 3}},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			newest, n := parse(t, r.text).Due(at(t, r.after), at(t, r.now))
			got := due{Count: n}
			if !newest.IsZero() {
				got.Newest = newest.Format(time.RFC3339)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.reason, diff)
			}
		})
	}
}

// An interval begins at once, a cron expression at its first time.
func TestStart(t *testing.T) {
	now := at(t, "2026-01-01T10:00:30Z")
	for text, want := range map[string]string{
		"every 1h":  "2026-01-01T10:00:30Z",
		"@every 1h": "2026-01-01T11:00:30Z",
		"0 * * * *": "2026-01-01T11:00:00Z",
	} {
		s := parse(t, text)
		start := s.Start(now)
		if got := s.Next(start, start).Format(time.RFC3339); got != want {
			t.Errorf("%s begins at %s, want %s", text, got, want)
		}
	}
}

func TestSameNameSameTimes(t *testing.T) {
	for a, b := range map[string]string{"0  *   * * *": "0 * * * *", "@every 6h": "@every  6h"} {
		if x, y := parse(t, a).String(), parse(t, b).String(); x != y {
			t.Errorf("%q is called %q, and %q is called %q", a, x, b, y)
		}
	}
	if x, y := parse(t, "@every 6h").String(), parse(t, "every 6h").String(); x == y {
		t.Errorf("both are called %q, and only one of them begins at once", x)
	}
}

// The zero Schedule has no times.
func TestZero(t *testing.T) {
	var s Schedule
	now := at(t, "2026-01-01T10:00:30Z")
	if next := s.Next(now, now); !next.IsZero() {
		t.Errorf("Next = %s", next)
	}
	if newest, n := s.Due(now.AddDate(-1, 0, 0), now); n != 0 || !newest.IsZero() {
		t.Errorf("Due = %s, %d", newest, n)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"0 */6 * * *", "@daily", "@every 1h30m", "CRON_TZ=Europe/Berlin 30 3 * * 1-5", "TZ=UTC", "CRON_TZ=", "TZ=0",
		"TZ=UTC TZ=", "* * 31 2 *", "CRON_TZ=America/Havana 0 0 * * *", "CRON_TZ=Australia/Lord_Howe 15 2 * * 0", "1-5/2 ? 1,2 jan MON",
	} {
		f.Add(text, int64(1770000000), int64(100000))
	}
	f.Fuzz(func(t *testing.T, text string, start, gap int64) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		// Within the years of which time zones are known for certain.
		const year = 365 * 24 * 3600
		after := time.Unix(abs(start)%(70*year), 0)
		now := after.Add(time.Duration(abs(gap)%(20*year)) * time.Second)
		newest, n := s.Due(after, now)
		next := s.Next(after, now)
		if !next.IsZero() && !next.After(now) {
			t.Errorf("%q: Next(%s, %s) = %s", text, after, now, next)
		}
		if (n == 0) != newest.IsZero() || n < 0 {
			t.Fatalf("%q: Due(%s, %s) = %s, %d", text, after, now, newest, n)
		}
		if n == 0 {
			if first := s.Next(after, after); !first.IsZero() && !first.After(now) {
				t.Errorf("%q: nothing is due between %s and %s, and %s was", text, after, now, first)
			}
			return
		}
		if !newest.After(after) || newest.After(now) {
			t.Errorf("%q: Due(%s, %s) = %s", text, after, now, newest)
		}
		if s.Interval() == 0 {
			if later := s.Next(newest, newest); !later.IsZero() && !later.After(now) {
				t.Errorf("%q: %s is not the newest that is due at %s: %s is", text, newest, now, later)
			}
		}
	})
}

func abs(n int64) int64 {
	if n < 0 {
		return -(n + 1)
	}
	return n
}
