package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
)

// server is a database whose slot a session has taken: three connections, each
// for one goroutine.
type server struct {
	identity    proxy.Identity
	confirmed   uint64 // what the slot has confirmed: the log is read from there
	end         uint64 // of the log, when it was begun
	fingerprint fingerprint
	shapes      map[*table][]relationColumn

	feed    feed
	primary primary
	pulse   pulse
}

// feed is the log, as the slot gives it.
type feed interface {
	// receive returns the next message, valid until the next call; nil if none
	// came for a while.
	receive() ([]byte, error)
	// confirm says what need not be sent again; often enough, lest the
	// database take its reader for dead.
	confirm(lsn uint64) error
	// close makes both return.
	close()
}

// primary is asked while batches are made.
type primary interface {
	catalog
	// snapshot fails on a standby.
	snapshot(ctx context.Context) (gate.Snapshot, error)
	// horizon returns a transaction number that is above all that were given
	// out before.
	horizon(ctx context.Context) (uint64, error)
	close()
}

// pulse is what happens on its own: checkpoints are put into the log, and the
// slot is looked at.
type pulse interface {
	run(ctx context.Context, s *session) error
	close()
}

// The bounds of a session.
const (
	maxHeldBytes   = 16 << 20 // of messages that are read and not shipped
	maxHeld        = maxHeldBytes/overhead + 1
	windowBytes    = 1 << 20               // a larger transaction is handed out in parts
	batchBytes     = 256 << 10             // a batch ends behind the transaction that fills it so far
	maxChecks      = 16                    // checkpoints in the log that have not come back
	patience       = 10 * time.Millisecond // how long a poll waits for something to arrive
	firstLook      = time.Millisecond      // between two looks for what is not visible yet;
	lastLook       = 50 * time.Millisecond // doubled each time, up to this
	longWait       = 2 * time.Second       // from which on it is told that the log waits
	statusInterval = time.Second           // between two signs of life at most
)

// session is one unbroken reading of the log.
type session struct {
	log       *Log
	server    *server
	nonce     uint64
	inbox     *inbox
	confirmed atomic.Uint64 // to be confirmed
	emitted   atomic.Int64  // checkpoints put into the log
	returned  atomic.Int64  // of them, those that came back

	assembler *assembler
	resumed   bool      // the topic's end is known, so something may be handed out
	xid       uint32    // of the transaction that is arriving; 0: none is
	pending   []message // what has arrived of it and is not before the gate
	size      int       // of them
	gate      *gate.Gate[message]
	barrier   uint64 // nothing is handed out before all below it have ended; 0: they have

	shown gate.Snapshot // the last one taken
	looks bool          // it was taken by this poll
	again time.Time     // when to take the next one, where the last did not show enough
	look  time.Duration // to wait then
	since time.Time     // when one first did not show enough

	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// newSession begins to read.
func newSession(l *Log, s *server) *session {
	n := &session{
		log: l, server: s, nonce: draw(),
		inbox: newInbox(maxHeldBytes),
		gate:  gate.New[message](gate.Relay, maxHeld),
		look:  firstLook,
	}
	n.assembler = &assembler{
		tables: l.tables, keysOnly: l.opts.KeysOnly, nonce: n.nonce, catalog: s.primary, logger: l.logger, metrics: l.metrics,
		began: s.fingerprint, shapes: s.shapes, known: map[*table][]relationColumn{}, relations: map[uint32]*follower{},
		through: begins(s.confirmed), t: proxy.Never,
	}
	n.confirmed.Store(s.confirmed)
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.tasks.Go(func() { n.inbox.fail(n.read(ctx)) })
	n.tasks.Go(func() { n.inbox.fail(s.pulse.run(ctx, n)) })
	return n
}

func draw() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// close returns when no goroutine of the session runs any more.
func (s *session) close() {
	s.cancel()
	s.server.feed.close()
	s.tasks.Wait()
	s.server.primary.close()
	s.server.pulse.close()
}

// fresh reports whether the session reads, and has handed nothing out.
func (s *session) fresh() bool { return !s.resumed && s.inbox.failed() == nil }

func (s *session) through() proxy.Position { return s.assembler.through }

// read puts the log into the inbox. While that is full nothing is read, but
// the database is told that its reader lives.
func (s *session) read(ctx context.Context) error {
	var told uint64
	last := time.Now()
	for {
		raw, err := s.server.feed.receive()
		if err != nil {
			return err
		}
		if raw != nil {
			m := message{raw: bytes.Clone(raw)}
			for !s.inbox.put(m) {
				if !s.inbox.roomWithin(ctx, statusInterval) {
					return ctx.Err()
				}
				if err := s.tell(&told, &last); err != nil {
					return err
				}
			}
		}
		if err := s.tell(&told, &last); err != nil {
			return err
		}
	}
}

// tell confirms what is to be confirmed, if that is news or some time has
// passed.
func (s *session) tell(told *uint64, last *time.Time) error {
	now, confirmed := time.Now(), s.confirmed.Load()
	since := now.Sub(*last)
	if since < statusInterval && (confirmed == *told || since < statusInterval/10) {
		return nil
	}
	*told, *last = confirmed, now
	return s.server.feed.confirm(confirmed)
}

// resume says what the topic's newest checkpoints have announced. If that was
// of another publication, or of no slot that went on from there, transactions
// may have been committed that the slot does not have and that no snapshot
// shows yet.
func (s *session) resume(ctx context.Context, state []byte) (err error) {
	s.resumed = true
	f := s.server.fingerprint
	if bytes.Equal(state, f.state(s.log.tables)) {
		s.assembler.announced = f
		s.assembler.known = maps.Clone(s.server.shapes)
	}
	if f.published(state) {
		return nil
	}
	if s.barrier, err = s.server.primary.horizon(ctx); err == nil {
		s.log.waits.Store(&waitsForBarrier)
		s.log.logger.Info("the log waits for the transactions that began before it", "slot", s.log.opts.Slot)
	}
	return err
}

// empty returns a batch of nothing.
func (s *session) empty() *relay.Batch {
	return &relay.Batch{Source: s.server.identity, Through: s.through(), T: proxy.Never}
}
