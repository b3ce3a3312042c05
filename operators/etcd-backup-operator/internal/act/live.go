package act

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// serverTimeKey is that of a context's *time.Time which [timed] sets.
type serverTimeKey struct{}

// withServerTime returns a context in which each reply to a live read sets at to the API
// server's clock. It stays as it is where replies carry no time.
func withServerTime(ctx context.Context, at *time.Time) context.Context {
	return context.WithValue(ctx, serverTimeKey{}, at)
}

// LiveReader reads from the API server itself, and its clock if withServerTime asks for it.
func LiveReader(mgr ctrl.Manager) (client.Reader, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return timed{next} })
	return client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
}

// timed is a transport that tells when a reply was made: its header Date, in whole seconds
// (RFC 9110, 6.6.1).
type timed struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t timed) RoundTrip(request *http.Request) (*http.Response, error) {
	reply, err := t.next.RoundTrip(request)
	if at, ok := request.Context().Value(serverTimeKey{}).(*time.Time); ok && err == nil {
		if date, bad := http.ParseTime(reply.Header.Get("Date")); bad == nil {
			*at = date
		}
	}
	return reply, err
}
