package kafka

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// follow fetches from all leaders until there is a gap, which it returns as
// its error. When leaders move, their fetchers end and others begin where they
// were: no record is missed, and no gap is made of it.
func (t *Tail) follow(ctx context.Context, parts []*partition, l layout) error {
	w := &watch{client: t.client, counts: l.counts}
	leaders := l.leaders
	for {
		moved, err := t.round(ctx, w, parts, leaders)
		if err != nil {
			return err
		}
		leaders = moved
	}
}

var errMoved = errors.New("kafka: leaders moved")

// round runs one fetcher for each leader, and returns when all have ended:
// with the new leaders, or with what ended them.
func (t *Tail) round(ctx context.Context, w *watch, parts []*partition, leaders []int32) (moved []int32, err error) {
	group, ctx := errgroup.WithContext(ctx)
	doubt := make(chan struct{}, 1)
	for leader, led := range byLeader(parts, leaders) {
		f := newFetcher(t, leader, led, doubt)
		group.Go(func() error { return f.run(ctx) })
	}
	group.Go(func() error {
		var err error
		if moved, err = w.moved(ctx, leaders, doubt); err != nil {
			return err
		}
		return errMoved
	})
	if err := group.Wait(); !errors.Is(err, errMoved) {
		return nil, err
	}
	return moved, nil
}

// byLeader leaves out partitions that nobody leads just now.
func byLeader(parts []*partition, leaders []int32) map[int32][]*partition {
	m := map[int32][]*partition{}
	for i, leader := range leaders {
		if leader >= 0 {
			m[leader] = append(m[leader], parts[i])
		}
	}
	return m
}

// lookEvery is how often the topic's layout is looked at while all is well: a
// new partition waits at most that long for its gap, besides MetadataTTL.
const lookEvery = time.Second

// watch follows the layout of the topic.
type watch struct {
	client  *client
	counts  []int     // partitions of each topic
	missing time.Time // since when the brokers know no such topic
}

// moved returns the leaders once they are others than those given. It looks
// every second, and at once when a fetcher doubts that its leader is one.
func (w *watch) moved(ctx context.Context, leaders []int32, doubt <-chan struct{}) ([]int32, error) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
		case <-doubt:
		}
		timer.Reset(lookEvery)
		now, err := w.look(ctx)
		if err != nil {
			return nil, err
		}
		if now != nil && !slices.Equal(now, leaders) {
			return now, nil
		}
	}
}

// look returns the leaders, nil if they cannot be had just now, or a gap.
func (w *watch) look(ctx context.Context) ([]int32, error) {
	l, err := w.client.layout(ctx)
	if !errors.Is(err, ErrNoTopic) {
		w.missing = time.Time{}
	}
	switch {
	case errors.Is(err, ErrNoTopic):
		// One broker that has just restarted may not know better.
		if w.missing.IsZero() {
			w.missing = time.Now()
		}
		if time.Since(w.missing) >= settle {
			return nil, &gap{reason: topicGone, partition: -1}
		}
		return nil, nil
	case err != nil:
		return nil, nil
	}
	if reason := l.differs(w.counts); reason != "" {
		return nil, &gap{reason: reason, partition: -1, next: int64(sum(w.counts)), found: int64(len(l.leaders))}
	}
	return l.leaders, nil
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
