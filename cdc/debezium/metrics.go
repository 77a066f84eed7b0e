package debezium

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// recordKind is what a record was.
type recordKind uint8

const (
	recordChange recordKind = iota
	recordCheckpoint
	recordOther // of no table that is mapped, or the connector's own
	recordUndecodable
	recordKinds
)

func (k recordKind) String() string {
	return [...]string{"change", "checkpoint", "other", "undecodable"}[k]
}

type metrics struct {
	all       []prometheus.Collector
	records   [recordKinds]prometheus.Counter
	waits     prometheus.Histogram
	snapshots prometheus.Counter
}

func newMetrics(s *Stream) *metrics {
	records := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "freshet_debezium_records_total", Help: "Records of the connector by what they are.",
	}, []string{"kind"})
	m := &metrics{
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "freshet_debezium_gate_wait_seconds",
			Help:    "How long records waited for their turn and to be visible.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 30},
		}),
		snapshots: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_debezium_snapshots_total", Help: "Snapshots asked for of the primary.",
		}),
	}
	for k := range recordKinds {
		m.records[k] = records.WithLabelValues(k.String())
	}
	counter := func(name, help string, f func() uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(f()) })
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	m.all = []prometheus.Collector{
		records, m.waits, m.snapshots,
		gauge("freshet_debezium_held_records", "Records that wait to be visible.", func() float64 { return float64(s.Held()) }),
		gauge("freshet_debezium_held_seconds", "How long nothing has been visible of what waits.", func() float64 {
			if since := s.status.Load().since; !since.IsZero() {
				return time.Since(since).Seconds()
			}
			return 0
		}),
		counter("freshet_debezium_barriers_total", "Times answers were pinned until all transactions ended that may have been missed.", s.barrier.raises.Load),
		counter("freshet_debezium_pinned_total", "Answers of the source that were pinned for that.", s.barrier.pinned.Load),
	}
	return m
}

// Describe makes a Stream a [prometheus.Collector].
func (s *Stream) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, ch) }

// Collect makes a Stream a [prometheus.Collector].
func (s *Stream) Collect(ch chan<- prometheus.Metric) {
	for _, c := range s.metrics.all {
		c.Collect(ch)
	}
}
