package check

import (
	"slices"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

// corruption breaks one thing in a valid history. It reports whether there was
// something to break.
type corruption struct {
	check ID
	name  string
	apply func(t *tier) bool
}

// anyReadThat changes one read that can be changed, beginning anywhere.
func (t *tier) anyReadThat(change func(r *history.Read, facts []fact) bool) bool {
	known := map[string][]fact{}
	from := t.rng.IntN(len(t.reads))
	for i := range t.reads {
		r := &t.reads[(from+i)%len(t.reads)]
		if known[r.Key] == nil {
			known[r.Key] = t.facts(r.Key)
		}
		if change(r, known[r.Key]) {
			return true
		}
	}
	return false
}

// answersWith gives r the value of a version that meets a condition.
func answersWith(r *history.Read, facts []fact, when func(i int) bool) bool {
	for i, f := range facts {
		if f.value != 0 && f.value != r.Value && when(i) {
			r.Value = f.value
			return true
		}
	}
	return false
}

// valueOf gives a read the value of a write with some outcome.
func valueOf(outcome history.Outcome) func(t *tier) bool {
	return func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, _ []fact) bool {
			i := slices.IndexFunc(t.writes, func(w history.Write) bool { return w.Key == r.Key && w.Outcome == outcome })
			if i >= 0 {
				r.Value = t.writes[i].Value
			}
			return i >= 0
		})
	}
}

func (t *tier) ackedBefore(limit history.Time) func(fact) bool {
	return func(f fact) bool { return f.acked <= limit }
}

