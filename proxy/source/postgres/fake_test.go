package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// fake is a server that answers what a test says. Sessions are numbered from 1.
type fake struct {
	t      *testing.T
	addr   *net.TCPAddr
	shared bool // a pooler: the process id it announces is not the session's
	// answer is called for each statement that is executed, before its answer
	// is sent. Without it, statements return nothing.
	answer func(session int, sql string) reply

	mu       sync.Mutex
	sessions int
	said     []string // statements, with their session
}

// reply is what a statement gives.
type reply struct {
	row    []string
	code   string // of an error
	hangUp bool
	status byte // of the transaction from now on
}

func newFake(t *testing.T) *fake {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, addr: l.Addr().(*net.TCPAddr)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				(&session{fake: f, b: pgproto3.NewBackend(conn, conn), status: 'I', names: map[string]string{}}).serve()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return f
}

// pool returns a pool of one connection to the server, and its options.
func (f *fake) pool() *pool {
	config, err := Config(fmt.Sprintf("postgres://u@%s/db?sslmode=disable", f.addr))
	if err != nil {
		f.t.Fatal(err)
	}
	p := newPool(config, Options{}.withDefaults(), 1)
	f.t.Cleanup(p.close)
	return p
}

func (f *fake) heard(number int, sql string) reply {
	f.mu.Lock()
	f.said = append(f.said, fmt.Sprintf("%d %s", number, sql))
	f.mu.Unlock()
	if strings.Contains(sql, "pg_backend_pid") {
		return reply{row: []string{"UTF8", map[bool]string{true: "f", false: "t"}[f.shared], ""}}
	}
	if f.answer == nil {
		return reply{}
	}
	return f.answer(number, sql)
}

// heardAll returns the statements so far, without those that set up a session.
func (f *fake) heardAll() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, s := range f.said {
		if !strings.Contains(s, "set_config") {
			out = append(out, s)
		}
	}
	return strings.Join(out, "; ")
}

// session is one connection of a fake.
type session struct {
	*fake
	number int
	b      *pgproto3.Backend
	status byte
	failed bool // until the next Sync
	names  map[string]string
	bound  string
}

func (s *session) serve() {
	m, err := s.b.ReceiveStartupMessage()
	if _, ok := m.(*pgproto3.StartupMessage); err != nil || !ok { // or a request to cancel
		return
	}
	s.mu.Lock()
	s.sessions++
	s.number = s.sessions
	s.mu.Unlock()
	s.b.Send(&pgproto3.AuthenticationOk{})
	s.b.Send(&pgproto3.BackendKeyData{ProcessID: uint32(s.number), SecretKey: []byte{1, 2, 3, 4}})
	s.ready()
	for {
		m, err := s.b.Receive()
		if err != nil || !s.take(m) {
			return
		}
	}
}

func (s *session) ready() {
	s.b.Send(&pgproto3.ReadyForQuery{TxStatus: s.status})
	_ = s.b.Flush()
}

// take answers a message, and reports false if the connection is to end.
func (s *session) take(m pgproto3.FrontendMessage) bool {
	switch m := m.(type) {
	case *pgproto3.Parse:
		s.names[m.Name] = m.Query
		s.send(&pgproto3.ParseComplete{})
	case *pgproto3.Bind:
		s.bound = s.names[m.PreparedStatement]
		s.send(&pgproto3.BindComplete{})
	case *pgproto3.Describe:
		if m.ObjectType == 'S' {
			s.send(&pgproto3.ParameterDescription{})
			s.send(&pgproto3.NoData{})
		}
	case *pgproto3.Execute:
		return s.failed || s.execute(s.heard(s.number, s.bound))
	case *pgproto3.Query:
		if !s.execute(s.heard(s.number, m.String)) {
			return false
		}
		if m.String == "ROLLBACK" {
			s.status = 'I'
		}
		s.failed = false
		s.ready()
	case *pgproto3.Sync:
		s.failed = false
		s.ready()
	case *pgproto3.Terminate:
		return false
	}
	return true
}

func (s *session) send(m pgproto3.BackendMessage) {
	if !s.failed {
		s.b.Send(m)
	}
}

func (s *session) execute(r reply) bool {
	if r.status != 0 {
		s.status = r.status
	}
	switch {
	case r.hangUp:
		_ = s.b.Flush()
		return false
	case r.code != "":
		s.send(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: r.code, Message: "told so"})
		s.failed = true
	case r.row == nil:
		s.send(&pgproto3.NoData{})
		s.send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")})
	default:
		d, v := &pgproto3.RowDescription{}, &pgproto3.DataRow{}
		for _, text := range r.row {
			d.Fields = append(d.Fields, pgproto3.FieldDescription{Name: []byte("c"), DataTypeOID: typeText})
			v.Values = append(v.Values, []byte(text))
		}
		s.send(d)
		s.send(v)
		s.send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	}
	return true
}

