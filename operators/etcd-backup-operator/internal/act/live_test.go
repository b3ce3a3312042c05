package act

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// answers is a transport with one reply, or without one.
type answers struct {
	reply *http.Response
	err   error
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) { return a.reply, a.err }

// A time that is not there, or is no time, is not known; and nothing else becomes of it.
func TestServerTime(t *testing.T) {
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dated := func(date string) answers {
		return answers{reply: &http.Response{Header: http.Header{"Date": {date}}}}
	}
	for name, row := range map[string]struct {
		answers
		want time.Time
	}{
		"a date":   {dated(day.Format(http.TimeFormat)), day},
		"none":     {answers{reply: &http.Response{Header: http.Header{}}}, time.Time{}},
		"no date":  {dated("yesterday"), time.Time{}},
		"no reply": {answers{err: errors.New("connection refused")}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			var at time.Time
			request, err := http.NewRequestWithContext(withServerTime(t.Context(), &at), http.MethodGet, "http://apiserver", nil)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := timed{row.answers}.RoundTrip(request)
			if reply != row.reply || !errors.Is(err, row.err) || !at.Equal(row.want) {
				t.Errorf("got %v, %v at %s; want %s", reply, err, at, row.want)
			}
			if _, err := (timed{row.answers}).RoundTrip(request.WithContext(t.Context())); !errors.Is(err, row.err) {
				t.Errorf("got %v where nobody asks for the time", err)
			}
		})
	}
}
