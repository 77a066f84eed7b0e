package postgres

import (
	"context"
	"time"

	"github.com/freshet-cache/freshet/cdc/relay"
)

// poll hands out what has arrived and is visible.
func (s *session) poll(ctx context.Context) (*relay.Batch, error) {
	s.pause(ctx)
	messages, err := s.inbox.take()
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if err := s.collect(m); err != nil {
			return nil, err
		}
	}
	b := s.empty()
	s.looks = false
	if passed, err := s.passed(ctx); err != nil || !passed {
		return b, err
	}
	s.assembler.start(b)
	if err := s.release(ctx); err != nil {
		return nil, err
	}
	s.assembler.finish()
	s.returned.Store(int64(s.assembler.checks))
	b.Backlog = s.gate.Len()
	s.log.metrics.held.Set(float64(b.Backlog + len(s.pending)))
	return b, nil
}

// pause waits until there may be something to do.
func (s *session) pause(ctx context.Context) {
	if wait := time.Until(s.again); wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		return
	}
	if s.gate.Len() == 0 {
		s.inbox.wait(ctx, patience)
	}
}

// collect puts whole transactions before the gate, and large ones in parts: of
// those it is not known which changes are the last of their rows.
func (s *session) collect(m message) error {
	kind := byte(0)
	if len(m.raw) > 0 {
		kind = m.raw[0]
	}
	if kind == kindBegin {
		b, err := decode(m.raw)
		if err != nil {
			return err
		}
		s.xid = b.(*begin).xid
	}
	m.xid = s.xid
	s.pending = append(s.pending, m)
	s.size += m.size()
	if kind == kindCommit {
		s.xid = 0
	}
	if s.xid != 0 && s.size < windowBytes {
		return nil
	}
	for _, m := range s.pending {
		if err := s.gate.Add(uint64(m.xid), m); err != nil {
			return err
		}
	}
	s.pending, s.size = s.pending[:0], 0
	return nil
}

// release makes what is visible a batch. A transaction that fits into the
// window is not cut.
func (s *session) release(ctx context.Context) (err error) {
	size := 0
	for m := range s.gate.Release(func(xid uint64) (visible bool) {
		visible, err = s.visible(ctx, uint32(xid))
		return visible
	}) {
		s.inbox.done(m.size())
		if err := s.assembler.add(ctx, m.raw); err != nil {
			return err
		}
		size += m.size()
		if size >= batchBytes && !s.assembler.open || size >= batchBytes+windowBytes {
			break
		}
	}
	return err
}

// visible reports whether a transaction whose commit has arrived can be seen.
// A snapshot is taken after that: once for each poll, and where it shows too
// little, after a while again.
func (s *session) visible(ctx context.Context, xid uint32) (bool, error) {
	if err := s.takeSnapshot(ctx); err != nil {
		return false, err
	}
	return s.enough(s.shown.Shows(s.shown.Widen(xid))), nil
}

// passed reports whether all transactions have ended that the slot may not
// have.
func (s *session) passed(ctx context.Context) (bool, error) {
	if s.barrier == 0 {
		return true, nil
	}
	if err := s.takeSnapshot(ctx); err != nil {
		return false, err
	}
	if !s.enough(s.shown.Min >= s.barrier) {
		return false, nil
	}
	s.barrier = 0
	s.log.logger.Info("the log goes on: the transactions that began before it have ended", "slot", s.log.opts.Slot)
	return true, nil
}

func (s *session) takeSnapshot(ctx context.Context) (err error) {
	if s.looks {
		return nil
	}
	s.looks = true
	s.log.metrics.snapshots.Inc()
	s.shown, err = s.server.primary.snapshot(ctx)
	return err
}

// enough makes the next look later where one has not shown enough.
func (s *session) enough(yes bool) bool {
	if yes {
		s.again, s.look, s.since = time.Time{}, firstLook, time.Time{}
		s.log.waits.Store(nil)
		return true
	}
	now := time.Now()
	if s.since.IsZero() {
		s.since = now
	}
	if s.barrier == 0 && now.Sub(s.since) >= longWait {
		s.log.waits.Store(&waitsForGate)
	}
	s.again = now.Add(s.look)
	s.look = min(2*s.look, lastLook)
	return false
}
