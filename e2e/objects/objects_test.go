package objects

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
)

func configMap(name string, version int64, value int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "objects", UID: "uid", ResourceVersion: strconv.FormatInt(version, 10)},
		Data:       map[string]string{valueKey: strconv.Itoa(value)},
	}
}

// TestWriterChecks: what the writer objects to, after it was told of two objects, of the second of
// which a write failed.
func TestWriterChecks(t *testing.T) {
	a, b := Object{UID: "uid", Version: 5, Value: 1}, Object{UID: "uid", Version: 6, Value: 3}
	for name, row := range map[string]struct {
		reason string
		is     Content
		wants  []string
	}{
		"all as acknowledged": {"nothing is wrong", Content{"a": a, "b": b}, nil},
		"a failed write done": {"it may have been done before it failed", Content{"a": a, "b": {UID: "uid", Version: 9, Value: 4}}, nil},
		"one is lost":         {"it was acknowledged", Content{"b": b}, []string{"a is lost"}},
		"one is older":        {"a later state was acknowledged", Content{"a": {UID: "uid", Version: 4}, "b": b}, []string{"a is {UID:uid Version:4 Value:0}"}},
		"one is another":      {"it was deleted and created again", Content{"a": {UID: "other", Version: 5, Value: 1}, "b": b}, []string{"a is {UID:other"}},
		"two writes too many": {"only one has failed", Content{"a": a, "b": {UID: "uid", Version: 9, Value: 5}}, []string{"b is"}},
		"one too many":        {"nobody has created it", Content{"a": a, "b": b, "c": a}, []string{"c is there"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWriter(nil)
			w.note("a", configMap("a", 5, 1), nil)
			w.note("b", configMap("b", 6, 3), nil)
			w.note("b", nil, errors.New("timeout"))
			got := w.Check(row.is)
			if !slices.EqualFunc(got, row.wants, strings.HasPrefix) {
				t.Errorf("%s: %q, want %q", row.reason, got, row.wants)
			}
			if n, failures := w.Writes(); n != 2 || failures["timeout"] != 1 {
				t.Errorf("%d writes are acknowledged, and failed are %v", n, failures)
			}
		})
	}
}

// TestWriterSeesVersionsGoBack: each write has a higher resource version than the one before.
func TestWriterSeesVersionsGoBack(t *testing.T) {
	w := NewWriter(nil)
	w.note("a", configMap("a", 5, 0), nil)
	w.note("b", configMap("b", 5, 0), nil)
	if got := w.Check(w.acknowledged); len(got) != 1 || !strings.Contains(got[0], "after one at 5") {
		t.Errorf("%q", got)
	}
}

// TestWriterIsRefused: the API server has another object than the one that was acknowledged.
func TestWriterIsRefused(t *testing.T) {
	w := NewWriter(fake.NewClientset(configMap("b", 5, 0)).CoreV1().ConfigMaps("objects"))
	w.acknowledged["a"] = Object{UID: "uid", Version: 5}
	w.update(t.Context(), "a")
	w.create(t.Context(), "b")
	if len(w.broken) != 2 || !strings.HasPrefix(w.broken[0], "a is not what was acknowledged") || !strings.HasPrefix(w.broken[1], "b exists") {
		t.Errorf("%q", w.broken)
	}
}

// TestWatcherSees: what the watcher objects to, after a list at version 10, of an object with the
// value 3.
func TestWatcherSees(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old resource version").Status()
	for name, row := range map[string]struct {
		reason  string
		event   watch.Event
		wants   string
		expired int
	}{
		"a change":             {"it is newer in all", watch.Event{Type: watch.Modified, Object: configMap("a", 11, 4)}, "", 0},
		"another object":       {"it is not known", watch.Event{Type: watch.Added, Object: configMap("b", 11, 0)}, "", 0},
		"an older version":     {"versions grow", watch.Event{Type: watch.Modified, Object: configMap("a", 9, 4)}, "at resource version 9, after 10", 0},
		"the same version":     {"it was in the list", watch.Event{Type: watch.Modified, Object: configMap("a", 10, 4)}, "at resource version 10, after 10", 0},
		"an older value":       {"its value grows", watch.Event{Type: watch.Modified, Object: configMap("a", 11, 2)}, "with the value 2, after 3", 0},
		"a deletion":           {"nobody deletes", watch.Event{Type: watch.Deleted, Object: configMap("a", 11, 3)}, "a is deleted", 0},
		"a bookmark":           {"it only tells a version", watch.Event{Type: watch.Bookmark, Object: configMap("", 10, 0)}, "", 0},
		"an old bookmark":      {"versions grow", watch.Event{Type: watch.Bookmark, Object: configMap("", 9, 0)}, "at resource version 9, after 10", 0},
		"what it has expired":  {"it has to list again", watch.Event{Type: watch.Error, Object: &expired}, "", 1},
		"another failure":      {"it can go on", watch.Event{Type: watch.Error, Object: &metav1.Status{Code: http.StatusInternalServerError}}, "", 0},
		"a version of letters": {"it is etcd's revision", watch.Event{Type: watch.Modified, Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "x"}, Data: map[string]string{valueKey: "4"}}}, `resource version "x"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWatcher(nil)
			w.newest, w.values["a"] = 10, 3
			w.see(row.event)
			_, told, broken := w.Report()
			if told != row.expired || (row.wants == "") != (len(broken) == 0) || !strings.Contains(strings.Join(broken, "; "), row.wants) {
				t.Errorf("%s: it was told %d times to list again, want %d, and objects to %q, want %q", row.reason, told, row.expired, broken, row.wants)
			}
		})
	}
}

// TestWatcherSeesListsGoBack: a list is never older than what was seen before.
func TestWatcherSeesListsGoBack(t *testing.T) {
	client := fake.NewClientset(configMap("a", 5, 0))
	w := NewWatcher(client.CoreV1().ConfigMaps("objects"))
	w.newest = 1 << 40
	if _, err := w.list(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if lists, _, broken := w.Report(); lists != 1 || len(broken) != 1 || !strings.Contains(broken[0], "a list at") {
		t.Errorf("%d lists, %q", lists, broken)
	}
}

// TestContentDiffers: every difference is named.
func TestContentDiffers(t *testing.T) {
	of := Content{"a": {UID: "uid", Version: 5, Value: 1}}
	for name, row := range map[string]struct {
		is   Content
		want string
	}{
		"the same":    {Content{"a": of["a"]}, ""},
		"one missing": {Content{}, "a is missing"},
		"one other":   {Content{"a": {UID: "uid", Version: 6, Value: 1}}, "want {UID:uid Version:5 Value:1}"},
		"one more":    {Content{"a": of["a"], "b": of["a"]}, "b is there"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := row.is.Diff(of); (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
