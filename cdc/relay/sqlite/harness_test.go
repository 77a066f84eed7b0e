package sqlite

import (
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a file with its outbox, and a client that knows nothing of it.
type fixture struct {
	*testing.T
	path   string
	specs  []row.Spec
	log    *Log
	client *sql.DB
	after  proxy.Position
}

func newFixture(t *testing.T, schema string, specs ...row.Spec) *fixture {
	t.Helper()
	f := &fixture{T: t, path: filepath.Join(t.TempDir(), "test.db"), specs: specs}
	if err := source.Script(t.Context(), f.path, schema); err != nil {
		t.Fatal(err)
	}
	f.client = f.open("")
	f.reopen()
	if err := f.log.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.poll() // what the installation itself has to say
	return f
}

// reopen is another run of the relay.
func (f *fixture) reopen() {
	f.Helper()
	if f.log != nil {
		f.log.Close()
	}
	f.log = New(Options{Path: f.path}, f.specs, slog.New(slog.DiscardHandler))
	f.Cleanup(func() { f.log.Close() })
	f.after = proxy.Position{}
}

// open is another client. Without parameters it has SQLite's own defaults.
func (f *fixture) open(parameters string) *sql.DB {
	f.Helper()
	name := "file:" + (&url.URL{Path: f.path}).EscapedPath()
	if parameters != "" {
		name += "?" + parameters
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		f.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	f.Cleanup(func() { db.Close() })
	return db
}

func (f *fixture) exec(statements ...string) {
	f.Helper()
	for _, s := range statements {
		if _, err := f.client.Exec(s); err != nil {
			f.Fatalf("%s: %v", s, err)
		}
	}
}

// poll reads on until there is no more.
func (f *fixture) poll() (changes []relay.Change, last *relay.Batch) {
	f.Helper()
	for {
		b, err := f.log.Poll(f.Context(), f.after)
		if err != nil {
			f.Fatal(err)
		}
		changes = append(changes, b.Changes...)
		f.after = b.Through
		if b.Backlog == 0 {
			return changes, b
		}
	}
}

// changes spells what one poll brings: "U id=1,email=a > id=1,email=b,n=2!",
// with "!" for the last change of a row.
func (f *fixture) changes() []string {
	f.Helper()
	changes, _ := f.poll()
	var out []string
	for _, c := range changes {
		op := map[event.Op]string{event.Insert: "I", event.Update: "U", event.Delete: "D", event.Touch: "T", event.SchemaChanged: "S " + c.Table}[c.Op]
		s := strings.TrimSpace(op + " " + spell(c.Before))
		if c.After != nil {
			s += " > " + spell(c.After)
		}
		if c.Last {
			s += "!"
		}
		out = append(out, s)
	}
	return out
}

func spell(fields []row.Field) string {
	var out []string
	for _, f := range fields {
		value := string(f.Value)
		switch f.Kind {
		case row.Unknown:
			value = "?"
		case row.Null:
			value = "null"
		}
		out = append(out, f.Name+"="+value)
	}
	return strings.Join(out, ",")
}

func (f *fixture) want(want ...string) {
	f.Helper()
	if got := f.changes(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		f.Errorf("changes:\n got %q\nwant %q", got, want)
	}
}
