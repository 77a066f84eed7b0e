package part

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func field(name string, kind row.Kind, value string) row.Field {
	f := row.Field{Name: name, Kind: kind}
	if value != "" {
		f.Value = []byte(value)
	}
	return f
}

// What changes are made to look like never says more than is true of what
// anybody may see.
func TestImages(t *testing.T) {
	id, alias := field("id", row.Number, "7"), field(table.Alias, row.Text, "a7")
	whole := []row.Field{id, alias, field("grp", row.Number, "7"), field(table.Value, row.Text, "7.3")}
	all := images{between: true, incomplete: true, truncates: true}
	for _, test := range []struct {
		name string
		as   images
		in   event.Change
		want event.Change
	}{
		{"as it is", images{}, event.Change{Op: event.Delete, Before: whole}, event.Change{Op: event.Delete, Before: whole}},
		{"a delete", all, event.Change{Table: "t", Op: event.Delete, Before: whole, Commit: 5, Last: true}, event.Change{Table: "t", Op: event.Truncate, Commit: 5}},
		{"a touch", all, event.Change{Op: event.Touch, Before: whole}, event.Change{Op: event.Touch, Before: whole}},
		{"not the last", all, event.Change{Op: event.Update, After: []row.Field{id, alias}},
			event.Change{Op: event.Update, After: []row.Field{id, alias, whole[2], field(table.Value, row.Text, valueBetween)}}},
		{"the last", all, event.Change{Op: event.Update, After: whole, Last: true},
			event.Change{Op: event.Update, After: []row.Field{id, alias, whole[2], field(table.Value, row.Unknown, "")}, Last: true}},
	} {
		r := &event.Record{Position: proxy.Position{Commit: 3}, Change: &test.in}
		if test.as.change(r); !reflect.DeepEqual(*r.Change, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, *r.Change, test.want)
		}
	}
	if whole[3].Kind != row.Text {
		t.Error("the relay's own image was changed")
	}
}

// between is a change with an image that nobody may see.
func between() []byte {
	return event.Append(nil, &event.Record{Change: &event.Change{Table: "t", Op: event.Insert, After: imageBetween([]row.Field{field("id", row.Number, "7")})}})
}

// The first that nobody may see ends what is appended at once.
func TestUntilBetween(t *testing.T) {
	for _, test := range []struct {
		values      [][]byte
		until, rest int
	}{
		{nil, 0, 0}, {[][]byte{change(1), change(2)}, 2, 0}, {[][]byte{change(1), between()}, 2, 0},
		{[][]byte{change(1), between(), change(2), between()}, 2, 2}, {[][]byte{between(), checkpoint(1)}, 1, 1},
	} {
		until, rest := untilBetween(test.values)
		if len(until) != test.until || len(rest) != test.rest {
			t.Errorf("of %d values %d are appended at once and %d later, want %d and %d", len(test.values), len(until), len(rest), test.until, test.rest)
		}
	}
}

// However much nobody may see is appended together, it holds up the relay once.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &topicLog{map[int][][]byte{}}
		bad := &badTopic{}
		topic, orders := bad.over(log), bad.orders()
		told(t, orders, "between 1")
		values := slices.Repeat([][]byte{change(1), between()}, 100)
		began := time.Now()
		if err := topic.Append(t.Context(), 0, values); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != Delta/20 {
			t.Errorf("it held up the relay for %v", took)
		}
		if got := len(log.appended[0]); got != len(values) {
			t.Errorf("%d of %d were appended", got, len(values))
		}
	})
}

// lockedLog is a topicLog for several at once.
type lockedLog struct {
	mu sync.Mutex
	topicLog
}

func (l *lockedLog) Append(ctx context.Context, p int, values [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.topicLog.Append(ctx, p, values)
}

// While the old primary lives on, its stream has checkpoints and nothing else,
// each behind the one before it, and what the relay appends has to wait.
func TestSurvivor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lockedLog{topicLog: topicLog{map[int][][]byte{}}}
		bad := &badTopic{}
		topic, orders := bad.over(log), bad.orders()
		for p := range 2 {
			if err := topic.Append(t.Context(), p, [][]byte{change(9), checkpoint(1000)}); err != nil {
				t.Fatal(err)
			}
		}
		told(t, orders, "reach 0")
		told(t, orders, "survive 0")
		told(t, orders, "survive 0") // which it does already
		waited := make(chan error, 1)
		go func() { waited <- topic.Append(context.Background(), 0, [][]byte{change(10)}) }()
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-waited:
			t.Error("the relay did not have to wait")
		default:
		}
		told(t, orders, "die 0")
		if err := <-waited; err != nil {
			t.Fatal(err)
		}
		told(t, orders, "die 0") // which it has
		for p, values := range log.appended {
			var before *event.Record
			for i, v := range values {
				r, err := event.Decode(v)
				if err != nil {
					t.Fatal(err)
				}
				own := i > 1 && r.Checkpoint != nil
				if own && (r.Prev != before.Position || r.Position.Compare(r.Prev) <= 0 || r.Stream != before.Stream || r.Checkpoint.T <= before.Checkpoint.T) {
					t.Errorf("partition %d, record %d: %+v behind %+v", p, i, r, before)
				}
				before = r
			}
			if len(values) < 15 {
				t.Errorf("partition %d has %d records", p, len(values))
			}
		}
	})
}

// A forged checkpoint is of no stream that a relay ships.
func TestForged(t *testing.T) {
	log := &topicLog{map[int][][]byte{}}
	bad := &badTopic{}
	topic, orders := bad.over(log), bad.orders()
	if err := topic.Append(t.Context(), 0, [][]byte{checkpoint(1000)}); err != nil {
		t.Fatal(err)
	}
	told(t, orders, "forge 0")
	for p, n := range []int{2, 1} {
		values := log.appended[p]
		if len(values) != n {
			t.Fatalf("partition %d has %d records", p, len(values))
		}
		if r, err := event.Decode(values[n-1]); err != nil || r.Checkpoint == nil || r.Stream == (event.StreamID{Partitions: 2}).Hash() {
			t.Errorf("partition %d: %+v, %v", p, r, err)
		}
	}
}
