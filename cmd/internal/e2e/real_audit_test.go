package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

const auditSettings = `
node: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}
source: {postgres: {url: "${URL}"}}
use_cases:
  - {name: users, table: users, bound: 1h, timeout: 10s}
  - {name: brisk, table: users, bound: 1s, timeout: 10s}
`

// An ordinary load, with changes of the catalog in it, is taken for what it is.
// Then rows change in a way that no log tells: the stream shows nothing, but the
// audit finds the entries, and tells their story.
func TestRealAuditor(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, "CREATE TABLE users (id int PRIMARY KEY, city text)",
		"INSERT INTO users SELECT i, 'Here' FROM generate_series(0, 39) AS i")
	s := &shop{t: t, dir: t.TempDir(), config: parse(t, auditSettings, map[string]string{"URL": p.URL("", "")})}
	s.audited(1)
	t.Cleanup(s.broker().Close)
	s.relay()
	n, a := s.surrounded()
	c := s.client(n.Address())
	stop := s.ordinary(p, c)
	eventually(t, "changes are followed, and entries looked at", func() bool {
		return s.metric(n, "freshet_audit_changes_total", `outcome="consistent"`, `within="10m"`) > 20 &&
			s.metric(n, "freshet_audit_looks_total", `found="equal"`) > 20
	})
	stop()
	ended := time.Now()
	eventually(t, "the stream has brought all of it", func() bool {
		since := time.Since(ended).Seconds()
		return s.metric(n, "freshet_watermark_age_seconds") < since
	})
	if v := s.violations(n); len(v) > 0 {
		t.Fatalf("an ordinary load is taken for a defect: %+v", v)
	}

	c.do("GET", "users:7")
	a.on.Store(true)
	began := time.Now()
	eventually(t, "the audit finds it", func() bool { return len(s.violations(n)) > 0 })
	v := s.violations(n)[0]
	t.Logf("found after %v, by %s", time.Since(began).Round(time.Millisecond), v.By)
	if trace := strings.Join(v.Trace, "\n"); !strings.Contains(trace, "fill answered and installed") && !strings.Contains(trace, "replaced") {
		t.Errorf("the story of %s does not say where its entry is from:\n%s", v.Key, trace)
	}
	if told := c.do("FRESHET.EXPLAIN", v.Key); !strings.Contains(told, "violation 1") {
		t.Errorf("FRESHET.EXPLAIN does not tell of it:\n%s", told)
	}
}

// ordinary writes and reads until it is stopped.
func (s *shop) ordinary(p *stack.Postgres, c *client) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var load sync.WaitGroup
	load.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			statement := fmt.Sprintf("UPDATE users SET city = 'There %d' WHERE id %% 8 = %d", i, i%8)
			switch i % 5 {
			case 3:
				statement = fmt.Sprintf("DELETE FROM users WHERE id = %d; INSERT INTO users VALUES (%[1]d, 'Back')", i%40)
			case 4:
				statement = fmt.Sprintf("ALTER TABLE users ALTER city TYPE text USING city || '%d'", i%10)
			}
			if err := p.Exec(ctx, statement); err != nil && ctx.Err() == nil {
				s.t.Error(err)
				return
			}
		}
	})
	load.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			for _, useCase := range []string{"users", "brisk"} {
				if _, err := c.Do("GET", fmt.Sprintf("%s:%d", useCase, i%40)); err != nil && ctx.Err() == nil {
					s.t.Error(err)
					return
				}
			}
		}
	})
	stop = func() {
		cancel()
		load.Wait()
	}
	s.t.Cleanup(stop)
	return stop
}
