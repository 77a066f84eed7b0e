package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// ledger knows every version of every key: when its write began, and when it
// was known to be committed. A key's version is a number in its row, and has
// one writer, so versions follow each other.
type ledger struct {
	mu   sync.Mutex
	keys [][]version
}

type version struct{ begun, known time.Time }

func newLedger(keys int) *ledger {
	l := &ledger{keys: make([][]version, keys)}
	for k := range l.keys {
		l.keys[k] = []version{{}} // version 0 was there before all
	}
	return l
}

// begin notes that a write of the key's next version begins.
func (l *ledger) begin(key int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[key] = append(l.keys[key], version{begun: time.Now()})
	return len(l.keys[key]) - 1
}

// commit notes that the last version was committed by now.
func (l *ledger) commit(key int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[key][len(l.keys[key])-1].known = time.Now()
}

// undo forgets a version that was not committed.
func (l *ledger) undo(key int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[key] = l.keys[key][:len(l.keys[key])-1]
}

// last is the newest version of a key.
func (l *ledger) last(key int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys[key]) - 1
}

// judge holds a read that was asked at a time against the promise: the
// version was not overwritten longer ago than the bound, and was begun at all.
func (l *ledger) judge(key, got int, asked time.Time, bound time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	versions := l.keys[key]
	if got >= len(versions) {
		return fmt.Errorf("key %d: version %d was never written", key, got)
	}
	if got+1 < len(versions) {
		if next := versions[got+1].known; !next.IsZero() && next.Before(asked.Add(-bound)) {
			return fmt.Errorf("key %d: version %d was overwritten %v before it was asked for, and the bound is %v", key, got, asked.Sub(next), bound)
		}
	}
	return nil
}

// traffic writes and reads one table, versions (id, v), until stop.
type traffic struct {
	*ledger
	t        *testing.T
	postgres atomic.Pointer[stack.Postgres] // where it writes
	listen   string
	bound    time.Duration
	end      context.CancelFunc
	done     sync.WaitGroup

	writes, reads, refused, broken atomic.Int64
	lies                           atomic.Int64
}

const versionsTable = "CREATE TABLE versions (id int PRIMARY KEY, v bigint NOT NULL, pad text NOT NULL DEFAULT repeat('x', 100))"

// run begins traffic on that many keys: one writer, and readers. The pause is
// between two writes.
func (tr *tier) run(keys, readers int, bound, pause time.Duration) *traffic {
	ctx, end := context.WithCancel(tr.t.Context())
	f := &traffic{ledger: newLedger(keys), t: tr.t, listen: tr.listen, bound: bound, end: end}
	f.moved(tr.postgres)
	f.done.Go(func() { f.write(ctx, pause) })
	for range readers {
		f.done.Go(func() { f.read(ctx) })
	}
	tr.t.Cleanup(func() { end(); f.done.Wait() })
	return f
}

// moved says where the primary is from now on.
func (f *traffic) moved(p *stack.Postgres) { f.postgres.Store(p) }

// seed makes the rows that run uses.
func seed(keys int) []string {
	return []string{versionsTable, fmt.Sprintf("INSERT INTO versions (id, v) SELECT i, 0 FROM generate_series(0, %d) i", keys-1)}
}

// stop ends the traffic, and holds each key's last version against what the
// node answers.
func (f *traffic) stop() {
	f.t.Helper()
	f.end()
	f.done.Wait()
	c := dial(f.t, f.listen)
	for key := range f.keys {
		c.becomes(f.bound, strconv.Itoa(f.last(key)), "HGET", fmt.Sprintf("versions:%d", key), "v")
	}
	if f.lies.Load() > 0 {
		f.t.Errorf("%d of %d reads broke the promise", f.lies.Load(), f.reads.Load())
	}
	f.t.Logf("%d writes, %d reads, %d of them refused as unavailable, %d connections lost", f.writes.Load(), f.reads.Load(), f.refused.Load(), f.broken.Load())
}

