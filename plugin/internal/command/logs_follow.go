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

	state sync.Mutex
	// ended is when the log of a container ended last; nil while it is read.
	ended   map[string]*time.Time
	streams sync.WaitGroup
}

// follow shows the logs until the user ends it, or the list cannot be read for good.
func (f *following) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer f.streams.Wait()
	defer cancel()
	f.ended = map[string]*time.Time{}
	for isFirst := true; ; isFirst = false {
		pods, err := f.list(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case isTransient(err):
			f.say(noAnswer(err))
		case err != nil:
			return err
		}
		for i := range pods {
			f.begin(ctx, &pods[i], isFirst)
		}
		select {
		case <-ctx.Done():
			return nil
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
	ended, isKnown := f.ended[key]
	if isKnown && (ended == nil || !runs) || !isKnown && !isFirst && id == "" {
		f.state.Unlock()
		return
	}
	f.ended[key] = nil
	f.state.Unlock()

	options := f.options
	if isKnown || !isFirst {
		options.TailLines, options.SinceSeconds = nil, nil
	}
	if isKnown {
		options.SinceTime = &metav1.Time{Time: *ended}
	}
	f.streams.Go(func() {
		err := f.show(ctx, p, options)
		if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
			f.say(err.Error())
		}
		f.state.Lock()
		defer f.state.Unlock()
		at := f.a.Now()
		f.ended[key] = &at
	})
}

// container is the container of a Pod whose log is read, and whether it runs; empty before it has begun.
func container(p *corev1.Pod) (id string, runs bool) {
	for _, s := range p.Status.ContainerStatuses {
		if len(p.Spec.Containers) > 0 && s.Name == p.Spec.Containers[0].Name {
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
