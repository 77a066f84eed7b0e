package table

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func newTable(t *testing.T) (*SQLite, Conn) {
	t.Helper()
	s := &SQLite{Path: filepath.Join(t.TempDir(), "t.db")}
	if err := sqlite.Script(t.Context(), s.Path, "CREATE TABLE other (id INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s, c
}

// The log has what each operation did to each row, and nothing else.
func TestLogHasWhatWasDone(t *testing.T) {
	_, c := newTable(t)
	seq := uint64(0)
	for _, step := range []struct {
		name    string
		changes []Change
		undo    bool
		want    []Logged
	}{
		{"insert", []Change{{Op: Insert, ID: 3, Value: 1}, {Op: Insert, ID: 19, Value: 2}}, false, []Logged{{0, 3, 1}, {0, 19, 2}}},
		{"insert what is there", []Change{{Op: Insert, ID: 3, Value: 3}}, false, nil},
		{"update", []Change{{Op: Update, ID: 3, Value: 4}}, false, []Logged{{0, 3, 4}}},
		{"update what is not there", []Change{{Op: Update, ID: 4, Value: 5}}, false, nil},
		{"put over what is there", []Change{{Op: Put, ID: 3, Value: 6}}, false, []Logged{{0, 3, 6}}},
		{"undone", []Change{{Op: Put, ID: 3, Value: 7}}, true, []Logged{{0, 3, 7}}},
		{"move", []Change{{Op: Move, ID: 3, To: 36, Value: 8}}, false, []Logged{{0, 3, 0}, {0, 36, 8}}},
		{"move to what is taken", []Change{{Op: Move, ID: 36, To: 19, Value: 9}}, false, nil},
		{"twice in one", []Change{{Op: Update, ID: 36, Value: 10}, {Op: Delete, ID: 36}, {Op: Insert, ID: 36, Value: 11}}, false, []Logged{{0, 36, 10}, {0, 36, 0}, {0, 36, 11}}},
		{"group", []Change{{Op: Group, ID: 4, Value: 100}}, false, []Logged{{0, 36, 136}}},
		{"reshape", []Change{{Op: Reshape, Value: 12}}, false, []Logged{{0, 19, 12}, {0, 36, 12}}},
		{"after the reshape", []Change{{Op: Update, ID: 19, Value: 13}}, false, []Logged{{0, 19, 13}}},
		{"truncate", []Change{{Op: Truncate}}, false, []Logged{{0, 19, 0}, {0, 36, 0}}},
		{"insert again", []Change{{Op: Insert, ID: 1, Value: 14}}, false, []Logged{{0, 1, 14}}},
		{"recreate", []Change{{Op: Recreate}}, false, []Logged{{0, 1, 0}}},
		{"after that", []Change{{Op: Insert, ID: 1, Value: 15}}, false, []Logged{{0, 1, 15}}},
	} {
		d, err := c.Transact(t.Context(), step.changes, step.undo)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		logged, err := c.Since(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if step.undo != (len(logged) == 0) && len(step.want) > 0 || d.Committed == step.undo {
			t.Errorf("%s: committed %v, and the log has %v", step.name, d.Committed, logged)
		}
		if !step.undo && !reflect.DeepEqual(d.Logged, logged) {
			t.Errorf("%s: told %v, and the log has %v", step.name, d.Logged, logged)
		}
		if d.Begun > d.Acked || d.Acked == 0 {
			t.Errorf("%s: begun %d, acknowledged %d", step.name, d.Begun, d.Acked)
		}
		if got := withoutSeq(d.Logged); !reflect.DeepEqual(got, step.want) {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
		for _, l := range logged {
			seq = l.Seq
		}
	}
	if l, err := c.Find(t.Context(), 36, 136); err != nil || l.Seq == 0 {
		t.Errorf("found %v, %v", l, err)
	}
	if _, err := c.Find(t.Context(), 3, 7); !errors.Is(err, ErrNotLogged) {
		t.Errorf("what was undone is found: %v", err)
	}
}

func withoutSeq(ls []Logged) []Logged {
	var out []Logged
	for _, l := range ls {
		l.Seq = 0
		out = append(out, l)
	}
	return out
}

func TestCreateTouchesNothingAndDropLeavesNothing(t *testing.T) {
	s, c := newTable(t)
	if err := s.Create(t.Context()); err == nil || !strings.Contains(err.Error(), "drop what an earlier run has left") {
		t.Errorf("created over what is there: %v", err)
	}
	if _, err := c.Transact(t.Context(), []Change{{Op: Insert, ID: 1, Value: 1}}, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context()); err != nil {
		t.Errorf("something was left: %v", err)
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		id   int
		want uint64
		ok   bool
	}{
		{Text(17, 523), 17, 523, true}, {Text(17, 523), 7, 0, false}, {".9", 4, 9, true},
		{"17.5", 17, 5, true}, {"17.5.===", 17, 5, true}, {"17", 17, 0, false}, {"17.", 17, 0, false}, {"17.x", 17, 0, false}, {"17.0", 17, 0, false}, {"", 0, 0, false},
	} {
		if got, ok := Parse(test.text, test.id); ok != test.ok || ok && got != test.want {
			t.Errorf("%q of %d: %d, %v", test.text, test.id, got, ok)
		}
	}
}
