package kafka

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	records  prometheus.Counter
	bytes    prometheus.Counter
	failures prometheus.Counter
	gaps     *prometheus.CounterVec
	lag      prometheus.GaugeFunc
}

func newMetrics(topic string, lag func() float64) *metrics {
	labels := prometheus.Labels{"topic": topic}
	m := &metrics{
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_kafka_records_total", ConstLabels: labels,
			Help: "Records handed to the applier.",
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_kafka_record_bytes_total", ConstLabels: labels,
			Help: "Bytes of the keys and values of those records.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_kafka_fetch_errors_total", ConstLabels: labels,
			Help: "Fetches, or parts of them, that brought an error.",
		}),
		gaps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "freshet_kafka_gaps_total", ConstLabels: labels,
			Help: "Gaps the log itself showed, the start among them.",
		}, []string{"reason"}),
		lag: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "freshet_kafka_lag_records", ConstLabels: labels,
			Help: "Offsets between the positions and the ends of all partitions.",
		}, lag),
	}
	for _, reason := range reasons {
		m.gaps.WithLabelValues(reason)
	}
	return m
}

func (m *metrics) gap(reason string) { m.gaps.WithLabelValues(reason).Inc() }

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.records, m.bytes, m.failures, m.gaps, m.lag}
}

// Describe makes a Tail a [prometheus.Collector].
func (t *Tail) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(t, ch) }

// Collect makes a Tail a [prometheus.Collector].
func (t *Tail) Collect(ch chan<- prometheus.Metric) {
	for _, c := range t.metrics.all() {
		c.Collect(ch)
	}
}
