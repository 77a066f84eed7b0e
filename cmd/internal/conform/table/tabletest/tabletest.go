package tabletest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
)

// Run tests the table in a database that has none yet, and leaves none.
func Run(t *testing.T, db table.Database) {
	if err := db.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("log", func(t *testing.T) { testLog(t, connect(t, db)) })
	t.Run("many", func(t *testing.T) { testMany(t, db) })
	t.Run("drop", func(t *testing.T) { testDrop(t, db) })
}

func connect(t *testing.T, db table.Database) table.Conn {
	t.Helper()
	c, err := db.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// The log has what each operation did to each row, and nothing else.
func testLog(t *testing.T, c table.Conn) {
	seq := uint64(0)
	for _, step := range []struct {
		name    string
		changes []table.Change
		undo    bool
		want    []table.Logged
	}{
		{"insert", []table.Change{{Op: table.Insert, ID: 3, Value: 1}, {Op: table.Insert, ID: 19, Value: 2}}, false, []table.Logged{line(3, 1), line(19, 2)}},
		{"insert what is there", []table.Change{{Op: table.Insert, ID: 3, Value: 3}}, false, nil},
		{"update", []table.Change{{Op: table.Update, ID: 3, Value: 4}}, false, []table.Logged{line(3, 4)}},
		{"update what is not there", []table.Change{{Op: table.Update, ID: 4, Value: 5}}, false, nil},
		{"put over what is there", []table.Change{{Op: table.Put, ID: 3, Value: 6}}, false, []table.Logged{line(3, 6)}},
		{"undone", []table.Change{{Op: table.Put, ID: 3, Value: 7}}, true, []table.Logged{line(3, 7)}},
		{"move", []table.Change{{Op: table.Move, ID: 3, To: 36, Value: 8}}, false, []table.Logged{line(3, 0), line(36, 8)}},
		{"move to what is taken", []table.Change{{Op: table.Move, ID: 36, To: 19, Value: 9}}, false, nil},
		{"twice in one", []table.Change{{Op: table.Update, ID: 36, Value: 10}, {Op: table.Delete, ID: 36}, {Op: table.Insert, ID: 36, Value: 11}}, false, []table.Logged{line(36, 10), line(36, 0), line(36, 11)}},
		{"group", []table.Change{{Op: table.Group, ID: 4, Value: 100}}, false, []table.Logged{line(36, 136)}},
		{"reshape", []table.Change{{Op: table.Reshape, Value: 12}}, false, []table.Logged{line(19, 12), line(36, 12)}},
		{"after the reshape", []table.Change{{Op: table.Update, ID: 19, Value: 13}}, false, []table.Logged{line(19, 13)}},
		{"truncate", []table.Change{{Op: table.Truncate}}, false, []table.Logged{line(19, 0), line(36, 0)}},
		{"insert again", []table.Change{{Op: table.Insert, ID: 1, Value: 14}}, false, []table.Logged{line(1, 14)}},
		{"recreate", []table.Change{{Op: table.Recreate}}, false, []table.Logged{line(1, 0)}},
		{"after that", []table.Change{{Op: table.Insert, ID: 1, Value: 15}}, false, []table.Logged{line(1, 15)}},
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
	if _, err := c.Find(t.Context(), 3, 7); !errors.Is(err, table.ErrNotLogged) {
		t.Errorf("what was undone is found: %v", err)
	}
}

func line(id int, value uint64) table.Logged { return table.Logged{ID: id, Value: value} }

func withoutSeq(ls []table.Logged) []table.Logged {
	var out []table.Logged
	for _, l := range ls {
		l.Seq = 0
		out = append(out, l)
	}
	return out
}

// Of writers that get into each other's way, each is told what it did itself,
// and the lines of a row are in the order in which it was written.
func testMany(t *testing.T, db table.Database) {
	const writers, rounds, rows = 4, 40, 3
	c := connect(t, db)
	before, err := c.Since(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	told := make([][]table.Logged, writers)
	for w := range writers {
		c := connect(t, db)
		all.Go(func() {
			for i := range rounds {
				n := uint64(1000 + (w*rounds+i)*2)
				d, err := c.Transact(t.Context(), []table.Change{
					{Op: table.Put, ID: (w + i) % rows, Value: n},
					{Op: table.Op(i % 4), ID: (w * i) % rows, Value: n + 1}, // in another order than others: deadlocks
				}, false)
				if err != nil || !d.Committed {
					t.Errorf("%+v, %v", d, err)
				}
				told[w] = append(told[w], d.Logged...)
			}
		})
	}
	all.Wait()
	logged, err := c.Since(t.Context(), last(before))
	if err != nil {
		t.Fatal(err)
	}
	by := map[uint64]table.Logged{}
	for w := range told {
		for _, l := range told[w] {
			by[l.Seq] = l
		}
	}
	for _, l := range logged {
		if by[l.Seq] != l {
			t.Errorf("the log has %+v, and its writer was told %+v", l, by[l.Seq])
		}
	}
	if len(by) != len(logged) {
		t.Errorf("%d lines were told of, and the log has %d", len(by), len(logged))
	}
}

func last(logged []table.Logged) uint64 {
	if len(logged) == 0 {
		return 0
	}
	return logged[len(logged)-1].Seq
}

func testDrop(t *testing.T, db table.Database) {
	if err := db.Create(t.Context()); err == nil || !strings.Contains(err.Error(), "drop what an earlier run has left") {
		t.Errorf("created over what is there: %v", err)
	}
	for range 2 { // what is not there is dropped too
		if err := db.Drop(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Create(t.Context()); err != nil {
		t.Errorf("something was left: %v", err)
	}
	if err := db.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
