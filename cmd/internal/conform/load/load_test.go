package load

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	wholeRow = UseCase{UseCase: history.UseCase{Name: "row"}, WholeRow: true}
	value    = UseCase{UseCase: history.UseCase{Name: "value"}, Writable: true}
)

func text(s string) client.Reply { return client.Reply{Text: s} }

func TestRepliesAreUnderstood(t *testing.T) {
	proof := func(pairs ...string) *client.Reply {
		r := &client.Reply{}
		for _, p := range pairs {
			r.List = append(r.List, text(p))
		}
		return r
	}
	for _, test := range []struct {
		name    string
		useCase *UseCase
		command command
		reply   client.Reply
		want    history.Read
	}{
		{"value", &value, command{args: []string{"GET"}}, text("7.12"), history.Read{Value: 12}},
		{"another row's value", &value, command{args: []string{"GET"}}, text("8.12"), history.Read{Odd: "“8.12”"}},
		{"far too much", &value, command{args: []string{"GET"}}, text(strings.Repeat("\x00", 1<<20)), history.Read{Odd: "“" + strings.Repeat("\x00", 1000) + "…” of 1048576 bytes"}},
		{"nothing", &value, command{args: []string{"GET"}}, client.Reply{Null: true}, history.Read{}},
		{"refused", &value, command{args: []string{"GET"}}, client.Reply{Err: client.Refusal("ERR no")}, history.Read{Trouble: history.Refused}},
		{"unavailable", &value, command{args: []string{"GET"}}, client.Reply{Err: client.Refusal("UNAVAILABLE x")}, history.Read{Trouble: history.Unavailable}},
		{"row", &wholeRow, command{args: []string{"GET"}}, text(`{"id":7,"alias":"a7","grp":7,"val":"7.12"}`), history.Read{Value: 12}},
		{"half another row", &wholeRow, command{args: []string{"GET"}}, text(`{"id":7,"alias":"a8","grp":7,"val":"7.12"}`), history.Read{Odd: `“{"id":7,"alias":"a8","grp":7,"val":"7.12"}”`}},
		{"row without its pad", &UseCase{WholeRow: true, Padded: true}, command{args: []string{"GET"}}, text(`{"id":9,"alias":"a9","grp":9,"val":"9.12"}`), history.Read{Odd: `“{"id":9,"alias":"a9","grp":9,"val":"9.12"}”`}},
		{"row that has none", &UseCase{WholeRow: true, Padded: true}, command{args: []string{"GET"}}, text(`{"id":7,"alias":"a7","grp":7,"pad":null,"val":"7.12"}`), history.Read{Value: 12}},
		{"no row", &wholeRow, command{args: []string{"GET"}}, text(`{}`), history.Read{Odd: "“{}”"}},
		{"of many", &value, command{args: []string{"MGET"}}, client.Reply{List: []client.Reply{text("7.3")}}, history.Read{Value: 3}},
		{"of too few", &value, command{args: []string{"MGET"}}, client.Reply{}, history.Read{Odd: "an array of 0"}},
		{"proof", &value, command{args: []string{"FRESHET.GET"}, proof: true},
			*proof("value", "7.4", "version", "1/2", "as_of", "1700", "upper", "1800", "bound_met", "0", "origin", "stale", "more", "x"),
			history.Read{Value: 4, AsOf: 1700, Upper: 1800, Outside: true, Origin: history.Stale}},
		{"no proof", &value, command{args: []string{"FRESHET.GET"}, proof: true}, text("7.4"), history.Read{Odd: "no proof"}},
	} {
		c := test.command
		c.reads = []read{{id: 7, useCase: test.useCase}}
		c.understand(&test.reply, 0)
		if got := c.reads[0].Read; got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// kept is a history in memory.
type kept struct {
	*history.Writer
	out   bytes.Buffer
	ended chan error
}

func keep() *kept {
	k := &kept{ended: make(chan error, 1)}
	k.Writer = history.NewWriter(&k.out)
	go func() { k.ended <- k.Run() }()
	return k
}

// writes ends the history and returns its writes.
func (k *kept) writes(t *testing.T) []history.Write {
	t.Helper()
	k.Close()
	if err := <-k.ended; err != nil {
		t.Fatal(err)
	}
	d := history.NewDecoder()
	var out []history.Write
	for line := range strings.Lines(k.out.String()) {
		r, err := d.Line([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := r.(*history.Write); ok {
			out = append(out, *w)
		}
	}
	return out
}

func database(t *testing.T) table.Database {
	t.Helper()
	db := &table.SQLite{Path: filepath.Join(t.TempDir(), "t.db")}
	if err := sqlite.Script(t.Context(), db.Path, "PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	if err := db.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func outcomes(ws []history.Write) []history.Outcome {
	var out []history.Outcome
	for _, w := range ws {
		out = append(out, w.Outcome)
	}
	return out
}

// Every write of a transaction is recorded under every use case, with what
// became of it.
func TestWritesAreRecorded(t *testing.T) {
	k, db := keep(), database(t)
	l := New(db, nil, []UseCase{wholeRow, value}, k.Writer, Options{Keys: 10})
	conn, err := db.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	log := k.Log()
	put := func(id int, n uint64) table.Change { return table.Change{Op: table.Put, ID: id, Value: n} }
	for _, undo := range []bool{false, true} {
		if err := l.transact(t.Context(), conn, log, []table.Change{put(1, 5), put(2, 6), put(1, 7)}, "several", undo); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.Settle(t.Context()), log.Flush()); err != nil {
		t.Fatal(err)
	}
	ws := k.writes(t)
	c, p, r := history.Committed, history.Passed, history.RolledBack
	if want := []history.Outcome{p, p, c, c, c, c, r, r, r, r, r, r}; !slices.Equal(outcomes(ws), want) {
		t.Errorf("%v, want %v", outcomes(ws), want)
	}
	if w := ws[4]; w.Key != "row:1" || w.Value != 7 || w.Seq == 0 || ws[5].Key != "value:1" || ws[5].Seq != w.Seq {
		t.Errorf("%+v, %+v", ws[4], ws[5])
	}
	if ws[6].Seq != 0 {
		t.Errorf("what was undone has a place: %+v", ws[6])
	}
}

// A write goes through one use case: what others have of the row is older until
// the stream comes, though they could have been written through as well.
func TestAWriteGoesThroughOneUseCase(t *testing.T) {
	k, db := keep(), database(t)
	second := UseCase{UseCase: history.UseCase{Name: "second"}, Writable: true}
	l := New(db, nil, []UseCase{wholeRow, value, second}, k.Writer, Options{Keys: 10})
	log := k.Log()
	if err := errors.Join(l.record(log, table.Logged{Seq: 1, ID: 1, Value: 5}, history.Write{Node: "n"}), log.Flush()); err != nil {
		t.Fatal(err)
	}
	var through []string
	for _, w := range k.writes(t) {
		if w.Node == "n" {
			through = append(through, w.Key)
		}
	}
	if !slices.Equal(through, []string{"value:1"}) {
		t.Errorf("through a node: %v", through)
	}
}

// What has no reply is looked up in the log.
func TestSettleLooksUpWhatHasNoReply(t *testing.T) {
	k, db := keep(), database(t)
	l := New(db, nil, []UseCase{value}, k.Writer, Options{Keys: 10})
	conn, err := db.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	carriedOut := func(c table.Change) table.Done {
		d, err := conn.Transact(t.Context(), []table.Change{c}, false)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	through := func(id int, n uint64, lost bool) pendingWrite {
		return pendingWrite{id: id, lost: lost, write: history.Write{Op: "x", Node: "n", Value: n, Begun: 1, Acked: 2, Token: 9}}
	}
	l.postpone(pendingWrite{done: carriedOut(table.Change{Op: table.Insert, ID: 1, Value: 11}), op: "insert"}) // was committed
	l.postpone(pendingWrite{done: table.Done{Begun: 1, Logged: []table.Logged{{Seq: 99, ID: 1, Value: 12}}}, op: "insert"})
	carriedOut(table.Change{Op: table.Insert, ID: 2, Value: 13})
	l.postpone(through(2, 13, true))
	l.postpone(through(3, 14, true)) // was not
	carriedOut(table.Change{Op: table.Delete, ID: 2})
	l.postpone(through(2, 0, false))
	if err := l.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[uint64]history.Write{}
	for _, w := range k.writes(t) {
		got[w.Value] = w
	}
	if len(got) != 4 {
		t.Fatalf("%+v", got)
	}
	if w := got[11]; w.Outcome != history.Committed || w.Acked <= w.Begun {
		t.Errorf("a commit without a reply: %+v", w)
	}
	if w := got[13]; w.Outcome != history.Committed || w.Token != 0 || w.Acked <= 2 {
		t.Errorf("a put without a reply: %+v", w)
	}
	if w := got[14]; w.Outcome != history.RolledBack {
		t.Errorf("a put that was not carried out: %+v", w)
	}
	if w := got[0]; w.Outcome != history.Committed || w.Seq == 0 || w.Acked != 2 || w.Token != 9 {
		t.Errorf("a delete: %+v", w)
	}
}

func TestSettleFindsWhatNobodyWrote(t *testing.T) {
	k, db := keep(), database(t)
	l := New(db, nil, []UseCase{value}, k.Writer, Options{Keys: 10})
	conn, err := db.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Transact(t.Context(), []table.Change{{Op: table.Insert, ID: 1, Value: 1}}, false); err != nil {
		t.Fatal(err)
	}
	if err := l.Settle(context.WithoutCancel(t.Context())); err == nil || !strings.Contains(err.Error(), "leave the table alone") {
		t.Errorf("%v", err)
	}
	k.writes(t)
}

// One seed draws the same, and every kind of read and of write.
func TestDrawing(t *testing.T) {
	l := New(nil, nil, []UseCase{wholeRow, value}, nil, Options{Seed: 5, Keys: 500})
	l.useCases[0].Bound, l.useCases[1].Bound = 1e9, 1e9
	l.tokens.last.Store(&written{id: 3, token: 4})
	modes, ops := map[history.Mode]int{}, map[string]int{}
	a, b := l.keys.draw(5, 1), l.keys.draw(5, 1)
	hot := 0
	for range 3000 {
		x, y := l.draw(a), l.draw(b)
		if !reflect.DeepEqual(x, y) {
			t.Fatalf("%v, then %v", x, y)
		}
		for _, c := range x {
			for _, r := range c.reads {
				modes[r.Mode]++
				if r.Hot {
					hot++
				}
			}
		}
		_, op, undo := l.transaction(a)
		_, _, _ = l.transaction(b)
		if undo {
			op = "undone"
		}
		ops[op]++
	}
	for _, m := range []history.Mode{history.Plain, history.Many, history.MaxStale, history.Strong, history.Token} {
		if modes[m] == 0 {
			t.Errorf("no read is %s: %v", m, modes)
		}
	}
	for _, op := range []string{"update", "put", "insert", "delete", "move", "several", "undone", "group"} {
		if ops[op] == 0 {
			t.Errorf("no write is %s: %v", op, ops)
		}
	}
	if sum := modes[history.Plain] + modes[history.Many]; hot*3 < sum {
		t.Errorf("%d of %d are of the hot head", hot, sum)
	}
}
