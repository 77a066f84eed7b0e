package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/cdc"
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// A change that reaches the log before its row can be read: for 5 ms, for
// half a second and for longer than any bound. Other transactions and
// checkpoints pass meanwhile. The whole cache and the whole applier stand
// behind the gate, where a relay or a node has it; without it the row that the
// fill after the change reads is the old one, and it stays.
func TestEarlyEvent(t *testing.T) {
	for _, delay := range []time.Duration{5 * time.Millisecond, 500 * time.Millisecond, 10 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			for _, op := range []event.Op{event.Update, event.Insert} {
				for name, use := range map[string]gate.Use{"relay": gate.Relay, "node": gate.Node} {
					t.Run(fmt.Sprintf("%s, operation %d", name, op), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							if err := earlyEvent(t, op, delay, gate.New[[]byte](use, 1000)); err != nil {
								t.Error(err)
							}
						})
					})
				}
				t.Run(fmt.Sprintf("no gate, operation %d", op), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						if err := earlyEvent(t, op, delay, nil); !errors.Is(err, errOutsideBound) {
							t.Errorf("got %v, want a read outside its bound", err)
						}
					})
				})
			}
		})
	}
}

var errOutsideBound = errors.New("a read was answered outside its bound")

// lateSource shows each commit only after a delay, except of keys that are
// written by others.
type lateSource struct {
	mu    sync.Mutex
	rows  map[string]string
	late  map[string]lateRow
	shown map[uint64]time.Time // by transaction
	pos   uint64
}

type lateRow struct {
	v  string
	at time.Time
}

func (s *lateSource) commit(key, v string, delay time.Duration) (tx uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pos++
	s.shown[s.pos] = time.Now().Add(delay)
	s.late[key] = lateRow{v, s.shown[s.pos]}
	return s.pos
}

// visible is what a snapshot taken now says of a transaction.
func (s *lateSource) visible(tx uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !time.Now().Before(s.shown[tx])
}

func (s *lateSource) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range reqs {
		key := string(r.Key.Text)
		if l, ok := s.late[key]; ok && !time.Now().Before(l.at) {
			s.rows[key] = l.v
			delete(s.late, key)
		}
		var r row.Row
		if v, ok := s.rows[key]; ok {
			r = value(v)
		}
		results[i] = proxy.Result{Row: r, Position: proxy.Position{Commit: s.pos}, Primary: proxy.Identity{System: 1}}
	}
}

func (s *lateSource) Apply(context.Context, []proxy.Write, []proxy.Written) {}

// bubbleClock is a source clock that is known exactly, in a bubble's time.
type bubbleClock struct{}

func (bubbleClock) Bounds() (lo, hi proxy.Time) {
	now := proxy.Time(time.Now().UnixNano())
	return now, now
}

// stream is a log of one partition on its way through a gate to an applier.
type stream struct {
	id      event.StreamID
	prev    proxy.Position
	gate    *gate.Gate[[]byte]
	applier *cdc.Applier
	offset  int64
}

func (s *stream) write(t *testing.T, tx uint64, pos proxy.Position, ch *event.Change, cp *event.Checkpoint) {
	record := event.Append(nil, &event.Record{Stream: s.id.Hash(), Prev: s.prev, Position: pos, Change: ch, Checkpoint: cp})
	s.prev = pos
	if s.gate == nil {
		s.apply(record)
	} else if err := s.gate.Add(tx, record); err != nil {
		t.Fatal(err)
	}
}

func (s *stream) apply(record []byte) {
	s.applier.Record(0, s.offset, nil, record)
	s.offset++
}

// earlyEvent runs readers on two keys and a stream for twelve seconds. One key
// changes early, or comes to be by an insert, the other changes all the time
// and at once.
func earlyEvent(t *testing.T, op event.Op, delay time.Duration, g *gate.Gate[[]byte]) error {
	const bound, tick = time.Second, time.Millisecond
	catalog, err := proxy.NewCatalog(mapping("users", "users"))
	if err != nil {
		t.Fatal(err)
	}
	before := "<none>"
	source := &lateSource{rows: map[string]string{"users:2": "0"}, late: map[string]lateRow{}, shown: map[uint64]time.Time{}}
	if op == event.Update {
		before = "old"
		source.rows["users:1"] = before
	}
	watermark := cdc.NewWatermark()
	c, err := build(catalog, source, watermark, bubbleClock{}, Options{UseCases: []UseCase{{Bound: bound}}}, stampBits, mapMemory)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{
		id:   event.StreamID{Source: proxy.Identity{System: 1}, Slot: "s", Topic: 1, Partitions: 1},
		gate: g, applier: cdc.NewApplier(catalog, c, watermark, bubbleClock{}, slog.New(slog.DiscardHandler)),
	}
	s.applier.Lost("start")
	s.applier.Attached(1)

	var early, visible time.Time
	lifted := 0
	for i := range int(12*time.Second/tick) + int(delay/tick) {
		time.Sleep(tick)
		now := time.Now()
		if i%50 == 0 { // the probe
			if err := watermark.Found(s.id.Source, proxy.Time(now.UnixNano())); err != nil {
				t.Fatal(err)
			}
		}
		if i%100 == 0 {
			source.mu.Lock()
			source.pos++
			pos := source.pos
			source.mu.Unlock()
			s.write(t, 0, proxy.Position{Commit: pos}, nil, &event.Checkpoint{T: proxy.Time(now.UnixNano()), Stream: s.id})
		}
		if i%50 == 25 {
			tx := source.commit("users:2", "n", 0)
			s.write(t, tx, proxy.Position{Commit: tx}, change("2"), nil)
		}
		if i == 330 {
			tx := source.commit("users:1", "new", delay)
			early, visible = now, now.Add(delay)
			ch := change("1")
			if ch.Op = op; op == event.Insert {
				ch.Before = nil
			}
			s.write(t, tx, proxy.Position{Commit: tx}, ch, nil)
		}
		if g != nil {
			for record := range g.Release(source.visible) {
				s.apply(record)
			}
		}
		if i%7 == 0 || i > 330 && i < 340 {
			res := ask(t, c, catalog, "users:1")
			old := text(res.Row) == before
			if old && !visible.IsZero() && now.Add(-bound).After(visible) {
				return errOutsideBound
			}
			if !early.IsZero() && !old && now.Before(visible) {
				t.Errorf("the new row was read %v before it was visible", visible.Sub(now))
			}
			if res.Origin == proxy.FromCache && !old && now.Sub(visible) > 2*bound {
				lifted++
			}
		}
	}
	if g != nil && lifted == 0 {
		t.Error("the new row was never a hit that only the stream justifies")
	}
	return nil
}

func ask(t *testing.T, c *Cache, catalog *proxy.Catalog, key string) proxy.Result {
	t.Helper()
	k, err := catalog.Key([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	results := make([]proxy.Result, 1)
	c.Load(t.Context(), []proxy.Request{{Key: k}}, results)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	return results[0]
}

// change is an update of one row that carries no values.
func change(id string) *event.Change {
	key := []row.Field{{Name: "id", Kind: row.Number, Value: []byte(strings.Clone(id))}}
	return &event.Change{Table: "users", Op: event.Update, Commit: proxy.Time(time.Now().UnixNano()), Before: key, After: key}
}
