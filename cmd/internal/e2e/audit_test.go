package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cdc/audit"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// audited lets a stack's nodes audit, and at a pace that a test can wait for. No
// look is late, however busy the machine is: where they are, fewer are taken.
func (s *shop) audited(oneIn int) {
	s.config.Audit = config.Audit{Enabled: true, ChangesOneIn: oneIn, ReadsPerSecond: 1000, Slack: config.Duration(time.Minute)}
}

// never is a share of the changes that is none.
const never = 1 << 30

func (s *shop) violations(n *node.Node) []audit.Violation {
	s.t.Helper()
	_, body := s.get(n.Admin(), "/audit")
	var page struct {
		Enabled    bool
		Violations []audit.Violation
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil || !page.Enabled {
		s.t.Fatalf("%v: %s", err, body)
	}
	return page.Violations
}

// around changes rows in a way that no log tells: once it is on, every read of
// the source finds users of another city.
type around struct {
	proxy.Source
	on atomic.Bool
}

// surrounded starts a node with something around its source.
func (s *shop) surrounded() (*node.Node, *around) {
	s.t.Helper()
	a := &around{}
	seams := node.Seams{Source: func(source proxy.Source) proxy.Source { a.Source = source; return a }}
	n, err := seams.Open(s.t.Context(), s.config, s.log())
	if err != nil {
		s.t.Fatal(err)
	}
	s.spawn("node", n.Run)
	s.await(n)
	return n, a
}

func (a *around) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	a.Source.Load(ctx, reqs, results)
	for i := range results {
		if r := &results[i]; a.on.Load() && r.Err == nil && r.Row.Exists() {
			r.Row = moved(r.Row)
		}
	}
}

func moved(r row.Row) row.Row {
	var fields []row.Field
	for f := range r.Columns() {
		if f.Name == "city" {
			f.Value = []byte("Elsewhere")
		}
		fields = append(fields, f)
	}
	out, _ := row.Encode(r.Schema(), fields)
	return out
}

// B29: rows change, checkpoints keep coming, and no change ever does. Nothing
// but the audit can find that; it tells which entry, and what happened to it. Each
// node finds it that holds the entry.
func TestAuditorFindsWhatTheLogNeverHad(t *testing.T) {
	s := newStack(t, mapped("users", "users", time.Hour))
	s.audited(never)
	t.Cleanup(s.broker().Close)
	s.relay()
	n, a := s.surrounded()
	other, b := s.surrounded()
	c := s.client(n.Address())
	c.do("GET", "users:1")
	s.client(other.Address()).do("GET", "users:1")
	for _, n := range []*node.Node{n, other} {
		eventually(t, "what is held is looked at", func() bool {
			return s.metric(n, "freshet_audit_looks_total", `found="equal"`) > 10
		})
		if v := s.violations(n); len(v) > 0 {
			t.Fatalf("before anything was wrong: %+v", v)
		}
	}
	a.on.Store(true)
	b.on.Store(true)
	eventually(t, "it is found by both", func() bool { return len(s.violations(n)) > 0 && len(s.violations(other)) > 0 })
	if v := s.violations(other)[0]; v.Key != "users:1" {
		t.Errorf("the other node found %+v", v)
	}
	v := s.violations(n)[0]
	if v.Key != "users:1" || v.By != "entry" || !strings.Contains(strings.Join(v.Trace, "\n"), "fill answered and installed") {
		t.Errorf("got %+v", v)
	}
	c.do("GET", "users:1")
	explained := c.do("FRESHET.EXPLAIN", "users:1")
	for _, want := range []string{"violation 1\nfound ", "hash\n" + v.Hash, "fill sent: cold", ": hit"} {
		if !strings.Contains(explained, want) {
			t.Errorf("FRESHET.EXPLAIN says nothing of %q:\n%s", want, explained)
		}
	}
	c.do("FRESHET.INVALIDATE", "users:1")
	if got := c.do("GET", "users:1"); !strings.Contains(got, "Elsewhere") {
		t.Errorf("dropped by hand, and still %s", got)
	}
}

