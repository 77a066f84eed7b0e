package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a server that does what a test says. It is a feed, a primary and a
// pulse at once.
type script struct {
	mu        sync.Mutex
	sent      chan []byte
	next      func() []byte // before what is sent; nil: nothing comes
	closed    chan struct{}
	close1    sync.Once
	confirmed []uint64
	times     []time.Time
	now       gate.Snapshot
	snapshots int
	top       uint64
	fail      error
	shape     []relationColumn
}

const (
	textType = 25
	intType  = 23
)

var usersShape = []relationColumn{{name: "id", typ: intType, modifier: -1}, {name: "name", typ: textType, modifier: -1}}

func newScript() *script {
	return &script{sent: make(chan []byte, 1000), closed: make(chan struct{}), now: gate.Snapshot{Min: 1 << 20, Max: 1 << 20}, shape: usersShape}
}

func (s *script) receive() ([]byte, error) {
	s.mu.Lock()
	next := s.next
	s.mu.Unlock()
	if next != nil {
		if raw := next(); raw != nil {
			return raw, nil
		}
	}
	tick := time.NewTimer(statusInterval)
	defer tick.Stop()
	select {
	case raw, ok := <-s.sent:
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
		return raw, nil
	case <-tick.C:
		return nil, nil
	case <-s.closed:
		return nil, errors.New("closed")
	}
}

func (s *script) confirm(lsn uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.confirmed, s.times = append(s.confirmed, lsn), append(s.times, time.Now())
	return nil
}

func (s *script) close() { s.close1.Do(func() { close(s.closed) }) }

func (s *script) snapshot(context.Context) (gate.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots++
	return s.now, s.fail
}

func (s *script) horizon(context.Context) (uint64, error) { return s.top, nil }

func (s *script) describe(_ context.Context, t *table) (*description, error) {
	d := &description{Table: &postgres.Table{Name: t.name, Kind: 'r'}, shape: s.shape}
	for _, c := range s.shape {
		d.Columns = append(d.Columns, postgres.Column{Name: c.name, Type: c.typ})
	}
	d.Unique = []postgres.Index{{Columns: []string{s.shape[0].name}, Primary: true}}
	return d, nil
}

func (s *script) run(ctx context.Context, _ *session) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s *script) shows(min, max uint64, running ...uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = gate.Snapshot{Min: min, Max: max, Running: running}
}

// reading is a log of one table that has begun to be read.
type reading struct {
	*testing.T
	*script
	log *Log
}

var testFingerprint = fingerprint{publication: 1, tables: []uint64{2}}

// read begins to read a script. state is what the topic's checkpoints have.
func read(t *testing.T, s *script, state []byte) *reading {
	t.Helper()
	l := New(Options{URL: "postgres://nowhere", Slot: "s", Publication: "p"}, []row.Spec{{Name: "users", Table: "users"}}, slog.New(slog.DiscardHandler))
	r := &reading{T: t, script: s, log: l}
	l.dial = func(context.Context) (*server, error) {
		s := r.script
		return &server{
			identity: proxy.Identity{System: 1, Timeline: 1, Started: 1}, confirmed: 100, end: 1000,
			fingerprint: testFingerprint, shapes: map[*table][]relationColumn{l.tables[0]: usersShape},
			feed: s, primary: s, pulse: s,
		}, nil
	}
	b, err := l.Poll(t.Context(), proxy.Position{})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Changes) != 0 || b.T != proxy.Never || b.Begin != (proxy.Position{Commit: 99, Seq: 1}) || b.Through != b.Begin || b.End.Commit != 1000 {
		t.Errorf("a session began with %+v", b)
	}
	if err := l.Ack(t.Context(), relay.Mark{Topic: 5, State: state}); err != nil {
		t.Fatal(err)
	}
	return r
}

// restart lets the next session read another script.
func (r *reading) restart() { r.script = newScript() }

func (r *reading) send(messages ...[]byte) {
	for _, m := range messages {
		r.sent <- m
	}
}

// feed lets messages come as they are asked for, before what is sent.
func (r *reading) feed(next func() []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = next
}

