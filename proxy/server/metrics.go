package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/proxy/command"
)

// Registerer is where a Server registers its metrics.
type Registerer = prometheus.Registerer

// metrics are what a Server counts. No label holds what a client has sent.
type metrics struct {
	open         prometheus.Gauge
	opened       prometheus.Counter
	refused      prometheus.Counter
	acceptErrors prometheus.Counter
	closed       [numberEnds]prometheus.Counter
}

func newMetrics(reg Registerer, commands *command.Commands) *metrics {
	m := &metrics{
		open:         prometheus.NewGauge(prometheus.GaugeOpts{Name: "freshet_connections", Help: "Connections that are open."}),
		opened:       prometheus.NewCounter(prometheus.CounterOpts{Name: "freshet_connections_opened_total", Help: "Connections served."}),
		refused:      prometheus.NewCounter(prometheus.CounterOpts{Name: "freshet_connections_refused_total", Help: "Connections refused because there were too many."}),
		acceptErrors: prometheus.NewCounter(prometheus.CounterOpts{Name: "freshet_accept_errors_total", Help: "Accepts that failed and were tried again."}),
	}
	closed := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "freshet_connections_closed_total", Help: "Connections that have ended, by reason."}, []string{"reason"})
	for e := range end(numberEnds) {
		m.closed[e] = closed.WithLabelValues(e.String())
	}
	reg.MustRegister(m.open, m.opened, m.refused, m.acceptErrors, closed, calls{
		commands: commands,
		desc:     prometheus.NewDesc("freshet_commands_total", `Commands by row of the command table; "other" is in no row.`, []string{"command"}, nil),
	})
	return m
}

// calls collects the counters that the sessions keep by themselves.
type calls struct {
	commands *command.Commands
	desc     *prometheus.Desc
}

func (c calls) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

func (c calls) Collect(metrics chan<- prometheus.Metric) {
	c.commands.Counts(func(name string, n uint64) {
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(n), name)
	})
}
