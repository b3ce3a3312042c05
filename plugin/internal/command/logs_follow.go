package command

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// following are the logs that are followed: of each container that runs in one of the Pods, also of those
// that come later.
type following struct {
	*logLines
	list    func(context.Context) ([]corev1.Pod, error)
	options corev1.PodLogOptions

	state   sync.Mutex
	streams map[string]*logStream
	reading sync.WaitGroup
	// failed is why no log can be read, for good.
	failed chan error
}

// logStream is the log of one container.
type logStream struct {
	open bool
	// last is when the last line was written that was shown, by the clock of its node.
	last time.Time
}

// follow shows the logs until the user ends it, or they cannot be read for good.
func (f *following) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer f.reading.Wait()
	defer cancel()
	f.streams, f.failed = map[string]*logStream{}, make(chan error, 1)
	f.options.Timestamps = true // to go on where a stream broke off
	for isFirst := true; ; {
		pods, err := f.list(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case isTransient(err):
			f.say(noAnswer(err))
		case err != nil:
			return err
		default:
			for i := range pods {
				f.begin(ctx, &pods[i], isFirst)
			}
			isFirst = false
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-f.failed:
			return err
		case <-time.After(f.a.Refresh):
		}
	}
}

// begin reads the log of a Pod's container, unless it is read already. Of one that was there when all
// began, only what the options say; of a later one all; of one whose log broke off, what came since.
func (f *following) begin(ctx context.Context, p *corev1.Pod, isFirst bool) {
	id, runs := container(p)
	key := string(p.UID) + "/" + id
	f.state.Lock()
	defer f.state.Unlock()
	stream, isKnown := f.streams[key]
	if isKnown && (stream.open || !runs) || !isKnown && !isFirst && id == "" {
		return
	}
	if !isKnown {
		stream = &logStream{}
		f.streams[key] = stream
	}
	stream.open = true
	options := f.options
	if isKnown || !isFirst {
		options.TailLines, options.SinceSeconds = nil, nil
	}
	if !stream.last.IsZero() {
		options.SinceTime = &metav1.Time{Time: stream.last}
	}
	f.reading.Go(func() {
		last, err := f.show(ctx, p, options, stream.last)
		f.tell(ctx, err)
		f.state.Lock()
		defer f.state.Unlock()
		stream.open, stream.last = false, last
	})
}

// tell says why a log could not be read. A Pod that is gone, or whose container has not begun, is no
// failure; what can't heal ends all.
func (f *following) tell(ctx context.Context, err error) {
	switch {
	case err == nil, ctx.Err() != nil, apierrors.IsNotFound(err), apierrors.IsBadRequest(err):
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		select {
		case f.failed <- err:
		default: // another one has said so
		}
	default:
		f.say(err.Error())
	}
}

// container is the container of a Pod whose log is read, and whether it runs; empty before it has begun.
func container(p *corev1.Pod) (id string, runs bool) {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == mainContainer(p) {
			return s.ContainerID, s.State.Running != nil
		}
	}
	return "", false
}

// say tells of what goes on, between the lines.
func (l *logLines) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.a.ErrOut, "%s  %s\n", l.a.Now().Format(time.TimeOnly), text)
}
