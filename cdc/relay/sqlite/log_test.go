package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// A poll that does not show everything takes no rows along and says nothing
// about a time at which it saw more.
func TestBatches(t *testing.T) {
	f := users(t)
	_, before := f.poll()
	f.exec(`INSERT INTO users (id, email) VALUES (1, 'a'), (2, 'b'), (3, 'c')`)
	f.log.opts.BatchRows = 2
	first, err := f.log.Poll(t.Context(), f.after)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Changes) != 2 || first.Backlog != 1 || first.Changes[1].Last || len(first.Changes[1].After) != 2 {
		t.Errorf("first poll: %+v", first)
	}
	if first.T != before.T {
		t.Errorf("first poll: T %v, want that of the poll before, %v", first.T, before.T)
	}
	f.exec(`INSERT INTO users (id, email) VALUES (4, 'd')`)
	second, err := f.log.Poll(t.Context(), first.Through)
	if err != nil {
		t.Fatal(err)
	}
	if len(second.Changes) != 2 || second.Backlog != 0 || second.T <= first.T {
		t.Errorf("second poll: %+v", second)
	}
	// 3 was there at the first poll, 4 was not.
	if c := second.Changes[0]; c.Commit != before.T {
		t.Errorf("change 3 has commit time %v, want %v", c.Commit, before.T)
	}
	if c := second.Changes[1]; c.Commit <= before.T || c.Commit >= second.T || !c.Last || len(c.After) != 4 {
		t.Errorf("change 4: %+v; T was %v, then %v", c, before.T, second.T)
	}
}

func TestPollsAreBounded(t *testing.T) {
	l := &Log{}
	for i := range 5 * maxPolls {
		l.head.Sequence = uint64(i)
		l.remember(proxy.Time(i))
	}
	if len(l.polls) != maxPolls {
		t.Errorf("%d polls", len(l.polls))
	}
	for seq := range uint64(5 * maxPolls) {
		if at := l.hidden(seq); at >= proxy.Time(seq) {
			t.Fatalf("sequence %d was hidden at %d", seq, at)
		}
	}
	if at := l.hidden(5 * maxPolls); at != 5*maxPolls-1 {
		t.Errorf("the newest poll was at %d", at)
	}
}

func TestNothingNew(t *testing.T) {
	f := users(t)
	f.exec(`INSERT INTO users (id, email) VALUES (1, 'a')`)
	_, one := f.poll()
	changes, two := f.poll()
	if len(changes) != 0 || two.T <= one.T || two.Through != one.Through {
		t.Errorf("%v, T %v after %v", changes, two.T, one.T)
	}
}

func TestLargeRows(t *testing.T) {
	f := users(t)
	f.exec(fmt.Sprintf(`INSERT INTO users (id, email, n) VALUES (1, 'a', zeroblob(%d))`, maxImageBytes+1))
	f.want("I > email=a,id=1!")
	f.exec(fmt.Sprintf(`INSERT INTO users (id, email) VALUES (2, hex(zeroblob(%d)))`, maxKeyBytes))
	f.want("S users")
}

func TestAck(t *testing.T) {
	f := users(t)
	f.log.opts.KeepRows = 3
	rows := func() (n int) {
		if err := f.client.QueryRow(`SELECT count(*) FROM freshet_outbox`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	ack := func(commit uint64) {
		t.Helper()
		if err := f.log.Ack(t.Context(), relay.Mark{Topic: 9, Through: proxy.Position{Commit: commit}}); err != nil {
			t.Fatal(err)
		}
	}
	f.exec(`INSERT INTO users (id, email) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')`) // 2 to 6; 1 is the installation's
	ack(1)
	if n := rows(); n != 5 { // the topic is kept at once
		t.Errorf("%d rows", n)
	}
	ack(3)
	if n := rows(); n != 5 { // too few to be worth a transaction
		t.Errorf("%d rows", n)
	}
	f.client.SetMaxOpenConns(1)
	f.exec(`BEGIN IMMEDIATE`)
	ack(5) // another client writes: later
	f.exec(`ROLLBACK`)
	if n := rows(); n != 5 {
		t.Errorf("%d rows", n)
	}
	ack(5)
	if n := rows(); n != 1 {
		t.Errorf("%d rows", n)
	}
	f.reopen()
	changes, b := f.poll()
	if len(changes) != 1 || b.Topic != 9 {
		t.Errorf("after a restart: %v, topic %d", changes, b.Topic)
	}
	if c := changes[0]; c.Commit != proxy.Never {
		t.Errorf("a change that an earlier run may have seen has commit time %v", c.Commit)
	}
}

// A full disk fails whoever writes, and what was written is shipped.
func TestFullDisk(t *testing.T) {
	f := users(t)
	f.client.SetMaxOpenConns(1)
	var pages int
	if err := f.client.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	f.exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+20))
	written := 0
	for ; ; written++ {
		if _, err := f.client.Exec(`INSERT INTO users (email, n) VALUES (?, zeroblob(3000))`, fmt.Sprint(written)); err != nil {
			if !strings.Contains(err.Error(), "full") {
				t.Fatal(err)
			}
			break
		}
	}
	changes, _ := f.poll()
	if written == 0 || len(changes) != written {
		t.Errorf("%d rows written, %d changes", written, len(changes))
	}
}

