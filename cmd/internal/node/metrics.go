package node

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// registry holds what /metrics shows.
type registry struct{ *prometheus.Registry }

func newRegistry() registry {
	r := registry{prometheus.NewRegistry()}
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("freshet_build_info", "1, with the version that runs.", prometheus.Labels{"version": Version()}, func() float64 { return 1 }),
	)
	return r
}

func (r registry) handler() http.Handler {
	return promhttp.HandlerFor(r.Registry, promhttp.HandlerOpts{})
}

// registerIf adds the metrics of a part that has some.
func (r registry) registerIf(part any) {
	if c, ok := part.(prometheus.Collector); ok {
		r.MustRegister(c)
	}
}

// register adds the metrics of the node's parts, and what only the node knows.
func (n *Node) register() {
	n.registry.MustRegister(
		n.cache, n.applier, n.tail,
		gauge("freshet_ready", "1 while clients may be sent to this node.", nil, func() float64 {
			if ok, _ := n.ready(); ok {
				return 1
			}
			return 0
		}),
		gauge("freshet_clock_width_seconds", "Width of the interval in which the source's clock stands.", nil, func() float64 {
			lo, hi := n.clock.Bounds()
			return hi.Sub(lo).Seconds()
		}),
		gauge("freshet_watermark_age_seconds", "Age of the watermark by the source's clock: the bound that the stream carries now.", nil, func() float64 {
			_, hi := n.clock.Bounds()
			return hi.Sub(n.watermark.Load()).Seconds()
		}),
		gauge("freshet_ring_slots_owned", "Slots of the ring that this node owns.", nil, func() float64 {
			return float64(n.ring.Owned(self(n.config)))
		}),
		counter("freshet_source_probe_errors_total", "Probes of the source that failed.", func() float64 { return float64(n.prober.failures.Load()) }),
		counter("freshet_clock_steps_total", "Steps of the source's clock, each a gap.", func() float64 { return float64(n.prober.stepped.Load()) }),
	)
	if n.connector != nil {
		n.registry.MustRegister(n.connector.stream)
	}
}

func gauge(name, help string, labels prometheus.Labels, f func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, f)
}

func counter(name, help string, f func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, f)
}
