package check

import (
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// Histories that break a rule and hardly look like it.
func TestHardlyBroken(t *testing.T) {
	for _, c := range []byHand{
		{name: "a value that outlived the step of a node's clock", records: append(updated("a:1"), stepped(6000, false), stepped(7000, true),
			got("a:1", 10, 9100, 9101)), want: "C3"},
		{name: "and says so in its as-of", records: append(updated("a:1"), stepped(6000, false), stepped(7000, true),
			with(got("a:1", 10, 30_000, 30_001), proved(history.FromHit, 29_900))), want: "C2 C3"},
		{name: "and is looked for", records: append(updated("a:1"), stepped(6000, false), stepped(7000, true),
			with(got("a:1", 10, 30_000, 30_001), func(r *history.Read) { r.Probe = 2 })), want: "C3 C10"},
		{name: "a value overwritten before the step, which is read before all have noticed", records: append(updated("a:1"), stepped(6000, false), stepped(7000, true),
			got("a:1", 10, 8900, 8901)), excused: "C3"},
		{name: "a session over two nodes", records: append(updated("a:1"), with(got("a:1", 20, 5100, 5101), inSession(1)),
			with(with(got("a:1", 10, 5102, 5103), inSession(1)), at("n2"))), want: "C6"},
		{name: "a session between two rows", records: append(updated("a:1"), wrote("a:1", 3, 0, 7000, 7010), wrote("a:1", 4, 40, 7020, 7030),
			with(got("a:1", 40, 7100, 7101), inSession(1)), with(got("a:1", 0, 7102, 7103), inSession(1))), want: "C6"},
		{name: "a session and what was before a truncate", records: append(updated("a:1"), truncated("a", 3, 7000, 7010), wrote("a:1", 4, 40, 7020, 7030),
			with(got("a:1", 40, 7100, 7101), inSession(1)), with(got("a:1", 20, 7102, 7103), inSession(1))), want: "C6"},
		{name: "a token of an insert behind a truncate", records: append(updated("a:1"), truncated("a", 3, 7000, 7010),
			with(wrote("a:1", 4, 40, 7020, 7030), func(w *history.Write) { w.Token = src(7029) }),
			with(got("a:1", 0, 7100, 7101), withToken(7029))), want: "C5"},
		{name: "no row, with a token of the insert between two deletes", records: append(updated("a:1"), wrote("a:1", 3, 0, 5100, 5110),
			with(wrote("a:1", 4, 40, 5200, 5210), func(w *history.Write) { w.Token = src(5209) }), wrote("a:1", 5, 0, 5300, 5310),
			with(got("a:1", 0, 5250, 5260), withToken(5209))), want: "C5"},
		{name: "a row under the key that it had", records: append(updated("a:1"), wrote("a:1", 3, 0, 7000, 7010), wrote("a:2", 3, 30, 7000, 7010),
			got("a:1", 20, 8010, 8011), got("a:2", 0, 8010, 8011)), want: "C3 C8"},
		{name: "STRONG, at the very moment of the reply", records: append(updated("a:1"),
			with(got("a:1", 10, 5010, 5011), func(r *history.Read) { r.Mode, r.Bound = history.Strong, 0 })), want: "C7"},
		{name: "perhaps stale, but beyond max_stale", records: append(updated("s:1"), got("s:1", 10, 10_011, 10_012)), want: "C3"},
		{name: "outside the bound, and before its token", records: append(updated("s:1"),
			with(with(with(got("s:1", 10, 5500, 5501), proved(history.Stale, 4000)), withToken(4500)), outside)), want: "C4"},
		{name: "stale by the bound of another read", records: append(updated("s:1"),
			with(got("s:1", 10, 6100, 6101), func(r *history.Read) { r.Mode = history.MaxStale })), want: "C3"},
		{name: "no answer, and the next fault comes later", records: []any{fault("kill", 1000, false), fault("kill", 2000, true),
			with(got("a:1", 0, 12_001, 12_400), func(r *history.Read) { r.Trouble = history.Lost }), fault("freeze", 12_401, false)}, want: "C11"},
	} {
		t.Run(c.name, c.test)
	}
}

// Histories that look broken and are not.
func TestHardlySound(t *testing.T) {
	for _, c := range []byHand{
		{name: "stale, and no older than its token", records: append(updated("s:1"),
			with(with(with(got("s:1", 20, 8000, 8001), proved(history.Stale, 6000)), withToken(5900)), outside))},
		{name: "perhaps stale in a session", records: append(updated("s:1"), with(got("s:1", 10, 9000, 9001), inSession(1)))},
		{name: "perhaps stale with a token of before", records: append(updated("s:1"), with(got("s:1", 10, 9000, 9001), withToken(4900)))},
		{name: "perhaps stale, and looked for", records: append(updated("s:1"), with(got("s:1", 10, 9000, 9001), func(r *history.Read) { r.Probe = 2 }))},
		{name: "lost to the next fault", records: []any{fault("kill", 1000, false), fault("kill", 2000, true),
			with(got("a:1", 0, 20_000, 20_100), func(r *history.Read) { r.Trouble = history.Lost }), fault("kill", 20_050, false)}},
		{name: "lost to a fault that was over before the read was", records: []any{fault("kill", 1000, false), fault("kill", 2000, true),
			with(got("a:1", 0, 20_000, 35_000), func(r *history.Read) { r.Trouble = history.Lost }), fault("kill", 20_050, false), fault("kill", 20_060, true)}},
		{name: "outside the bound, as the next fault began", records: append(updated("s:1"), fault("kill", 1000, false), fault("kill", 2000, true),
			with(with(got("s:1", 20, 20_000, 20_100), proved(history.Stale, 18_000)), outside), fault("kill", 20_050, false))},
		{name: "fills of one moment, one after the other", records: []any{fill("a:1", 100, 200), fill("a:1", 100, 100)}},
		{name: "a row that moved to another key and back", records: append(updated("a:1"), wrote("a:1", 3, 0, 7000, 7010), wrote("a:2", 3, 30, 7000, 7010),
			wrote("a:2", 4, 0, 7020, 7030), wrote("a:1", 4, 40, 7020, 7030),
			got("a:1", 40, 7100, 7101), got("a:2", 0, 7100, 7101), got("a:2", 30, 8029, 8030), got("a:1", 0, 8029, 8030))},
		{name: "an older value on another node, within the bound", records: append(updated("a:1"), got("a:1", 20, 5100, 5101), with(got("a:1", 10, 5900, 5901), at("n2")))},
		{name: "a read that was under way all the while", records: append(updated("a:1"), got("a:1", 0, 90, 30_000), got("a:1", 10, 90, 30_000), got("a:1", 20, 90, 30_000))},
		{name: "a session that began its read before it knew", records: append(updated("a:1"), with(got("a:1", 20, 5100, 5200), inSession(1)), with(got("a:1", 10, 5150, 5300), inSession(1)))},
		{name: "no row, behind a truncate that may have been", records: append(updated("a:1"),
			with(truncated("a", 3, 7000, 0), func(w *history.Truncate) { w.Outcome = history.Unknown }), got("a:1", 0, 30_000, 30_001), got("a:1", 20, 30_000, 30_001))},
		{name: "a bound without an end", records: append(updated("a:1"),
			with(got("a:1", 10, 100_000, 100_001), func(r *history.Read) { r.Mode, r.Bound, r.Probe = history.MaxStale, 1<<63-1, 2 }))},
	} {
		t.Run(c.name, c.test)
	}
}

// updated is a key with a second version from 5010 on.
func updated(key string) []any {
	return []any{wrote(key, 1, 10, 100, 110), wrote(key, 2, 20, 5000, 5010)}
}

func truncated(useCase string, seq uint64, begun, acked int) *history.Truncate {
	return &history.Truncate{UseCase: useCase, Seq: seq, Begun: ms(begun), Acked: ms(acked)}
}

func stepped(at int, end bool) *history.Fault {
	return with(fault("step", at, end), func(f *history.Fault) { f.Clocks = true })
}

func at(node string) func(*history.Read) {
	return func(r *history.Read) { r.Node = node }
}

func withToken(at int) func(*history.Read) {
	return func(r *history.Read) { r.Mode, r.Token = history.Token, src(at) }
}

func outside(r *history.Read) { r.Outside = true }
