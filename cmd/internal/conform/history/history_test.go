package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// filled gives every field of a record a value of its own, or leaves it out.
func filled(r *rand.Rand, record any) {
	v := reflect.ValueOf(record).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if r.IntN(3) == 0 {
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString([...]string{"a:1", `q"\`, "ü\n\x00", "get", "a<b>&"}[r.IntN(5)])
		case reflect.Uint64:
			f.SetUint(r.Uint64() >> r.IntN(64))
		case reflect.Int64:
			f.SetInt(r.Int64()>>r.IntN(63) - 1)
		case reflect.Bool:
			f.SetBool(true)
		default:
			panic(f.Kind())
		}
	}
}

func TestLinesAreReadAsTheyWereWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := NewDecoder()
	for range 20_000 {
		var read Read
		var write Write
		var fill Fill
		filled(r, &read)
		filled(r, &write)
		filled(r, &fill)
		for _, c := range []struct {
			line []byte
			want any
		}{
			{appendRead(nil, &read), &read},
			{appendWrite(nil, &write), &write},
			{appendFill(nil, &fill), &fill},
		} {
			if !json.Valid(c.line) {
				t.Fatalf("no JSON: %s", c.line)
			}
			got, err := d.Line(bytes.TrimSuffix(c.line, []byte("\n")))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("%s is read as %+v, %v; written was %+v", c.line, got, err, c.want)
			}
		}
	}
}

func TestOtherRecords(t *testing.T) {
	for _, want := range []any{
		&Run{Format: Format, Command: "conform", Seed: 7, Started: time.Unix(5, 0).UTC(), At: 1, Nodes: []string{"n1"}, UseCases: []UseCase{{Name: "a", Bound: time.Second}}},
		&Truncate{UseCase: "a", Seq: 4, Begun: 1, Acked: 2},
		&Fault{ID: 3, Name: "kill", Target: "n1", At: 9, End: true, Clocks: true},
		&Clock{At: 3, Lo: 4, Hi: 5},
		&Counters{At: 1, Node: "n1", Life: 2, UseCase: "a", Final: true, Fills: map[string]uint64{"cold": 3}, Hits: 9},
		&Lag{At: 1, Node: "n1", Age: -1},
		&End{At: 77},
	} {
		line, err := appendOther(nil, kindOf(want), want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewDecoder().Line(bytes.TrimSpace(line))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v", line, got, err)
		}
	}
}

func TestKeyOfALine(t *testing.T) {
	for _, key := range []string{"a:1", `a:"x\"`, "a:ü"} {
		line := appendRead(nil, &Read{Key: key, Node: "n1"})
		_, rest, ok := Kind(line)
		if !ok {
			t.Fatalf("no kind: %s", line)
		}
		raw, ok := Key(rest)
		var got string
		if err := json.Unmarshal(fmt.Appendf(nil, `"%s"`, raw), &got); !ok || err != nil || got != key {
			t.Errorf("%q: %q, %v, %v", key, got, ok, err)
		}
	}
}

func TestLinesThatAreRefused(t *testing.T) {
	for _, line := range []string{
		``, `{}`, `{"kind":"read"`, `{"kind":"reads"}`, `{"kind":"read","key":5}`, `{"kind":"read","value":"x"}`,
		`{"kind":"read","value":-1}`, `{"kind":"read","value":99999999999999999999}`, `{"kind":"read","hot":1}`,
		`{"kind":"read","colour":1}`, `{"kind":"read","value":}`, `{"kind":"read","value":1,}`, `{"kind":"read","key":"a`,
		`{"kind":"read","value":1}x`, `{"kind":"clock","at":"x"}`, `{"kind":"run","format":99}`,
	} {
		if got, err := NewDecoder().Line([]byte(line)); err == nil {
			t.Errorf("%s is read as %+v", line, got)
		}
	}
}

// full takes some bytes, and then the disk is full.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left < len(p) {
		return f.left, fmt.Errorf("write /x: %w", syscall.ENOSPC)
	}
	f.left -= len(p)
	return len(p), nil
}

