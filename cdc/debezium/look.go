package debezium

import (
	"context"
	"errors"
	"time"

	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/proxy"
)

// How long it is between two looks at the primary: the first is what a busy
// stream costs it, 200 short queries a second; the last is what a held change may
// wait longer than it has to. While the primary does not answer, it is asked more
// rarely.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = 20 * time.Millisecond
	awayLook  = 500 * time.Millisecond
)

// look is what the primary is known to show.
type look struct {
	of    proxy.Identity // the primary that said so
	shown gate.Snapshot  // its newest snapshot
	at    time.Time      // when it was asked for that, by the clock on the wall

	pause time.Duration // from one look to the next
	next  time.Time

	may   bool // in this step
	taken bool // a snapshot was, in this step
	asked bool // anything was, in this step
	err   error
}

// step does what can be done now: it has the barrier fall, and applies what is
// visible. If something waits, it returns for how long.
func (s *Stream) step(ctx context.Context) (wait time.Duration, waits bool) {
	l := &s.look
	l.may, l.taken, l.asked, l.err = !time.Now().Before(l.next), false, false, nil
	before := s.held
	s.lower(ctx)
	s.release(ctx)
	if l.asked || s.primary == nil {
		l.plan(s.held == 0)
	}
	s.tell(s.held < before)
	if s.held == 0 && s.barrier.wants() == 0 {
		return 0, false
	}
	return max(time.Until(l.next), time.Millisecond), true
}

// plan sets when to look again.
func (l *look) plan(enough bool) {
	switch {
	case l.err != nil:
		l.pause = min(max(2*l.pause, lastLook), awayLook)
	case enough:
		l.pause = firstLook
	default:
		l.pause = min(max(2*l.pause, firstLook), lastLook)
	}
	l.next = time.Now().Add(l.pause)
}

// lower asks for the number at which the barrier falls. What was shown by
// another primary than the one that answers says nothing of its transactions.
func (s *Stream) lower(ctx context.Context) {
	l := &s.look
	raise := s.barrier.wants()
	if raise == 0 || !l.may {
		return
	}
	l.asked = true
	of, horizon, err := s.primary.Horizon(ctx)
	if err != nil {
		l.err = err
		return
	}
	if of != l.of {
		l.of, l.shown = of, gate.Snapshot{}
	}
	s.barrier.fall(raise, of, horizon)
}

// release applies what is visible, partition by partition, in order.
func (s *Stream) release(ctx context.Context) {
	if s.held == 0 || !s.readCatalog(ctx) {
		return
	}
	for _, g := range s.gates {
		for it := range g.Release(func(tx uint64) bool { return s.visible(ctx, tx) }) {
			s.apply(it)
		}
	}
}

// visible reports whether a snapshot shows a transaction: the last one, or if
// that does not, one that is taken now. An older one will do, too: what it showed
// is shown for ever.
func (s *Stream) visible(ctx context.Context, tx uint64) bool {
	if s.primary == nil {
		return time.Since(s.begun)-time.Duration(tx) >= s.barrier.lag
	}
	l := &s.look
	if l.shows(tx) {
		return true
	}
	if !l.may || l.taken || l.err != nil {
		return false
	}
	l.taken, l.asked = true, true
	if l.err = s.takeSnapshot(ctx); l.err != nil {
		return false
	}
	return l.shows(tx)
}

// shownFor is how old a snapshot may be that is asked. Within 2³¹ transactions a
// connector's 32 bits stand for one number only, and no server has so many in a
// minute. A table may change once in a week.
const shownFor = time.Minute

func (l *look) shows(tx uint64) bool {
	age := time.Now().Round(0).Sub(l.at)
	return 0 <= age && age < shownFor && l.shown.Shows(l.shown.Widen(uint32(tx)))
}

var errOther = errors.New("another server answers than before")

// takeSnapshot takes one on the primary from which the barrier's number is. On
// another one the numbers are others', so a new one is to be asked for first.
func (s *Stream) takeSnapshot(ctx context.Context) error {
	s.metrics.snapshots.Inc()
	at := time.Now().Round(0) // it counts the time in which this machine sleeps
	of, text, err := s.primary.Snapshot(ctx)
	if err != nil {
		return err
	}
	if of != s.look.of {
		s.barrier.Raise()
		return errOther
	}
	shown, err := gate.ParseSnapshot(text)
	if err == nil {
		s.look.shown, s.look.at = shown, at
	}
	return err
}

// readCatalog reads the fingerprint that held checkpoints do not carry: after
// they came, and before one of them is applied. It reports whether they may be.
func (s *Stream) readCatalog(ctx context.Context) bool {
	l := &s.look
	if !s.unread {
		return true
	}
	if !l.may || l.err != nil {
		return false
	}
	l.asked = true
	print, err := s.primary.Fingerprint(ctx)
	if err != nil {
		l.err = err
		return false
	}
	s.schema.read, s.unread = print, false
	return true
}
