package node

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
)

// firstWord is how long a node that is ready waits for the first word of its
// tier: a directory that is away keeps nobody from serving.
const firstWord = 5 * time.Second

// join has this node take its place once it is ready, and keeps it there until
// ctx ends: it measures its load, and warms up.
func (t *tier) join(ctx context.Context, ready func(context.Context) error) error {
	if ready(ctx) != nil {
		return nil // the end came first
	}
	timer := time.NewTimer(firstWord)
	defer timer.Stop()
	select {
	case <-t.membership.Heard():
	case <-timer.C:
	case <-ctx.Done():
		return nil
	}
	// One that starts again before it was gone has its keys still, at all
	// others, who know when it joined. It has to see itself so: one that faded in
	// by its own rings alone would send clients to others, and they would send
	// them back. That was a window ago at least, or it fades in there still.
	known := t.membership.View().Known()
	t.announce(func(self *membership.Peer) {
		self.State = hashring.Serving
		self.Joined = time.Now().Truncate(time.Millisecond).UTC()
		if known {
			self.Joined = self.Joined.Add(-time.Duration(t.config.Tier.Window))
		}
	})
	t.log.Info("node joins its tier", "name", t.name, "again", known)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return t.measure(ctx) })
	if rate := t.config.Tier.WarmUp; rate > 0 && !known {
		group.Go(func() error { return t.warmUp(ctx, rate) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// heardOf is how long it takes until what a node says of itself has changed
// the rings of the others: the next question, or a round of gossip, the answer,
// and what is gathered.
func (t *tier) heardOf() time.Duration {
	c := &t.config.Tier
	asked := time.Duration(c.AskEvery)
	if t.gossip != nil {
		asked = time.Second
	}
	return asked + time.Duration(c.Debounce) + 250*time.Millisecond
}

// leave says that this node gives its keys away, and waits until the others
// have taken that, with everything running: so they ask others before this one
// stops answering, and clients are sent to others.
func (t *tier) leave() {
	if t == nil || !t.othersServe() {
		return
	}
	t.announce(func(self *membership.Peer) { self.State = hashring.Leaving })
	time.Sleep(min(t.farewell(), time.Duration(t.config.Node.DrainTimeout)))
}

func (t *tier) othersServe() bool {
	for _, p := range t.membership.View().Peers {
		if p.Name != t.name && p.State == hashring.Serving {
			return true
		}
	}
	return false
}

// mostWarm is how many keys are warmed up: what the others remember of theirs.
// warmPatience is how long they are asked until they know of any, at least: they
// may hear late that this node has joined.
const (
	mostWarm     = 4096
	warmPatience = time.Minute
)

// warmUp reads the keys that are to be this node's ahead of its clients, those
// that the others are asked for most first. They know which keys those are once
// they have heard that this node joins, each when it has.
func (t *tier) warmUp(ctx context.Context, perSecond int) error {
	keys, told, known := 0, map[string]bool{t.name: true}, map[string]bool{}
	for until := time.Now().Add(max(warmPatience, 10*t.heardOf())); time.Now().Before(until); {
		if !pause.For(ctx, t.heardOf()) {
			return nil
		}
		lists, all := t.hottest(ctx, told, known)
		keys += t.route.Warm(ctx, perSecond, lists...)
		if all {
			break
		}
	}
	t.log.Info("node has warmed up", "keys", keys)
	return nil
}

// hottest are the lists of those who have not told before of keys that are to
// be this node's, without the keys that are known from others; all reports whether
// everybody has told.
func (t *tier) hottest(ctx context.Context, told, known map[string]bool) (lists [][][]byte, all bool) {
	all = true
	for _, p := range t.membership.View().Peers {
		if told[p.Name] {
			continue
		}
		keys, err := t.pool.To(p.Name, p.Address).Hottest(ctx, t.name, mostWarm)
		if err != nil {
			t.log.Info("warm-up goes without a member's keys for now", "member", p.Name, "error", err)
		}
		if told[p.Name] = len(keys) > 0; told[p.Name] {
			lists = append(lists, slices.DeleteFunc(keys, func(key []byte) bool {
				again := known[string(key)]
				known[string(key)] = true
				return again
			}))
		}
		all = all && told[p.Name]
	}
	return lists, all
}
