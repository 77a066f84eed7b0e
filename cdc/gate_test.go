package cdc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// lateSource is a database whose log is ahead of what its readers see: a
// transaction is in the log at once, and visible after a delay of its own.
type lateSource struct {
	mu      sync.Mutex
	log     []event.Record // positions and changes, as a relay reads them
	shown   map[uint64]proxy.Time
	history map[int][]version // by key, in the order of visibility
}

func (s *lateSource) commit(key int, delay time.Duration, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := uint64(len(s.log) + 1)
	now := bubbleNow()
	shown := now.Add(delay + 1) // what happens at one instant of the bubble happens before it
	s.history[key] = append(s.history[key], version{exists: true, visible: shown})
	s.shown[place] = shown
	id := []row.Field{{Name: "id", Kind: row.Number, Value: []byte(strconv.Itoa(key))}, {Name: "name", Value: []byte{}, Kind: row.Text}}
	after := append(id[:2:2], row.Field{Name: "v", Kind: row.Text, Value: []byte(strconv.Itoa(len(s.history[key]) - 1))})
	s.log = append(s.log, event.Record{Position: at(place), Change: &event.Change{
		Table: "users", Op: event.Update, Tx: place, Commit: now, Last: last, Before: id, After: after}})
}

func (s *lateSource) checkpoint(stream event.StreamID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, event.Record{Position: at(uint64(len(s.log) + 1)), Checkpoint: &event.Checkpoint{T: bubbleNow(), Stream: stream}})
}

// visible is a snapshot of the primary, taken now.
func (s *lateSource) visible() func(tx uint64) bool {
	now := bubbleNow()
	return func(tx uint64) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.shown[tx] <= now
	}
}

// read returns the newest version that is visible.
func (s *lateSource) read(key int) entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := entry{asof: bubbleNow(), position: at(uint64(len(s.log)))}
	for i, v := range s.history[key] {
		if v.visible <= e.asof {
			e.version = i
		}
	}
	return e
}

func (s *lateSource) from(i int) []event.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]event.Record(nil), s.log[i:]...)
}

func (s *lateSource) versions(key int) []version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]version(nil), s.history[key]...)
}

func bubbleNow() proxy.Time { return proxy.Time(time.Now().UnixNano()) }

type bubbleClock struct{}

func (bubbleClock) Bounds() (lo, hi proxy.Time) { return bubbleNow(), bubbleNow() }

// shipper follows a log to an applier. The gate is in front of the topic (a
// relay's) or behind it (a node's), or nowhere.
type shipper struct {
	source  *lateSource
	stream  event.StreamID
	applier *Applier
	relay   *gate.Gate[event.Record]
	node    *gate.Gate[event.Record]
	read    int
	prev    proxy.Position
	offset  int64
}

func (s *shipper) poll() error {
	for _, r := range s.source.from(s.read) {
		s.read++
		if s.relay == nil {
			if err := s.ship(r); err != nil {
				return err
			}
		} else if err := s.relay.Add(txOf(r), r); err != nil {
			return err
		}
	}
	if s.relay != nil {
		for r := range s.relay.Release(s.source.visible()) {
			if err := s.ship(r); err != nil {
				return err
			}
		}
	}
	if s.node != nil {
		for r := range s.node.Release(s.source.visible()) {
			s.apply(r)
		}
	}
	return nil
}

func (s *shipper) ship(r event.Record) error {
	r.Stream, r.Prev = s.stream.Hash(), s.prev
	s.prev = r.Position
	if s.node != nil {
		return s.node.Add(txOf(r), r)
	}
	s.apply(r)
	return nil
}

func (s *shipper) apply(r event.Record) {
	s.offset++
	s.applier.Record(0, s.offset, nil, event.Append(nil, &r))
}

func txOf(r event.Record) uint64 {
	if r.Change == nil {
		return 0
	}
	return r.Change.Tx
}

// gateStory: a transaction becomes visible late; others, and checkpoints, pass
// meanwhile; keys are read all the time. It returns what a reader saw that
// contradicts the contract. A change that replaces would show the future; one
// that only drops would let the old row in again, for ever.
func gateStory(t testing.TB, relay, node, replaces bool, delay time.Duration) (hits int, err error) {
	const bound = 200 * time.Millisecond
	catalog, cache, wm := newCatalog(t), newNaive(), NewWatermark()
	src := &lateSource{shown: map[uint64]proxy.Time{}, history: map[int][]version{}}
	s := &shipper{source: src, stream: streamOf(1, "late", 1), applier: NewApplier(catalog, cache, wm, bubbleClock{}, slog.New(slog.DiscardHandler))}
	if relay {
		s.relay = gate.New[event.Record](gate.Relay, 1<<20)
	}
	if node {
		s.node = gate.New[event.Record](gate.Node, 1<<20)
	}
	src.commit(1, 0, true)
	src.commit(2, 0, true)
	s.applier.Attached(1)
	learn(catalog)

	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var running sync.WaitGroup
	every := func(d time.Duration, f func() error) {
		running.Go(func() {
			tick := time.NewTicker(d)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					if err := f(); err != nil {
						cancel(err)
					}
				}
			}
		})
	}
	every(time.Millisecond, func() error { defer learn(catalog); return s.poll() })
	every(20*time.Millisecond, func() error { src.checkpoint(s.stream); return nil })
	every(50*time.Millisecond, func() error { return wm.Found(primary(1), bubbleNow()) })
	every(70*time.Millisecond, func() error { src.commit(2, 0, true); return nil })
	every(time.Millisecond, func() error {
		for key := 1; key <= 2; key++ {
			text := fmt.Sprint("users:", key)
			w := wm.Load()
			e, ok := cache.get(text)
			if now := bubbleNow(); !ok || now.Sub(max(e.asof, w)) > bound {
				e = src.read(key)
				if err := wm.Found(primary(1), e.asof); err != nil {
					return err
				}
				cache.fill(text, e)
				w = e.asof
			} else if e.asof < w {
				hits++
			}
			history := src.versions(key)
			if err := honest(text, e, w, history); err != nil {
				return err
			}
			if shown := history[e.version].visible; shown > bubbleNow() {
				return fmt.Errorf("%s: version %d is visible from %s on, and is read at %s", text, e.version, seconds(shown), seconds(bubbleNow()))
			}
		}
		return nil
	})
	time.Sleep(time.Second)
	src.commit(1, delay, replaces)
	time.Sleep(delay + 3*time.Second)
	cancel(nil)
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return hits, err
	}
	return hits, nil
}

func TestGate(t *testing.T) {
	gates := []struct {
		name        string
		relay, node bool
	}{{"in the relay", true, false}, {"in the node", false, true}, {"nowhere", false, false}}
	for _, delay := range []time.Duration{5 * time.Millisecond, 500 * time.Millisecond, 10 * time.Second} {
		for _, replaces := range []bool{true, false} {
			for _, g := range gates {
				t.Run(fmt.Sprintf("%s/%s/replaces=%t", delay, g.name, replaces), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						hits, err := gateStory(t, g.relay, g.node, replaces, delay)
						if gated := g.relay || g.node; gated != (err == nil) {
							t.Errorf("gated %t: %v", gated, err)
						}
						if err == nil && hits < 200 {
							t.Errorf("only %d reads were answered by a lifted entry", hits)
						}
					})
				})
			}
		}
	}
}
