package e2e

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

var kills = flag.Int("real.kills", 2, "how often TestRealKill kills each part")

const versionsUseCase = `  - {name: versions, table: versions, bound: 1s}
`

// killable is a part that can be killed and started again.
type killable interface {
	Kill() error
	Start(context.Context) error
}

// Any part killed in the middle of writes and reads: no read breaks the bound,
// and in the end every key shows its last version. Where the log and the
// broker keep what they had, nothing cached is dropped. Another start of the
// database is another stream and drops everything, once: the primary is another
// one, and so is the stream in each partition.
func TestRealKill(t *testing.T) {
	stacktest.Need(t)
	const keys = 200
	for _, c := range []struct {
		name  string
		parts func(*tier) []killable
		gaps  float64 // that each kill causes, as a node that stays counts them
	}{
		{"relay", func(tr *tier) []killable { return []killable{tr.relay} }, 0},
		{"broker", func(tr *tier) []killable { return []killable{tr.kafka} }, 0},
		{"relay and broker", func(tr *tier) []killable { return []killable{tr.relay, tr.kafka} }, 0},
		{"database", func(tr *tier) []killable { return []killable{tr.postgres} }, 1 + partitions},
		{"node", func(tr *tier) []killable { return []killable{tr.node} }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := stacktest.Postgres(t, stack.PG15)
			stacktest.Exec(t, p, seed(keys)...)
			tr := newTier(t, p, stacktest.Kafka(t, nil), versionsUseCase).start()
			f := tr.run(keys, 2, time.Second, 10*time.Millisecond)
			before := tr.share(f)
			began := tr.metric("freshet_cdc_gaps_total")
			gaps := func() float64 { return tr.metric("freshet_cdc_gaps_total") - began }
			for i := range *kills {
				for _, p := range c.parts(tr) {
					tr.kill(p)
				}
				f.dwell(time.Duration(i%3) * time.Second)
				for _, p := range c.parts(tr) {
					tr.begin(p)
				}
				// A node that has not noticed yet looks well, and the next kill
				// would be part of the same gap.
				if c.gaps > 0 {
					eventually(t, "the node has noticed", func() bool { return gaps() >= c.gaps*float64(i+1) })
				}
				tr.well()
			}
			after := tr.share(f)
			if got, want := gaps(), c.gaps*float64(*kills); c.name != "node" && got != want {
				t.Errorf("%d kills caused %v gaps, not %v", *kills, got, want)
			}
			t.Logf("hits: %.1f %% of reads before, %.1f %% after", 100*before, 100*after)
			if before < 0.8 || after < 0.8 {
				t.Errorf("hits: %.1f %% of reads before, %.1f %% after: the cache does not work", 100*before, 100*after)
			}
			f.stop()
		})
	}
}
