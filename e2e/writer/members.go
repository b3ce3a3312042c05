package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// askTimeout bounds the question to one member.
const askTimeout = 3 * time.Second

// Members is etcd's own member list, read linearizably, with what each member says
// of itself: so that a test need not take the operator's word.
func (w *Writer) Members(ctx context.Context) ([]Member, error) {
	// A connection to a member that has just ended is noticed late on a busy machine.
	ctx, cancel := context.WithTimeout(ctx, 10*askTimeout)
	defer cancel()
	c, err := w.fresh()
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer c.Close()
	list, err := c.MemberList(ctx)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	members := make([]Member, len(list.Members))
	var wg sync.WaitGroup
	for i, m := range list.Members {
		wg.Go(func() {
			members[i] = Member{ID: id(m.ID), Name: m.Name, Learner: m.IsLearner}
			members[i].ask(ctx, w, m.ClientURLs)
		})
	}
	wg.Wait()
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return members, nil
}

func (m *Member) ask(ctx context.Context, w *Writer, urls []string) {
	if len(urls) == 0 {
		m.Error = "not started"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*askTimeout)
	defer cancel()
	c, err := clientv3.New(w.credentials(clientv3.Config{Endpoints: urls, TLS: w.o.TLS, Logger: zap.NewNop()}))
	if err != nil {
		m.Error = err.Error()
		return
	}
	defer c.Close()
	s, err := c.Status(ctx, urls[0])
	if err != nil {
		m.Error = err.Error()
		return
	}
	m.Version = s.Version
	m.Leader = s.Leader == s.Header.MemberId
}

// MoveLeader makes the member of that name the leader.
func (w *Writer) MoveLeader(ctx context.Context, to string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*askTimeout)
	defer cancel()
	list, err := w.client().MemberList(ctx)
	if err != nil {
		return fmt.Errorf("list members: %w", err)
	}
	var target uint64
	var urls []string
	for _, m := range list.Members {
		urls = append(urls, m.ClientURLs...)
		if m.Name == to {
			target = m.ID
		}
	}
	if target == 0 {
		return fmt.Errorf("there is no member %q", to)
	}
	return w.tell(ctx, urls, target)
}

// tell asks the leader, whichever it is, to hand over.
func (w *Writer) tell(ctx context.Context, urls []string, target uint64) error {
	for _, url := range urls {
		leads, err := w.handOver(ctx, url, target)
		if leads {
			return err
		}
	}
	return errors.New("no member leads")
}

// handOver asks one member to hand over, if it is the leader.
func (w *Writer) handOver(ctx context.Context, url string, target uint64) (leads bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, TLS: w.o.TLS, Logger: zap.NewNop()})
	if err != nil {
		return false, err
	}
	defer c.Close()
	s, err := c.Status(ctx, url)
	if err != nil || s.Leader != s.Header.MemberId {
		return false, err
	}
	if s.Leader == target {
		return true, nil
	}
	_, err = c.MoveLeader(ctx, target)
	return true, err
}
