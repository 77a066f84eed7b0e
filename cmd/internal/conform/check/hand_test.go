package check

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

// Times in these tests are milliseconds, from the run's begin at 0, which is
// also what the source's clock says but where a test sets it otherwise.
func ms(n int) history.Time { return history.Time(time.Hour) + history.Time(n)*millis }

func src(n int) proxy.Time { return proxy.Time(ms(n)) }

// wrote is a write that was acknowledged.
func wrote(key string, seq, value uint64, begun, acked int) *history.Write {
	return &history.Write{Key: key, Seq: seq, Value: value, Op: "update", Begun: ms(begun), Acked: ms(acked)}
}

// got is a plain read under a bound of one second.
func got(key string, value uint64, invoked, answered int) *history.Read {
	return &history.Read{Key: key, Node: "n1", Mode: history.Plain, Invoked: ms(invoked), Answered: ms(answered), Bound: time.Second, Value: value}
}

func with[T any](record *T, change func(*T)) *T {
	change(record)
	return record
}

func proved(origin history.Origin, asof int) func(*history.Read) {
	return func(r *history.Read) { r.Origin, r.AsOf, r.Upper = origin, src(asof), src(asof) }
}

// judgeHand judges records, between a run of two minutes and its end.
func judgeHand(t *testing.T, clock func(int) proxy.Time, records ...any) *Verdict {
	t.Helper()
	return judgeRun(t, history.Run{}, clock, append(records, &history.End{At: ms(120_000)})...)
}

// judgeCutOff is judgeHand for a run that has not ended.
func judgeCutOff(t *testing.T, clock func(int) proxy.Time, records ...any) *Verdict {
	t.Helper()
	return judgeRun(t, history.Run{}, clock, records...)
}

