package relay

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/proxy"
)

type metrics struct {
	changes     prometheus.Counter
	checkpoints prometheus.Counter
	errors      prometheus.Counter
	backlog     prometheus.Gauge
	lag         prometheus.GaugeFunc

	t atomic.Int64 // proxy.Time of the last checkpoint
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		changes:     counter("freshet_relay_changes_total", "Changes shipped, those the topic had already among them."),
		checkpoints: counter("freshet_relay_checkpoints_total", "Checkpoints shipped to all partitions."),
		errors:      counter("freshet_relay_errors_total", "Sessions that an error of the log or the topic ended."),
		backlog: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "freshet_relay_backlog_changes", Help: "Changes in the log that are not shipped yet.",
		}),
	}
	m.t.Store(int64(proxy.Never))
	m.lag = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "freshet_relay_lag_seconds", Help: "Age of the last checkpoint by this host's clock; +Inf before the first.",
	}, m.age)
	return m
}

func (m *metrics) checkpointed(t proxy.Time) {
	m.checkpoints.Inc()
	m.t.Store(int64(t))
}

func (m *metrics) age() float64 {
	t := proxy.Time(m.t.Load())
	if t == proxy.Never {
		return math.Inf(1)
	}
	return time.Since(time.Unix(0, int64(t))).Seconds()
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.changes, m.checkpoints, m.errors, m.backlog, m.lag}
}

// Describe makes a Relay a [prometheus.Collector].
func (r *Relay) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(r, ch) }

// Collect makes a Relay a [prometheus.Collector].
func (r *Relay) Collect(ch chan<- prometheus.Metric) {
	for _, c := range r.metrics.all() {
		c.Collect(ch)
	}
}
