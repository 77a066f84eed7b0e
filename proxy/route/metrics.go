package route

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// outcome is how a read was answered.
type outcome uint8

const (
	outcomeOwn       outcome = iota // by the own path: the key is ours
	outcomeHot                      // by the own path: the key is another's, and hot
	outcomeForwarded                // by its owner
	outcomeAway                     // by the own path, as the owner is away
	outcomeBusy                     // … as too much waits for the owner
	outcomeRefused                  // … as the owner does not know the key so, or cannot read the source
	outcomeLate                     // … as the owner did not answer in time
	outcomes
)

var outcomeNames = [outcomes]string{"own", "hot", "forwarded", "away", "busy", "refused", "late"}

type metrics struct {
	reads       [outcomes]striped
	unforgotten atomic.Uint64
	misplaced   atomic.Uint64
	vain        atomic.Uint64
	warmed      atomic.Uint64

	readsDesc, unforgottenDesc, misplacedDesc, vainDesc, warmedDesc, hotDesc *prometheus.Desc
}

// striped is a counter that many cores raise, each some stripe by chance.
type striped [16]struct {
	n atomic.Uint64
	_ [56]byte // a cache line of its own
}

func (s *striped) sum() (n uint64) {
	for i := range s {
		n += s[i].n.Load()
	}
	return n
}

func newMetrics() metrics {
	return metrics{
		readsDesc: prometheus.NewDesc("freshet_route_reads_total",
			"Reads of keys by how they were answered: here (own, hot), by the owner (forwarded), or here since the owner did not (away, busy, refused, late).",
			[]string{"outcome"}, nil),
		unforgottenDesc: prometheus.NewDesc("freshet_route_forget_failures_total",
			"Written keys that their owner could not be told to forget; the change stream tells it.", nil, nil),
		misplacedDesc: prometheus.NewDesc("freshet_route_misplaced_total",
			"Reads that other nodes sent here, though by the ring of this one another node owns the key.", nil, nil),
		vainDesc: prometheus.NewDesc("freshet_route_hedges_in_vain_total",
			"Reads that were made by the own path, too, since their owner took half of their time, and that it answered after all.", nil, nil),
		warmedDesc: prometheus.NewDesc("freshet_route_warmed_total",
			"Reads that this node has made itself as it joined, ahead of its clients.", nil, nil),
		hotDesc: prometheus.NewDesc("freshet_route_hot_keys",
			"Keys of other nodes that are kept here, too, since they are read so much.", nil, nil),
	}
}

func (m *metrics) add(o outcome, n int) {
	if n > 0 {
		m.reads[o][rand.Uint32()%uint32(len(m.reads[o]))].n.Add(uint64(n))
	}
}

// Describe implements prometheus.Collector.
func (r *Route) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(r, ch) }

// Collect implements prometheus.Collector.
func (r *Route) Collect(ch chan<- prometheus.Metric) {
	m := &r.metrics
	for o := range m.reads {
		ch <- prometheus.MustNewConstMetric(m.readsDesc, prometheus.CounterValue, float64(m.reads[o].sum()), outcomeNames[o])
	}
	ch <- prometheus.MustNewConstMetric(m.unforgottenDesc, prometheus.CounterValue, float64(m.unforgotten.Load()))
	ch <- prometheus.MustNewConstMetric(m.misplacedDesc, prometheus.CounterValue, float64(m.misplaced.Load()))
	ch <- prometheus.MustNewConstMetric(m.vainDesc, prometheus.CounterValue, float64(m.vain.Load()))
	ch <- prometheus.MustNewConstMetric(m.warmedDesc, prometheus.CounterValue, float64(m.warmed.Load()))
	ch <- prometheus.MustNewConstMetric(m.hotDesc, prometheus.GaugeValue, float64(r.hot.Number()))
}
