package postgres

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	undecodable prometheus.Counter
	keyless     prometheus.Counter
	foreign     prometheus.Counter
	snapshots   prometheus.Counter
	lost        prometheus.Counter
	held        prometheus.Gauge
	lagBytes    prometheus.Gauge
	retained    prometheus.Gauge
	safe        prometheus.Gauge
	limit       prometheus.Gauge
	status      *prometheus.GaugeVec
	lag         prometheus.GaugeFunc

	confirmed atomic.Pointer[time.Time] // when the slot was last moved, or first seen; nil: not yet
}

// statuses are those that pg_replication_slots.wal_status has.
var statuses = [...]string{"reserved", "extended", "unreserved", "lost"}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "freshet_relay_postgres_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "freshet_relay_postgres_" + name, Help: help})
	}
	m := &metrics{
		undecodable: counter("undecodable_total", "Messages of the log that could not be understood: what they may concern was made void."),
		keyless:     counter("keyless_total", "Changes that did not tell their row: their table was made void."),
		foreign:     counter("foreign_messages_total", "Messages that look like checkpoints and are not this session's: of an earlier one, of another relay, or forged."),
		snapshots:   counter("snapshots_total", "Snapshots taken to see what is visible."),
		lost:        counter("slots_lost_total", "Slots that could not go on and were made anew."),
		held:        gauge("held_messages", "Messages of the log that are read and not shipped, those not visible yet among them."),
		lagBytes:    gauge("slot_lag_bytes", "How much log was written behind what the slot has confirmed."),
		retained:    gauge("slot_retained_bytes", "How much log the server keeps for the slot."),
		safe:        gauge("slot_safe_bytes", "How much more log may be written before the slot may be lost; +Inf: the server sets no limit (max_slot_wal_keep_size), and the slot can fill its disk."),
		limit:       gauge("slot_limit_bytes", "The server's max_slot_wal_keep_size; +Inf: none."),
		status: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "freshet_relay_postgres_slot_status", Help: "1 for the slot's wal_status, 0 for the others.",
		}, []string{"status"}),
	}
	m.lag = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "freshet_relay_postgres_slot_lag_seconds", Help: "How long the slot has not been moved; +Inf before it was first seen.",
	}, m.age)
	m.safe.Set(math.Inf(1))
	m.limit.Set(math.Inf(1))
	m.setStatus("")
	return m
}

func (m *metrics) setStatus(now string) {
	for _, s := range statuses {
		value := 0.0
		if s == now {
			value = 1
		}
		m.status.WithLabelValues(s).Set(value)
	}
}

func (m *metrics) moved() {
	now := time.Now()
	m.confirmed.Store(&now)
}

func (m *metrics) age() float64 {
	if t := m.confirmed.Load(); t != nil {
		return time.Since(*t).Seconds()
	}
	return math.Inf(1)
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.undecodable, m.keyless, m.foreign, m.snapshots, m.lost, m.held,
		m.lagBytes, m.retained, m.safe, m.limit, m.status, m.lag}
}

// Describe makes a Log a [prometheus.Collector].
func (l *Log) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(l, ch) }

// Collect makes a Log a [prometheus.Collector].
func (l *Log) Collect(ch chan<- prometheus.Metric) {
	for _, c := range l.metrics.all() {
		c.Collect(ch)
	}
}
