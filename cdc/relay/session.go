package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// errNewStream ends a session whose stream id no longer holds.
var errNewStream = errors.New("another stream")

// recount is how often the number of partitions is asked for. Until then a
// new partition gets no checkpoint, which only makes nodes read the source.
const recount = time.Second

// session is one unbroken run: one stream id, and per partition the record
// that the next one follows.
type session struct {
	*Relay
	stream     event.StreamID
	hash       uint64
	partitions []partition
	through    proxy.Position
	t          proxy.Time // of the last checkpoint
	checked    time.Time  // when the last checkpoint was appended
	counted    time.Time  // when the partitions were counted
}

// partition is the end of one partition.
type partition struct {
	last proxy.Position // of its last record in this stream; zero: none
	seen proxy.Time     // no change that is still to come was visible then
}

// session ships until an error. well is called when something has succeeded.
func (r *Relay) session(ctx context.Context, well func()) error {
	s, batch, err := r.begin(ctx)
	if err != nil {
		return err
	}
	for {
		if batch.Source != s.stream.Source {
			return fmt.Errorf("%w: the source has another history", errNewStream)
		}
		if err := s.ship(ctx, batch); err != nil {
			return err
		}
		if err := s.checkpoint(ctx, batch); err != nil {
			return err
		}
		well()
		r.succeeded()
		r.metrics.backlog.Set(float64(batch.Backlog))
		if batch.Backlog == 0 && !sleep(ctx, r.opts.PollInterval) {
			return ctx.Err()
		}
		if err := s.recount(ctx); err != nil {
			return err
		}
		if batch, err = r.log.Poll(ctx, s.through); err != nil {
			return err
		}
	}
}

// begin finds out where the topic ends and which stream that is. The log is
// asked first: a log that only one relay may read makes the second wait here,
// and what the topic holds after that is final.
func (r *Relay) begin(ctx context.Context) (*session, *Batch, error) {
	batch, err := r.log.Poll(ctx, proxy.Position{})
	if err != nil {
		return nil, nil, err
	}
	n, err := r.count(ctx)
	if err != nil {
		return nil, nil, err
	}
	ends, err := r.ends(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	s, mark := r.resume(batch, ends)
	for _, e := range ends {
		p := s.follow(e.record)
		if p.last.Commit > batch.End.Commit {
			if err := r.log.Renew(ctx); err != nil {
				return nil, nil, err
			}
			return nil, nil, fmt.Errorf("%w: the source is older than what was shipped of it (a restored backup?)", errNewStream)
		}
		s.partitions = append(s.partitions, p)
	}
	if batch.Topic != mark.Topic { // kept before the first record, or a crash would begin yet another stream
		if err := r.log.Ack(ctx, mark); err != nil {
			return nil, nil, err
		}
	}
	return s, batch, nil
}

// resume goes on with the stream that the topic holds, or begins another.
func (r *Relay) resume(batch *Batch, ends []end) (*session, Mark) {
	s := &session{Relay: r, counted: time.Now(), t: proxy.Never}
	s.become(event.StreamID{Source: batch.Source, Slot: r.opts.Slot, Topic: incarnation(batch.Topic, ends), Partitions: len(ends)})
	if s.continues(ends, batch.Begin) {
		return s, Mark{Topic: s.stream.Topic, State: agreed(ends)}
	}
	if batch.Begin.Known() && s.begun(ends) { // the log has forgotten what the topic may lack
		other := s.stream
		other.Topic = draw()
		s.become(other)
		r.logger.Warn("the log has forgotten what may not be shipped yet: the stream begins anew", "slot", r.opts.Slot)
	}
	return s, Mark{Topic: s.stream.Topic}
}

func (s *session) become(stream event.StreamID) { s.stream, s.hash = stream, stream.Hash() }

// follow says how to go on behind a partition's last record. Behind one of
// another stream the chain begins anew.
func (s *session) follow(r *event.Record) partition {
	p := partition{seen: proxy.Never}
	if r == nil || r.Stream != s.hash {
		return p
	}
	p.last = r.Position
	switch {
	case r.Checkpoint != nil:
		p.seen = r.Checkpoint.T
	case r.Change != nil:
		p.seen = r.Change.Commit
	}
	return p
}

// count asks for the number of partitions. A topic that does not answer ends
// the session, so that it is told what the relay waits for.
func (r *Relay) count(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.AppendTimeout)
	defer cancel()
	return r.topic.Partitions(ctx)
}

func (s *session) recount(ctx context.Context) error {
	if time.Since(s.counted) < recount {
		return nil
	}
	n, err := s.count(ctx)
	if err != nil {
		return err
	}
	if n != s.stream.Partitions {
		return fmt.Errorf("%w: the topic has %d partitions and had %d", errNewStream, n, s.stream.Partitions)
	}
	s.counted = time.Now()
	return nil
}