// A connection that is left inside a transaction would read its old snapshot:
// it is taken out of it before anybody else uses it, or closed.
func TestOpenTransactionsAreEnded(t *testing.T) {
	f := newFake(t)
	f.answer = func(session int, sql string) reply {
		switch sql {
		case "leave open":
			return reply{status: 'T'}
		case "ROLLBACK":
			if session == 2 {
				return reply{hangUp: true}
			}
		}
		return reply{}
	}
	p := f.pool()
	run := func(sql string) {
		t.Helper()
		if err := p.read(t.Context(), func(c *Conn) error { return c.Query(t.Context(), nil, sql) }); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	run("leave open")
	run("a")
	p.reset()
	run("leave open")
	run("b")
	const want = "1 leave open; 1 ROLLBACK; 1 a; 2 leave open; 2 ROLLBACK; 3 b"
	if got := f.heardAll(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A read is sent again over a new connection if an old one is lost, and only
// once.
func TestLostConnectionIsReplacedOnce(t *testing.T) {
	f := newFake(t)
	var lost atomic.Int64
	lost.Store(1)
	f.answer = func(session int, sql string) reply { return reply{hangUp: sql == "b" && session <= int(lost.Load())} }
	p := f.pool()
	run := func(sql string) error {
		return p.read(t.Context(), func(c *Conn) error { return c.Query(t.Context(), nil, sql) })
	}
	if err := errors.Join(run("a"), run("b")); err != nil {
		t.Error(err)
	}
	lost.Store(10)
	if err := run("b"); classify(err) != isLost {
		t.Errorf("got %v", err)
	}
	if got, want := f.heardAll(), "1 a; 1 b; 2 b; 2 b; 3 b"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What may have been committed is not sent again, and what cannot have been
// is not called unknown.
func TestOutcomeOfACommit(t *testing.T) {
	for _, test := range []struct {
		name    string
		answer  func(sql string) reply
		unknown bool
		class   class
	}{
		{"done", func(string) reply { return reply{} }, false, isNone},
		{"refused", func(sql string) reply { return reply{code: map[bool]string{true: "23505"}[sql == "w"]} }, false, isRejected},
		{"refused at the commit", func(sql string) reply { return reply{code: map[bool]string{true: "40001"}[sql == "COMMIT"]} }, false, isConflict},
		{"lost at the commit", func(sql string) reply { return reply{hangUp: sql == "COMMIT"} }, true, isOther},
		{"lost at the write", func(sql string) reply { return reply{hangUp: sql == "w"} }, true, isOther}, // the commit may have been read, too
	} {
		f := newFake(t)
		f.answer = func(_ int, sql string) reply { return test.answer(sql) }
		var err error
		_, used := f.pool().use(t.Context(), false, func(c *Conn) error {
			err = c.commit(t.Context(), append(c.opening(beginWrite), &command{sql: "w"}))
			return nil
		})
		var unknown *unknownError
		if used != nil || errors.As(err, &unknown) != test.unknown || classify(err) != test.class {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
	f := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = f.pool().use(t.Context(), false, func(c *Conn) error {
		cancel()
		err := c.commit(ctx, append(c.opening(beginWrite), &command{sql: "w"}))
		var unknown *unknownError
		if err == nil || errors.As(err, &unknown) {
			t.Errorf("nothing was sent: got %v", err)
		}
		return nil
	})
}

// In a session that is shared nothing is prepared by name, and each
// transaction makes its own settings. That a session is shared may also be
// found out by a statement that is not there.
func TestSharedSessions(t *testing.T) {
	for _, shared := range []bool{true, false} {
		f := newFake(t)
		f.shared = shared
		f.answer = func(_ int, sql string) reply {
			if sql == "SELECT 1" && !shared && !strings.Contains(f.heardAll(), "READ ONLY") {
				return reply{code: "26000"}
			}
			return reply{}
		}
		s := &Source{primary: f.pool()}
		err := s.primary.read(t.Context(), func(c *Conn) error {
			if c.pooled != shared {
				t.Errorf("pooled: %v", c.pooled)
			}
			return s.patiently(t.Context(), c, nil, func() error {
				return c.statement(t.Context(), false, &command{sql: "SELECT 1"})
			})
		})
		if err != nil {
			t.Error(err)
		}
		want := "1 BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; 1 SELECT 1; 1 COMMIT"
		if !shared {
			want = "1 SELECT 1; " + want
		}
		if got := f.heardAll(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// What is read in one snapshot is locked before it is taken.
func TestSnapshotLocksFirst(t *testing.T) {
	f := newFake(t)
	s := &Source{primary: f.pool()}
	err := s.primary.read(t.Context(), func(c *Conn) error {
		return c.snapshot(t.Context(), true, []string{`"public"."a"`, `"public"."b"`}, &command{sql: "SELECT 1"}, &command{sql: "SELECT 2"})
	})
	want := `1 BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE; 1 LOCK TABLE "public"."a" IN ACCESS SHARE MODE; ` +
		`1 LOCK TABLE "public"."b" IN ACCESS SHARE MODE; 1 SELECT 1; 1 SELECT 2; 1 COMMIT`
	if got := f.heardAll(); err != nil || got != want {
		t.Errorf("%v: got  %s\nwant %s", err, got, want)
	}
}