// judgeRun is judgeHand for a run of another kind.
func judgeRun(t *testing.T, run history.Run, clock func(int) proxy.Time, records ...any) *Verdict {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := history.NewWriter(f)
	ended := make(chan error, 1)
	go func() { ended <- w.Run() }()
	l := w.Log()
	run.Format, run.At, run.Nodes = history.Format, ms(0), []string{"n1"}
	run.UseCases = []history.UseCase{{Name: "a", Bound: time.Second}, {Name: "s", Bound: time.Second, MaxStale: 5 * time.Second}, {Name: "t", Bound: time.Second, TTLMax: 10 * time.Second}}
	all := []any{&run}
	for at := -1000; at <= 121_000; at += 1000 {
		all = append(all, &history.Clock{At: ms(at), Lo: clock(at), Hi: clock(at)})
	}
	all = append(all, records...)
	for _, record := range all {
		switch r := record.(type) {
		case *history.Read:
			err = l.Read(r)
		case *history.Write:
			err = l.Write(r)
		case *history.Fill:
			err = l.Fill(r)
		default:
			err = l.Add(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := errors.Join(<-ended, f.Close()); err != nil {
		t.Fatal(err)
	}
	v, err := Files(t.Context(), t.TempDir(), path)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// byHand is a history with its verdict.
type byHand struct {
	name    string
	records []any
	clock   func(int) proxy.Time // nil: src
	want    string               // the checks that are violated
	excused string
}

func (c byHand) test(t *testing.T) {
	clock := c.clock
	if clock == nil {
		clock = src
	}
	v := judgeHand(t, clock, c.records...)
	var violated, excused []string
	for _, x := range v.Checks {
		for range x.Violated {
			violated = append(violated, x.ID)
		}
		for range x.Excused {
			excused = append(excused, x.ID)
		}
	}
	if got := strings.Join(violated, " "); got != c.want {
		t.Errorf("violated are %q, and should be %q: %+v", got, c.want, v.Violations)
	}
	if got := strings.Join(excused, " "); got != c.excused {
		t.Errorf("excused are %q, and should be %q", got, c.excused)
	}
}

func TestByHand(t *testing.T) {
	back := func(at int) proxy.Time { // the source's clock is set back by a second at 5500
		if at > 5500 {
			return src(at - 1000)
		}
		return src(at)
	}
	farBack := func(at int) proxy.Time { // and there by three
		if at > 5500 {
			return src(at - 3000)
		}
		return src(at)
	}
	two := []any{wrote("a:1", 1, 10, 100, 110), wrote("a:1", 2, 20, 5000, 5010)}
	for _, c := range []byHand{
		{name: "the older value up to Δ after the newer was acknowledged", records: append(two, got("a:1", 10, 6009, 6011))},
		{name: "and not from then on", records: append(two, got("a:1", 10, 6010, 6011)), want: "C3"},
		{name: "either value while the write is under way", records: append(two, got("a:1", 10, 5005, 5006), got("a:1", 20, 5005, 5006))},
		{name: "the newer value before its write began", records: append(two, got("a:1", 20, 4990, 4999)), want: "C1"},
		{name: "no row before the first write", records: append(two, got("a:1", 0, 50, 60))},
		{name: "no row up to Δ after the first write", records: append(two, got("a:1", 0, 1109, 1111))},
		{name: "no row later", records: append(two, got("a:1", 0, 1111, 1112)), want: "C8"},
		{name: "no row of a key that nobody wrote", records: append(two, got("a:2", 0, 9000, 9001))},
		{name: "a row of a key that nobody wrote", records: append(two, got("a:2", 10, 9000, 9001)), want: "C0"},
		{name: "the row after a delete", records: append(two, wrote("a:1", 3, 0, 7000, 7010), got("a:1", 20, 8011, 8012)), want: "C3"},
		{name: "no row after a delete", records: append(two, wrote("a:1", 3, 0, 7000, 7010), got("a:1", 0, 7005, 7006))},
		{name: "no row before a delete", records: append(two, wrote("a:1", 3, 0, 7000, 7010), got("a:1", 0, 6990, 6999)), want: "C8"},
		{name: "no row after the second of two deletes, which began before the first", records: append(two, wrote("a:1", 3, 0, 7005, 7010), wrote("a:1", 4, 40, 7003, 7011), wrote("a:1", 5, 0, 7002, 7012), got("a:1", 0, 7003, 7004))},
		{name: "no row after a truncate", records: append(two, &history.Truncate{UseCase: "a", Seq: 3, Begun: ms(7000), Acked: ms(7010)}, got("a:1", 0, 9000, 9001), got("a:7", 0, 9000, 9001))},
		{name: "the row after a truncate", records: append(two, &history.Truncate{UseCase: "a", Seq: 3, Begun: ms(7000), Acked: ms(7010)}, got("a:1", 20, 9000, 9001)), want: "C3"},
		{name: "a truncate that was rolled back", records: append(two, &history.Truncate{UseCase: "a", Seq: 3, Begun: ms(7000), Acked: ms(7010), Outcome: history.RolledBack}, got("a:1", 20, 9000, 9001))},
		{name: "a write that nobody knows of overwrites nothing for certain", records: append(two,
			with(wrote("a:1", 3, 30, 7000, 0), func(w *history.Write) { w.Outcome, w.Acked = history.Unknown, 0 }),
			got("a:1", 20, 30_000, 30_001), got("a:1", 30, 30_000, 30_001))},
		{name: "but it did not happen before it began", records: append(two,
			with(wrote("a:1", 3, 30, 7000, 0), func(w *history.Write) { w.Outcome, w.Acked = history.Unknown, 0 }),
			got("a:1", 30, 6000, 6001)), want: "C1"},
		{name: "a write whose acknowledgement comes after that of the next", records: append(two, wrote("a:1", 3, 30, 7000, 9000), wrote("a:1", 4, 40, 7100, 7200),
			got("a:1", 30, 8201, 8202)), want: "C3"},

		{name: "an as-of before the newer value", records: append(two, with(got("a:1", 10, 5500, 5501), proved(history.FromHit, 4990)))},
		{name: "an as-of behind it", records: append(two, with(got("a:1", 10, 5500, 5501), proved(history.FromHit, 5012))), want: "C2"},
		{name: "a hit as old as Δ", records: append(two, with(got("a:1", 20, 8000, 8001), proved(history.FromHit, 7001)))},
		{name: "a hit older than that", records: append(two, with(got("a:1", 20, 8000, 8001), proved(history.FromHit, 6990))), want: "C4"},
		{name: "a fill older than that", records: append(two, with(got("a:1", 20, 8000, 9001), proved(history.FromFill, 6990)))},
		{name: "an as-of of the future", records: append(two, with(got("a:1", 20, 8000, 8001), proved(history.FromFill, 8003))), want: "C4"},
		{name: "STRONG, and a hit", records: append(two, with(with(got("a:1", 20, 8000, 8001), proved(history.FromHit, 7999)), func(r *history.Read) { r.Mode, r.Bound = history.Strong, 0 })), want: "C4"},
		{name: "STRONG, and acknowledged before it", records: append(two, with(got("a:1", 10, 5011, 5020), func(r *history.Read) { r.Mode, r.Bound = history.Strong, 0 })), want: "C7"},
		{name: "STRONG, and acknowledged in its midst", records: append(two, with(got("a:1", 10, 5009, 5020), func(r *history.Read) { r.Mode, r.Bound = history.Strong, 0 }))},

		{name: "stale where the use case prefers that", records: []any{wrote("s:1", 1, 10, 100, 110), wrote("s:1", 2, 20, 5000, 5010),
			with(with(got("s:1", 10, 9000, 9001), proved(history.Stale, 4900)), func(r *history.Read) { r.Outside = true })}},
		{name: "stale beyond max_stale", records: []any{wrote("s:1", 1, 10, 100, 110), wrote("s:1", 2, 20, 5000, 5010),
			with(with(got("s:1", 10, 10_011, 10_012), proved(history.Stale, 4900)), func(r *history.Read) { r.Outside = true })}, want: "C3 C4"},
		{name: "stale to a read with a bound of its own", records: []any{wrote("s:1", 1, 10, 100, 110),
			with(with(got("s:1", 10, 2000, 2001), proved(history.Stale, 900)), func(r *history.Read) { r.Outside, r.Mode = true, history.MaxStale })}, want: "C4"},
		{name: "perhaps stale, where no proof says", records: []any{wrote("s:1", 1, 10, 100, 110), wrote("s:1", 2, 20, 5000, 5010), got("s:1", 10, 9000, 9001)}},

		{name: "a token of the newer value", records: append(two[:1:1], with(wrote("a:1", 2, 20, 5000, 5010), func(w *history.Write) { w.Token = src(5009) }),
			with(got("a:1", 10, 5100, 5101), func(r *history.Read) { r.Mode, r.Token = history.Token, src(5009) })), want: "C5"},
		{name: "a token of another key's later write", records: append(two[:1:1], with(wrote("a:1", 2, 20, 5000, 5010), func(w *history.Write) { w.Token = src(5009) }),
			with(got("a:1", 10, 5100, 5101), func(r *history.Read) { r.Mode, r.Token = history.Token, src(5050) })), want: "C5"},
		{name: "a token from before it", records: append(two[:1:1], with(wrote("a:1", 2, 20, 5000, 5010), func(w *history.Write) { w.Token = src(5009) }),
			with(got("a:1", 10, 5100, 5101), func(r *history.Read) { r.Mode, r.Token = history.Token, src(4000) }))},

		{name: "a session that goes back", records: append(two, with(got("a:1", 20, 5100, 5101), inSession(1)), with(got("a:1", 10, 5102, 5103), inSession(1))), want: "C6"},
		{name: "two sessions", records: append(two, with(got("a:1", 20, 5100, 5101), inSession(1)), with(got("a:1", 10, 5102, 5103), inSession(2)))},
		{name: "a pipeline of a session", records: append(two, with(got("a:1", 20, 5100, 5101), inSession(1)), with(got("a:1", 10, 5100, 5103), inSession(1)))},
		{name: "a session that goes back after such a pipeline", records: append(two, with(got("a:1", 20, 5100, 5101), inSession(1)), with(got("a:1", 10, 5100, 5103), inSession(1)),
			with(got("a:1", 10, 5200, 5201), inSession(1))), want: "C6"},
		{name: "a session that goes back at once", records: append(two, with(got("a:1", 20, 5100, 5101), inSession(1)), with(got("a:1", 10, 5101, 5103), inSession(1))), want: "C6"},
		{name: "a session whose absence was passed", records: append(two, with(got("a:1", 10, 500, 501), inSession(1)), with(got("a:1", 0, 600, 601), inSession(1))), want: "C6"},
		{name: "a session that may have seen either absence", records: append(two, wrote("a:1", 3, 0, 6000, 6010), wrote("a:1", 4, 40, 6020, 6030), wrote("a:1", 5, 0, 6040, 6050),
			with(got("a:1", 0, 6500, 6501), inSession(1)), with(got("a:1", 40, 6502, 6503), inSession(1)))},
		{name: "a session and its own write", records: append(two[:1:1], with(wrote("a:1", 2, 20, 5000, 5010), func(w *history.Write) { w.Session = 1 }),
			with(got("a:1", 10, 5011, 5012), inSession(1))), want: "C6"},

		{name: "a write that is looked for in vain", records: append(two, with(got("a:1", 10, 6011, 6012), func(r *history.Read) { r.Probe = 2 })), want: "C3 C10"},
		{name: "a write that is looked for too early", records: append(two, with(got("a:1", 10, 5500, 5501), func(r *history.Read) { r.Probe = 2 }))},
		{name: "a write that is looked for and passed", records: append(two, with(got("a:1", 20, 6011, 6012), func(r *history.Read) { r.Probe = 1 }))},

		{name: "fills one after the other", records: []any{fill("a:1", 100, 200), fill("a:1", 200, 300), fill("a:2", 150, 250)}},
		{name: "a fill within another", records: []any{fill("a:1", 100, 200), fill("a:1", 120, 130), fill("a:1", 150, 250)}, want: "C9 C9"},
		{name: "a fill of another life", records: []any{fill("a:1", 100, 200), with(fill("a:1", 150, 250), func(f *history.Fill) { f.Life = 2 })}},

		{name: "a value that was rolled back", records: append(two, with(wrote("a:1", 0, 30, 6000, 6000), func(w *history.Write) { w.Outcome = history.RolledBack }),
			got("a:1", 30, 6100, 6101)), want: "C0"},
		{name: "a value that its own transaction wrote over", records: append(two, with(wrote("a:1", 3, 30, 6000, 6010), func(w *history.Write) { w.Outcome = history.Passed }),
			wrote("a:1", 4, 40, 6000, 6010), got("a:1", 30, 6005, 6006)), want: "C1"},
		{name: "an answer that is another key's", records: append(two, wrote("a:2", 3, 30, 100, 110), got("a:1", 30, 9000, 9001), got("a:2", 20, 9000, 9001)), want: "C0 C0"},
		{name: "no row where it was deleted and is back", records: append(two, wrote("a:1", 3, 0, 7000, 7010), wrote("a:1", 4, 40, 7020, 7030), got("a:1", 0, 8029, 8030), got("a:1", 0, 8031, 8032)), want: "C8"},
		{name: "a row that was deleted and is back, as it was before", records: append(two, wrote("a:1", 3, 0, 7000, 7010), wrote("a:1", 4, 40, 7020, 7030), got("a:1", 20, 8009, 8010), got("a:1", 20, 8010, 8011)), want: "C3"},
		{name: "a version below one that nobody knows of, and a later one", records: append(two,
			with(wrote("a:1", 3, 30, 7000, 0), func(w *history.Write) { w.Outcome, w.Acked = history.Unknown, 0 }),
			wrote("a:1", 4, 40, 7500, 7510), got("a:1", 20, 8510, 8511), got("a:1", 30, 8509, 8511)), want: "C3"},
		{name: "a bound of its own that is less", records: append(two, with(got("a:1", 10, 5110, 5111), func(r *history.Read) { r.Mode, r.Bound = history.MaxStale, 100*time.Millisecond })), want: "C3"},
		{name: "a bound of its own that is more", records: append(two, with(got("a:1", 10, 6900, 6901), func(r *history.Read) { r.Mode, r.Bound = history.MaxStale, 2*time.Second }))},
		{name: "one late version among those of many", records: append(many("a:1", 3, 2000), got("a:1", 1500, 5000+1501*2, 20_000), got("a:1", 1500, 5000+1501*2+1010, 20_000)), want: "C3"},
		{name: "an as-of behind an insert, and no row", records: append(two, with(got("a:1", 0, 500, 501), proved(history.FromHit, 111))), want: "C2"},
		{name: "an as-of behind a delete, and the row", records: append(two, wrote("a:1", 3, 0, 7000, 7010), with(got("a:1", 20, 7500, 7501), proved(history.FromHit, 7400))), want: "C2"},
		{name: "a hit whose as-of is below its token", records: append(two, with(with(got("a:1", 20, 8000, 8001), proved(history.FromHit, 7500)), func(r *history.Read) { r.Mode, r.Token = history.Token, src(7600) })), want: "C4"},
		{name: "a token of an insert, and no row", records: []any{with(wrote("a:1", 1, 10, 100, 110), func(w *history.Write) { w.Token = src(109) }),
			with(got("a:1", 0, 200, 201), func(r *history.Read) { r.Mode, r.Token = history.Token, src(109) })}, want: "C5"},
		{name: "a write through a node, and then an older read there", records: append(two[:1:1], with(wrote("a:1", 2, 20, 5000, 5010), func(w *history.Write) { w.Node = "n1" }),
			got("a:1", 10, 5011, 5012), with(got("a:1", 10, 5011, 5012), func(r *history.Read) { r.Node = "n2" })), want: "C5"},
		{name: "STRONG, and no row behind an insert", records: append(two, with(got("a:1", 0, 111, 112), func(r *history.Read) { r.Mode, r.Bound = history.Strong, 0 })), want: "C7"},
		{name: "a session that saw a row deleted, and has it again", records: append(two, wrote("a:1", 3, 0, 7000, 7010), with(got("a:1", 0, 7100, 7101), inSession(1)), with(got("a:1", 20, 7200, 7201), inSession(1))), want: "C6"},
		{name: "a write that is looked for, and no row", records: append(two, with(got("a:1", 0, 6011, 6012), func(r *history.Read) { r.Probe = 2 })), want: "C8 C10"},
		{name: "outside the bound ten seconds after a fault", records: []any{wrote("s:1", 1, 10, 100, 110), fault("kill", 1000, false), fault("kill", 2000, true),
			with(with(got("s:1", 10, 12_001, 12_002), proved(history.Stale, 11_000)), func(r *history.Read) { r.Outside = true })}, want: "C11"},

		{name: "no answer ten seconds after a fault", records: []any{fault("kill", 1000, false), fault("kill", 2000, true),
			with(got("a:1", 0, 12_001, 12_002), func(r *history.Read) { r.Trouble = history.Unavailable })}, want: "C11"},
		{name: "no answer earlier", records: []any{fault("kill", 1000, false), fault("kill", 2000, true),
			with(got("a:1", 0, 11_999, 12_002), func(r *history.Read) { r.Trouble = history.Unavailable })}},
		{name: "no answer during the next fault", records: []any{fault("kill", 1000, false), fault("kill", 2000, true),
			&history.Fault{ID: 9, Name: "freeze", At: ms(12_000)}, with(got("a:1", 0, 50_000, 50_001), func(r *history.Read) { r.Trouble = history.Lost })}},

		{name: "an as-of from before the source's clock was set back", clock: back, records: []any{wrote("a:1", 1, 10, 100, 110), wrote("a:1", 2, 20, 6100, 6110),
			with(got("a:1", 10, 6200, 6201), proved(history.FromHit, 5400))}, excused: "C2 C4"},
		{name: "an as-of to which the clock was set back later", clock: farBack, records: []any{wrote("a:1", 1, 10, 100, 110), wrote("a:1", 2, 20, 6500, 6510),
			with(got("a:1", 10, 4900, 4901), proved(history.FromHit, 4890))}, excused: "C2"},
		{name: "long after that", clock: back, records: []any{wrote("a:1", 1, 10, 100, 110), wrote("a:1", 2, 20, 9600, 9610),
			with(got("a:1", 10, 9700, 9701), proved(history.FromHit, 8690))}, want: "C2"},
		{name: "a value overwritten too long ago while a node's clock steps", records: append(two, &history.Fault{ID: 1, Name: "step", At: ms(6000), Clocks: true}, &history.Fault{ID: 1, Name: "step", At: ms(7000), End: true, Clocks: true},
			got("a:1", 10, 6500, 6501)), excused: "C3"},
		{name: "a token made while a node's clock steps", records: append(two[:1:1], &history.Fault{ID: 1, Name: "step", At: ms(4900), Clocks: true}, &history.Fault{ID: 1, Name: "step", At: ms(5500), End: true, Clocks: true},
			with(wrote("a:1", 2, 20, 5000, 5010), func(w *history.Write) { w.Token = src(4009) }),
			with(got("a:1", 10, 5100, 5101), func(r *history.Read) { r.Mode, r.Token = history.Token, src(4009) }))},
		{name: "a token below those of later writes, as the clock was set back", clock: back, records: []any{wrote("a:1", 1, 10, 100, 110),
			with(wrote("a:1", 2, 20, 5800, 5810), func(w *history.Write) { w.Token = src(4810) }),
			with(got("a:1", 10, 5700, 5701), func(r *history.Read) { r.Mode, r.Token = history.Token, src(5000) })}},
	} {
		t.Run(c.name, c.test)
	}
}

// many are versions of a key from the one of that number on, 2 ms apart, whose
// values are their numbers.
func many(key string, from, to int) (records []any) {
	for n := from; n <= to; n++ {
		records = append(records, wrote(key, uint64(n), uint64(n), 5000+2*n-1, 5000+2*n))
	}
	return records
}

func inSession(n uint64) func(*history.Read) {
	return func(r *history.Read) { r.Session, r.Mode = n, history.Session }
}

func fill(key string, sent, ended int) *history.Fill {
	return &history.Fill{Key: key, Node: "n1", Life: 1, Sent: ms(sent), Ended: ms(ended)}
}

func fault(name string, at int, end bool) *history.Fault {
	return &history.Fault{ID: 1, Name: name, At: ms(at), End: end}
}