// poll polls until there is a change or a time, or until nothing has come for
// a while.
func (r *reading) poll() *relay.Batch {
	r.Helper()
	all := &relay.Batch{T: proxy.Never}
	for range 20 {
		b, err := r.log.Poll(r.Context(), r.log.session.through())
		if err != nil {
			r.Fatal(err)
		}
		all.Changes = append(all.Changes, b.Changes...)
		all.T, all.Through, all.State, all.Backlog = b.T, b.Through, b.State, b.Backlog
	}
	return all
}

// state is that of checkpoints which have announced all there is.
func (r *reading) state() []byte { return testFingerprint.state(r.log.tables) }

func (r *reading) want(b *relay.Batch, want ...string) {
	r.Helper()
	var got []string
	for _, c := range b.Changes {
		text := strconv.FormatUint(c.Position.Commit, 10) + "/" + strconv.FormatUint(c.Position.Seq>>partBits, 10)
		if part := c.Position.Seq & (1<<partBits - 1); part > 0 {
			text += "+" + strconv.FormatUint(part, 10)
		}
		got = append(got, text+" "+describeChange(&c))
	}
	if len(got) != len(want) {
		r.Errorf("changes %q, want %q", got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			r.Errorf("change %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func describeChange(c *relay.Change) string {
	names := [...]string{"", "insert", "update", "delete", "touch", "truncate", "schema"}
	text := names[c.Op]
	for _, f := range c.Before {
		text += " " + f.Name + "=" + string(f.Value)
	}
	if c.After != nil {
		text += " →"
	}
	for _, f := range c.After {
		text += " " + f.Name + "=" + string(f.Value)
		if f.Kind == row.Unknown {
			text += "?"
		}
	}
	if c.Last {
		text += ", last"
	}
	return text
}

// The messages as PostgreSQL spells them.

func beginOf(commit uint64, xid uint32) []byte {
	b := binary.BigEndian.AppendUint64([]byte{kindBegin}, commit)
	b = binary.BigEndian.AppendUint64(b, 0)
	return binary.BigEndian.AppendUint32(b, xid)
}

func commitOf() []byte { return append([]byte{kindCommit}, make([]byte, 25)...) }

func relationOfShape(id uint32, table string, identity byte, columns ...relationColumn) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kindRelation}, id)
	b = append(append(b, "public\x00"+table+"\x00"...), identity)
	b = binary.BigEndian.AppendUint16(b, uint16(len(columns)))
	for _, c := range columns {
		flag := byte(0)
		if c.key {
			flag = 1
		}
		b = append(append(append(b, flag), c.name...), 0)
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, c.typ), uint32(c.modifier))
	}
	return b
}

// users describes the table as the script has it.
func users() []byte {
	return relationOfShape(7, "users", 'd', relationColumn{true, "id", intType, -1}, relationColumn{false, "name", textType, -1})
}

// rowOf writes a row change of relation 7: kinds and rows in turn, values that
// are "" NULL and "?" unchanged.
func rowOf(op byte, parts ...any) []byte {
	b := binary.BigEndian.AppendUint32([]byte{op}, 7)
	for _, p := range parts {
		switch p := p.(type) {
		case rune:
			b = append(b, byte(p))
		case []string:
			b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
			for _, v := range p {
				switch v {
				case "":
					b = append(b, 'n')
				case "?":
					b = append(b, 'u')
				default:
					b = append(binary.BigEndian.AppendUint32(append(b, 't'), uint32(len(v))), v...)
				}
			}
		}
	}
	return b
}

func insertOf(values ...string) []byte { return rowOf(kindInsert, 'N', values) }
func updateOf(values ...string) []byte { return rowOf(kindUpdate, 'N', values) }

func messageOf(prefix string, content []byte) []byte {
	b := binary.BigEndian.AppendUint64([]byte{kindMessage, 1}, 0)
	b = append(append(b, prefix...), 0)
	return append(binary.BigEndian.AppendUint32(b, uint32(len(content))), content...)
}

// check is a checkpoint of the session that is read.
func (r *reading) check(t proxy.Time, f fingerprint) []byte {
	c := checkpoint{nonce: r.log.session.nonce, t: t, fingerprint: f}
	return messageOf(prefix, c.append(nil))
}