var corruptions = []corruption{
	{C0, "a value that nobody wrote", func(t *tier) bool {
		t.reads[t.rng.IntN(len(t.reads))].Value = 1 << 40
		return true
	}},
	{C0, "a value of another key", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, _ []fact) bool {
			w := t.writes[t.rng.IntN(len(t.writes))]
			r.Value = w.Value
			return w.Value != 0 && w.Key != r.Key
		})
	}},
	{C0, "a value that was rolled back", valueOf(history.RolledBack)},
	{C0, "something that is no value", func(t *tier) bool {
		t.reads[t.rng.IntN(len(t.reads))].Odd = `{"id":` + "\x01"
		return true
	}},
	{C1, "a value that its own transaction wrote over", valueOf(history.Passed)},
	{C1, "a value of the future", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, facts []fact) bool {
			return answersWith(r, facts, func(i int) bool { return facts[i].begun > r.Answered })
		})
	}},
	{C2, "an as-of behind a later version", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, facts []fact) bool {
			return r.AsOf != 0 && answersWith(r, facts, func(i int) bool {
				return overBy(facts, i, func(f fact) bool { return f.acked != forever && t.source(f.acked).Add(time.Millisecond) < r.AsOf })
			})
		})
	}},
	{C3, "a value overwritten longer than Δ ago", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, facts []fact) bool {
			return r.Mode != history.Strong && answersWith(r, facts, func(i int) bool {
				return overBy(facts, i, t.ackedBefore(r.Invoked.Add(-r.Bound)))
			})
		})
	}},
	{C4, "a hit whose as-of is too old", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, _ []fact) bool {
			r.AsOf = t.source(r.Invoked.Add(-r.Bound - time.Millisecond))
			return r.Origin == history.FromHit
		})
	}},
	{C4, "an as-of ahead of the source's clock", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, _ []fact) bool {
			if r.Origin == history.NoProof {
				return false
			}
			r.AsOf = t.source(r.Answered.Add(time.Millisecond))
			return true
		})
	}},
	{C4, "a STRONG read that was a hit", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, _ []fact) bool {
			if r.Mode != history.Strong {
				return false
			}
			r.Origin = history.FromHit
			return true
		})
	}},
	{C4, "a hit whose as-of is before its token", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, _ []fact) bool {
			if r.Token == 0 || r.Origin != history.FromHit {
				return false
			}
			r.AsOf = r.Token - 1
			return true
		})
	}},
	{C4, "stale, and nobody asked for it", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, _ []fact) bool {
			if r.Origin == history.NoProof {
				return false
			}
			r.Origin, r.Outside = history.Stale, true
			return true
		})
	}},
	{C5, "a value from before the token's write", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, facts []fact) bool {
			return r.Token != 0 && answersWith(r, facts, func(i int) bool {
				return overBy(facts, i, func(f fact) bool { return f.token <= r.Token && f.acked <= r.Invoked })
			})
		})
	}},
	{C6, "a session that goes back", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, facts []fact) bool {
			for _, earlier := range t.reads {
				at := of(facts, earlier.Value)
				if r.Session == 0 || earlier.Session != r.Session || earlier.Key != r.Key || earlier.Answered > r.Invoked || at < 0 {
					continue
				}
				if answersWith(r, facts, func(i int) bool { return i < at }) {
					return true
				}
			}
			return false
		})
	}},
	{C6, "a session that does not see its own write", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, facts []fact) bool {
			for _, w := range t.writes {
				if w.Session == 0 || w.Session != r.Session || w.Key != r.Key || w.Acked > r.Invoked {
					continue
				}
				if answersWith(r, facts, func(i int) bool { return facts[i].seq < w.Seq }) {
					return true
				}
			}
			return false
		})
	}},
	{C7, "a STRONG read that misses a write", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, facts []fact) bool {
			return r.Mode == history.Strong && answersWith(r, facts, func(i int) bool {
				return overBy(facts, i, t.ackedBefore(r.Invoked))
			})
		})
	}},
	{C8, "no such row, where there has long been one", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, facts []fact) bool {
			if r.Value == 0 || r.Mode == history.Strong {
				return false
			}
			for i, f := range facts {
				if f.value == 0 && f.begun <= r.Answered && !overBy(facts, i, t.ackedBefore(r.Invoked.Add(-r.Bound))) {
					return false
				}
			}
			r.Value = 0
			return true
		})
	}},
	{C9, "two fills of a key at once", func(t *tier) bool {
		again := t.fills[t.rng.IntN(len(t.fills))]
		again.Sent++
		t.fills = append(t.fills, again)
		return true
	}},
	{C9, "a fill that nobody counted", func(t *tier) bool {
		again := t.fills[t.rng.IntN(len(t.fills))]
		again.Key, again.Sent, again.Ended = "a:elsewhere", 1, 2
		t.fills = append(t.fills, again)
		return true
	}},
	{C9, "more fills than their cause accounts for", func(t *tier) bool {
		for _, c := range t.counts {
			c.Fills["strong"], c.Final, c.Hits = c.Fills["strong"]+300, false, 0
			return true
		}
		return false
	}},
	{C9, "a fill without a reason", func(t *tier) bool {
		for _, c := range t.counts {
			c.Fills["whim"], c.Final, c.Hits = 1, false, 0
			return true
		}
		return false
	}},
	{C9, "more hits and fills than reads", func(t *tier) bool {
		for _, c := range t.counts {
			c.Hits += uint64(len(t.reads))
			return true
		}
		return false
	}},
	{C10, "a write that is not visible after Δ", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, facts []fact) bool {
			return r.Probe != 0 && answersWith(r, facts, func(i int) bool { return facts[i].seq < r.Probe })
		})
	}},
	{C11, "a read long after the fault that is not answered", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, _ []fact) bool {
			if r.Invoked < t.stall.to.Add(recovery) {
				return false
			}
			r.Trouble, r.Origin, r.AsOf, r.Upper = history.Unavailable, history.NoProof, 0, proxy.Time(0)
			return true
		})
	}},
	{C11, "a read long after the fault that is outside the bound", func(t *tier) bool {
		return t.anyReadThat(func(r *history.Read, _ []fact) bool {
			if r.Invoked < t.stall.to.Add(recovery) || r.Origin == history.NoProof {
				return false
			}
			r.Outside, r.Origin = true, history.Stale
			return true
		})
	}},
}

// Every corruption is caught by the check it is against.
func TestCorruptionsAreCaught(t *testing.T) {
	for _, c := range corruptions {
		t.Run(c.check.String()+"/"+c.name, func(t *testing.T) {
			applied := 0
			for seed := range uint64(*seeds) {
				sim := newTier(seed).run()
				if !c.apply(sim) {
					continue
				}
				applied++
				if v := sim.judgeAll(t); v.Checks[c.check].Violated == 0 || v.Result != Violated {
					t.Errorf("seed %d: not caught: %v", seed, v.Violations)
				}
			}
			if applied < *seeds/2 {
				t.Errorf("only %d of %d histories had something to break", applied, *seeds)
			}
		})
	}
}
