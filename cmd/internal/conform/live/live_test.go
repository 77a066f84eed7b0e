package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("f.yaml", []byte("source: {sqlite: {path: x.db}}\n"+text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPrintedUseCasesAreThoseOfARun(t *testing.T) {
	got, err := chosen(parsed(t, UseCases()))
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string, bound time.Duration) history.UseCase {
		return history.UseCase{Name: name, Bound: bound}
	}
	want := []load.UseCase{
		{UseCase: of("conform-row", time.Second), WholeRow: true},
		{UseCase: of("conform-value", 250*time.Millisecond), Writable: true},
		{UseCase: of("conform-alias", 250*time.Millisecond), ByAlias: true},
		{UseCase: of("conform-small", 2*time.Second), Writable: true},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
}

func TestUseCasesOfARun(t *testing.T) {
	for _, test := range []struct{ useCases, conform, want string }{
		{`{name: a, table: freshet_conform_rows}, {name: b, table: users}`, ``, "[a]"},
		{`{name: a, table: public.freshet_conform_rows}, {name: b, table: freshet_conform_rows}`, `[b]`, "[b]"},
		{`{name: a, table: freshet_conform_rows, on_unavailable: stale, max_stale: 5m}`, ``, "[a]"},
		{`{name: b, table: users}`, ``, "no use case over table freshet_conform_rows"},
		{`{name: b, table: users}`, `[b]`, `use case "b" is over table users`},
		{`{name: a, table: freshet_conform_rows, key: [grp]}`, ``, "make it [alias]"},
		{`{name: a, table: freshet_conform_rows, column: grp}`, ``, "make it val, or none"},
		{`{name: a, table: freshet_conform_rows, bound: 0s}`, ``, "give it one, or leave it out of conform.use_cases"},
	} {
		got, err := chosen(parsed(t, "use_cases: ["+test.useCases+"]\nconform: {use_cases: "+test.conform+"}\n"))
		var names []string
		for _, u := range got {
			names = append(names, u.Name)
		}
		if said := fmt.Sprint(names, err); !strings.Contains(said, test.want) {
			t.Errorf("%s %s: %s", test.useCases, test.conform, said)
		}
	}
}

// shaky is a database that cannot be left at once.
type shaky struct {
	table.SQLite
	fails int
	left  []bool
}

func (s *shaky) Leave(_ context.Context, there bool) error {
	if s.fails--; s.fails >= 0 {
		return errors.New("away")
	}
	s.left = append(s.left, there)
	return nil
}

func TestADatabaseIsLeftWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &shaky{fails: 3}
		d := &Deployment{db: db, there: true, opts: Options{Log: slog.New(slog.DiscardHandler)}}
		if err := d.Close(); err != nil || len(db.left) != 1 || !db.left[0] {
			t.Errorf("%v, %v", err, db.left)
		}
	})
}

func TestWhatIsToBeDoneByHandIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for there, want := range map[bool]string{true: "DELETE FROM freshet_conform_rows;\n", false: "DROP TABLE IF EXISTS freshet_conform_rows;\n"} {
			d := &Deployment{db: &shaky{fails: 1000}, there: there, opts: Options{Log: slog.New(slog.DiscardHandler)}}
			start := time.Now()
			err := d.Close()
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "away") {
				t.Errorf("%v", err)
			}
			if took := time.Since(start); took < 10*time.Second || took > time.Minute {
				t.Errorf("given up after %v", took)
			}
		}
	})
}

func TestANodeThatIsNotWellSaysWhy(t *testing.T) {
	says := "not ready\nstream: no broker answers\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, says)
	}))
	defer server.Close()
	n := &config.ConformNode{Admin: strings.TrimPrefix(server.URL, "http://")}
	if err := wait(t.Context(), n, 50*time.Millisecond); err == nil || err.Error() != "its /readyz: not ready; stream: no broker answers: mend that first" {
		t.Errorf("%v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := wait(ended, n, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestCommandsOfFaults(t *testing.T) {
	c := parsed(t, UseCases()+`
conform:
  faults:
    - {name: bad, target: b, begin: "echo out of order; exit 3", for: 3s, clocks: true}
    - {name: good, begin: "echo $FRESHET_FAULT", end: "sleep 60 > /dev/null & kill $!"}
`)
	d := &Deployment{opts: Options{Config: c, Out: t.TempDir()}}
	faults := d.Faults(nil)
	bad, good := faults[0], faults[1]
	if bad.Name != "bad" || bad.Target != "b" || bad.Least != 3*time.Second || bad.Most != 3*time.Second || !bad.Clocks || bad.End != nil || good.Clocks {
		t.Errorf("%+v", faults)
	}
	err := bad.Begin(t.Context())
	if err == nil || !strings.Contains(err.Error(), `the command "echo out of order; exit 3": exit status 3; `) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(good.Begin(t.Context()), good.End(t.Context())); err != nil {
		t.Error(err)
	}
	said, err := os.ReadFile(filepath.Join(d.opts.Out, "faults.log"))
	if err != nil || !strings.Contains(string(said), "\nout of order\n# good : echo $FRESHET_FAULT\ngood\n") {
		t.Errorf("%s, %v", said, err)
	}
}