func TestAFullDiskReachesEveryLog(t *testing.T) {
	w := NewWriter(&full{left: 3 * chunkBytes})
	var logs sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		logs.Go(func() {
			l := w.Log()
			for errs[i] == nil {
				errs[i] = l.Read(&Read{Key: "a:1", Value: uint64(i)})
			}
		})
	}
	err := w.Run()
	logs.Wait()
	w.Close()
	for _, err := range append(errs, err) {
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%v", err)
		}
	}
}

func TestManyLogsKeepTheirOrder(t *testing.T) {
	const logs, records = 8, 5000
	var out bytes.Buffer
	w := NewWriter(&out)
	ended := make(chan error)
	go func() { ended <- w.Run() }()
	var all sync.WaitGroup
	for session := range uint64(logs) {
		all.Go(func() {
			l := w.Log()
			for i := range uint64(records) {
				if err := l.Read(&Read{Key: "a:1", Session: session + 1, Value: i + 1}); err != nil {
					t.Error(err)
				}
			}
			if err := l.Flush(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	last, d := map[uint64]uint64{}, NewDecoder()
	for line := range bytes.Lines(out.Bytes()) {
		record, err := d.Line(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		r := record.(*Read)
		if r.Value != last[r.Session]+1 {
			t.Fatalf("session %d: %d after %d", r.Session, r.Value, last[r.Session])
		}
		last[r.Session] = r.Value
	}
	for session, n := range last {
		if n != records {
			t.Errorf("session %d: %d records", session, n)
		}
	}
	if len(last) != logs {
		t.Errorf("%d sessions", len(last))
	}
}

func TestAddRefusesWhatIsNoRecord(t *testing.T) {
	if err := NewWriter(io.Discard).Log().Add(Clock{}); err == nil {
		t.Error("a Clock that is no pointer was taken")
	}
}

// What a line says is the same to this package's reader and to encoding/json.
func FuzzLine(f *testing.F) {
	f.Add(string(appendRead(nil, &Read{Key: "a:1", Mode: Plain, Invoked: 5, Answered: 6, Bound: time.Second, Value: 7, Origin: FromHit, AsOf: proxy.Time(9), Hot: true})))
	f.Add(string(appendWrite(nil, &Write{Key: `a:"`, Seq: 1, Value: 2, Op: "insert", Begun: 3, Acked: 4, Outcome: Unknown})))
	f.Add(string(appendFill(nil, &Fill{Key: "a:1", Node: "n1", Sent: 3, Ended: 4, Failed: true})))
	f.Add(`{"kind":"run","format":1}`)
	f.Add(`{"kind":"read","key":"\u00e4","value":1}`)
	f.Fuzz(func(t *testing.T, line string) {
		record, err := NewDecoder().Line([]byte(line))
		if err != nil {
			return
		}
		var again []byte
		switch r := record.(type) {
		case *Read:
			again = appendRead(nil, r)
		case *Write:
			again = appendWrite(nil, r)
		case *Fill:
			again = appendFill(nil, r)
		default:
			return
		}
		second, err := NewDecoder().Line(bytes.TrimSuffix(again, []byte("\n")))
		if err != nil || !reflect.DeepEqual(record, second) {
			t.Errorf("%s is written as %s: %v", line, again, err)
		}
	})
}

func BenchmarkReadLine(b *testing.B) {
	line := bytes.TrimSpace(appendRead(nil, &Read{Key: "users:4711", Node: "n1", Mode: Plain, Invoked: 1e15, Answered: 1e15 + 5, Bound: time.Second,
		Hot: true, Value: 12345, Origin: FromHit, AsOf: 1.7e18, Upper: 1.7e18}))
	d := NewDecoder()
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Line(line); err != nil {
			b.Fatal(err)
		}
	}
}