// topic is a topic in memory that tells when it is appended to.
type topic struct {
	mu         sync.Mutex
	partitions [][][]byte
	appended   chan struct{}
}

func newTopic(n int) *topic {
	return &topic{partitions: make([][][]byte, n), appended: make(chan struct{}, 1)}
}

func (t *topic) Partitions(context.Context) (int, error) { return len(t.partitions), nil }

func (t *topic) Last(_ context.Context, p int, wanted func([]byte) bool) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, value := range slices.Backward(t.partitions[p]) {
		if wanted(value) {
			return value, nil
		}
	}
	return nil, nil
}

func (t *topic) Append(_ context.Context, p int, values [][]byte) error {
	t.mu.Lock()
	t.partitions[p] = append(t.partitions[p], values...)
	t.mu.Unlock()
	select {
	case t.appended <- struct{}{}:
	default:
	}
	return nil
}

// covered reports whether each partition has a checkpoint of at or later, and
// returns the changes in front of the first such.
func (t *topic) covered(tb testing.TB, at proxy.Time) (changes []*event.Change, all bool) {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, values := range t.partitions {
		found := false
		for _, v := range values {
			r, err := event.Decode(v)
			if err != nil {
				tb.Fatal(err)
			}
			if r.Change != nil {
				changes = append(changes, r.Change)
			} else if r.Checkpoint.T >= at {
				found = true
				break
			}
		}
		if !found {
			return nil, false
		}
	}
	return changes, true
}

// The whole way from other clients' commits into a topic: what was committed
// before T is in front of T's checkpoint, over restarts of the relay.
func TestRelayed(t *testing.T) {
	f := users(t)
	f.log.Close()
	f.client = f.open("_pragma=busy_timeout(5000)") // who writes beside others has to wait for them
	to := newTopic(3)
	for round := range 3 {
		ctx, stop := context.WithCancel(t.Context())
		log := New(Options{Path: f.path, BatchRows: 7, KeepRows: 10}, f.specs, slog.New(slog.DiscardHandler))
		r := relay.New(log, to, slog.New(slog.DiscardHandler), relay.Options{Slot: "test", CheckpointInterval: 1})
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		for i := range 30 {
			f.exec(fmt.Sprintf(`INSERT OR REPLACE INTO users (id, email, n) VALUES (%d, '%d', %d)`, i%10, i%7, round*100+i))
		}
		at := now()
		var changes []*event.Change
		for all := false; !all; {
			<-to.appended
			changes, all = to.covered(t, at)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		log.Close()
		inserts := 0
		for _, c := range changes {
			if c.Op == event.Insert {
				inserts++
			}
		}
		if inserts != 30*(round+1) {
			t.Errorf("round %d: %d inserts are in front of the checkpoint, want %d", round, inserts, 30*(round+1))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "6964:i3432", "6964:i3432,6b:t", "6b:b00ff,6964:n", "6964", ":i", "6964:x31", "zz:i31", "6964:i3", ",,", "6964:i31:i32"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		columns, err := parse(text)
		if err != nil {
			return
		}
		var items []string
		for _, c := range columns {
			items = append(items, fmt.Sprintf("%x:%c%X", c.name, c.class, c.value))
		}
		if again := strings.Join(items, ","); !strings.EqualFold(again, text) {
			t.Errorf("%q reads as %q", text, again)
		}
	})
}

// What the triggers write is read back, whatever the names and bytes.
func TestOddNames(t *testing.T) {
	f := newFixture(t, `CREATE TABLE "a ""b'c:," ("k ""1'" TEXT, "2,:" INTEGER, "ö" BLOB NOT NULL UNIQUE, PRIMARY KEY ("k ""1'", "2,:"))`,
		row.Spec{Name: "odd", Table: `a "b'c:,`}, row.Spec{Name: "blob", Table: `a "b'c:,`, Key: []string{"ö"}})
	f.exec(`INSERT INTO "a ""b'c:," VALUES ('x' || char(0) || ':', -1, x'00ff')`)
	f.want("I > k \"1'=x\x00:,2,:=-1,ö=\x00\xff!")
	f.exec(`INSERT OR REPLACE INTO "a ""b'c:," VALUES ('y', 1, x'00ff')`)
	f.want("T 2,:=-1,k \"1'=x\x00:,ö=\x00\xff!", "I > k \"1'=y,2,:=1,ö=\x00\xff!")
	s, catalog, err := source.Open(t.Context(), source.Options{Path: f.path}, f.specs)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key, err := catalog.Key([]byte("odd:y:1"))
	if err != nil {
		t.Fatal(err)
	}
	results := make([]proxy.Result, 1)
	s.Load(t.Context(), []proxy.Request{{Key: key}}, results)
	if !results[0].Row.Exists() {
		t.Errorf("not found: %v", results[0].Err)
	}
}