// write changes random keys. Where a connection is lost, what the database
// then shows decides whether the write was committed.
func (f *traffic) write(ctx context.Context, pause time.Duration) {
	rng := rand.New(rand.NewPCG(1, 1))
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			conn.Close(context.WithoutCancel(ctx))
		}
	}()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		key := rng.IntN(len(f.keys))
		v := f.begin(key)
		if conn == nil || f.update(conn, key, v) != nil {
			if conn = f.settle(conn, key, v); conn == nil {
				return
			}
		}
		f.writes.Add(1)
	}
}

// update is not ended by stop: the server might go on with it, and commit after
// its outcome was looked up.
func (f *traffic) update(conn *pgx.Conn, key, v int) error {
	_, err := conn.Exec(context.Background(), "UPDATE versions SET v = $1 WHERE id = $2", v, key)
	if err == nil {
		f.commit(key)
	}
	return err
}

// settle comes back with a connection to the primary, however long that takes,
// and has found out on it whether version v of a key was committed. Whoever
// answers may be killed before it has. A standby will not do: it may not have
// replayed yet what it has.
func (f *traffic) settle(old *pgx.Conn, key, v int) *pgx.Conn {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if old != nil {
		old.Close(ctx)
	}
	for {
		conn, now, err := f.look(ctx, key)
		if err == nil {
			f.became(key, v, now)
			return conn
		}
		if ctx.Err() != nil {
			f.t.Errorf("the database did not come back: %v", err)
			f.undo(key)
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// became notes what became of version v of a key: now is the version that the
// database has.
func (f *traffic) became(key, v, now int) {
	switch now {
	case v:
		f.commit(key)
	case v - 1:
		f.undo(key)
	default:
		f.t.Errorf("key %d has version %d in the database, and %d was written", key, now, v)
	}
}

// look reads a key's version on a new connection to the primary.
func (f *traffic) look(ctx context.Context, key int) (conn *pgx.Conn, version int, err error) {
	conn, err = pgx.Connect(ctx, f.postgres.Load().URL("", "")+"&target_session_attrs=primary")
	if err != nil {
		return nil, 0, err
	}
	if err = conn.QueryRow(ctx, "SELECT v FROM versions WHERE id = $1", key).Scan(&version); err != nil {
		conn.Close(ctx)
		return nil, 0, err
	}
	return conn, version, nil
}

// read asks for random keys, and judges the answers.
func (f *traffic) read(ctx context.Context) {
	var c *Client
	defer func() {
		if c != nil {
			c.Close()
		}
	}()
	for ctx.Err() == nil {
		if c == nil {
			var err error
			if c, err = Dial(f.listen); err != nil {
				c = nil
				time.Sleep(5 * time.Millisecond)
				continue
			}
		}
		time.Sleep(time.Millisecond) // the parts that are watched need the machine, too
		key := rand.IntN(len(f.keys))
		asked := time.Now()
		reply, err := c.Do("HGET", fmt.Sprintf("versions:%d", key), "v")
		f.reads.Add(1)
		if err == nil {
			f.check(key, reply, asked)
			continue
		}
		if strings.HasPrefix(err.Error(), "UNAVAILABLE") {
			f.refused.Add(1)
			continue
		}
		f.broken.Add(1)
		c.Close()
		c = nil
	}
}

func (f *traffic) check(key int, reply string, asked time.Time) {
	v, err := strconv.Atoi(reply)
	if err == nil {
		err = f.judge(key, v, asked, f.bound)
	}
	if err != nil && f.lies.Add(1) < 10 {
		f.t.Error(err)
	}
}

// dwell lets a fault last.
func (f *traffic) dwell(d time.Duration) {
	f.t.Helper()
	begun := time.Now()
	eventually(f.t, "time passes", func() bool { return time.Since(begun) >= d })
}