// Whatever happens to a healthy deployment (load, rows that change all the
// time, keys that move, columns that come and go, a broker and a relay that are
// away for longer than some bounds): no entry is taken for wrong.
func TestAuditorIsSilentOverHealthyNodes(t *testing.T) {
	s := newStack(t, mapped("long", "users", time.Hour), mapped("short", "users", short), mapped("usual", "users", 2*time.Second),
		mapped("by-email", "users", time.Hour, "email"), mapped("none", "users", 0), mapped("orders", "orders", time.Hour))
	s.audited(1)
	broker := s.broker()
	stop := s.relay()
	n, second := s.node(), s.node()
	s.await(n)
	s.await(second)

	ctx, end := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for _, m := range []*node.Node{n, second} {
		c := s.client(m.Address())
		load.Go(func() { readAll(ctx, c) })
	}
	load.Go(func() { s.writeAll(ctx) })
	phase := func() { time.Sleep(time.Second) } // of load, in which nothing is waited for
	phase()
	s.sql("ALTER TABLE users ADD COLUMN colour TEXT DEFAULT 'red'")
	phase()
	s.sql("ALTER TABLE users ADD COLUMN shoes INTEGER DEFAULT 42; DELETE FROM orders")
	phase()
	stop()
	phase()
	stop = s.relay()
	phase()
	broker.Close()
	phase()
	broker = s.broker()
	defer broker.Close()
	phase()
	stop()
	s.relay()
	phase()
	end()
	load.Wait()

	for name, m := range map[string]*node.Node{"first": n, "second": second} {
		eventually(t, "changes are judged", func() bool {
			return s.metric(m, "freshet_audit_changes_total", `outcome="consistent"`, `within="10m"`) > 200
		})
		if v := s.violations(m); len(v) > 0 {
			t.Errorf("%s node: %+v", name, v)
		}
		if f := s.metric(m, "freshet_audit_suspicions_total", `outcome="fleeting"`); f > 0 {
			t.Errorf("%s node: %v entries claimed too much for a moment", name, f)
		}
		equal, settled := s.metric(m, "freshet_audit_looks_total", `found="equal"`), s.metric(m, "freshet_audit_suspicions_total", `outcome="settled"`)
		t.Logf("%s node: %v looks found an entry as the source has it, %v suspicions, all settled; %v reads of the source",
			name, equal, settled, s.metric(m, "freshet_audit_source_reads_total"))
		if equal < 100 {
			t.Errorf("%s node: only %v looks found something to compare", name, equal)
		}
	}
}

// users that are read and written in the test above: few, so that they change
// often.
const busy = 40

func readAll(ctx context.Context, c *client) {
	for ctx.Err() == nil {
		id := 1 + rand.IntN(busy)
		for _, prefix := range []string{"long", "short", "usual", "none"} {
			_, _ = c.Do("GET", fmt.Sprintf("%s:%d", prefix, id)) // errors are for those who test outages
		}
		_, _ = c.Do("GET", fmt.Sprintf("by-email:mail%d@shop.example", rand.IntN(busy)))
		_, _ = c.Do("GET", fmt.Sprintf("orders:%d:1", id))
	}
}

// writeAll changes rows. A statement that finds the file locked for too long has
// changed nothing, which is as good here.
func (s *shop) writeAll(ctx context.Context) {
	sql := func(format string, args ...any) {
		_ = node.SQL(ctx, s.config.Source.SQLite.Path, fmt.Sprintf(format, args...), io.Discard)
	}
	for i := 0; ctx.Err() == nil; i++ {
		id := 1 + rand.IntN(busy)
		switch i % 4 {
		case 0:
			sql("UPDATE users SET credit = %d WHERE id = %d", i, id)
		case 1: // back and forth
			sql("UPDATE users SET credit = 1 WHERE id = %d; UPDATE users SET credit = 2 WHERE id = %d; UPDATE users SET credit = 1 WHERE id = %d", id, id, id)
		case 2:
			sql("UPDATE OR REPLACE users SET email = 'mail%d@shop.example' WHERE id = %d", rand.IntN(busy), id)
		case 3:
			sql("DELETE FROM users WHERE id = %d; INSERT INTO users (id, name, email) VALUES (%d, 'New', 'new%d@shop.example')", id, id, i)
		}
	}
}
