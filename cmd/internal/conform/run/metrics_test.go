package run

import (
	"reflect"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

func TestReadsWhatANodeCounts(t *testing.T) {
	const text = `# HELP freshet_cache_hits_total Reads.
# TYPE freshet_cache_hits_total counter
freshet_cache_hits_total{use_case="row"} 12
freshet_cache_hits_total{use_case="small"} 1.5e+06
freshet_cache_fills_total{reason="cold",use_case="row"} 3
freshet_cache_fills_total{reason="token",use_case="row"} 4
freshet_cache_joins_total{use_case="row"} 5
freshet_cache_installs_refused_total{use_case="row"} 6
freshet_cache_replaced_total{use_case="row"} 7
freshet_cache_dropped_total{use_case="row"} 8
freshet_cache_voids_total{use_case="row"} 9
freshet_cache_evictions_total 10
freshet_route_reads_total{outcome="own"} 1000
freshet_route_reads_total{outcome="hot"} 1000
freshet_route_reads_total{outcome="forwarded"} 1000
freshet_route_reads_total{outcome="away"} 1
freshet_route_reads_total{outcome="late"} 2
freshet_route_misplaced_total 4
freshet_route_hedges_in_vain_total 8
freshet_route_warmed_total 16
freshet_watermark_age_seconds 0.25
freshet_other_total{use_case="row"} 99
freshet_start_time_seconds 1.7e+09
nonsense
`
	r := read(text)
	want := []history.Counters{
		{UseCase: "row", Fills: map[string]uint64{"cold": 3, "token": 4}, Hits: 12, Joins: 5, Refused: 6, Replaced: 7, Dropped: 8, Voids: 9, Evictions: 10, Instead: 31},
		{UseCase: "small", Fills: map[string]uint64{}, Hits: 1_500_000, Evictions: 10, Instead: 31},
	}
	if !reflect.DeepEqual(r.counted, want) || r.age != 250*time.Millisecond || r.began != 1_700_000_000_000 {
		t.Errorf("%+v", r)
	}
	if r := read("freshet_watermark_age_seconds 9.2e+09\n"); r.age >= 0 {
		t.Errorf("without a watermark: %v", r.age)
	}
}
