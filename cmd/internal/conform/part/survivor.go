package part

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// survivor is the relay of a primary that lives on after a failover: it knows
// of no changes any more, and goes on saying so.
type survivor struct {
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// survive makes the stream as it is at its end go on with nothing but
// checkpoints, while what the relay itself appends has to wait.
func (b *badTopic) survive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.survivor != nil {
		return
	}
	stream, last := b.stream, map[int]*event.Record{}
	for p, values := range b.last {
		if r, err := event.Decode(values[len(values)-1]); err == nil && r.Stream == stream.Hash() {
			last[p] = r
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.survivor = &survivor{stop: cancel}
	b.free = make(chan struct{})
	b.survivor.ended.Go(func() { b.goOn(ctx, stream, last) })
}

// die ends that.
func (b *badTopic) die() {
	b.mu.Lock()
	s := b.survivor
	b.mu.Unlock()
	if s == nil {
		return
	}
	s.stop()
	s.ended.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.survivor = nil
	close(b.free)
}

// goOn appends checkpoints behind those records. An error is the broker's, and
// the next one may come through.
func (b *badTopic) goOn(ctx context.Context, stream event.StreamID, last map[int]*event.Record) {
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		t := proxy.Time(time.Now().UnixNano())
		for p, r := range last {
			next := &event.Record{Stream: r.Stream, Prev: r.Position, Position: r.Position, Checkpoint: &event.Checkpoint{T: t, Stream: stream}}
			next.Position.Seq++
			if b.Topic.Append(ctx, p, [][]byte{event.Append(nil, next)}) == nil {
				last[p] = next
			}
		}
	}
}

// ErrNotThere is what a relay answers that did not reach a place in time.
var ErrNotThere = errors.New("not there yet")

// reached waits until all that stands in the log up to a place is appended, but
// not for long: whoever asks may hold what the relay needs to get there.
func (b *badTopic) reached(ctx context.Context, commit uint64) error {
	late := time.NewTimer(time.Second)
	defer late.Stop()
	every := time.NewTicker(5 * time.Millisecond)
	defer every.Stop()
	for {
		b.mu.Lock()
		there := b.through >= commit
		b.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return ErrNotThere
		case <-every.C:
		}
	}
}
