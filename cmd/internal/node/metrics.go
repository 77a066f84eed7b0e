package node

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/freshet-cache/freshet/hashring"
)

// registry holds what /metrics shows.
type registry struct{ *prometheus.Registry }

func newRegistry() registry {
	r, began := registry{prometheus.NewRegistry()}, float64(time.Now().UnixMilli())/1000
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("freshet_build_info", "1, with the version that runs.", prometheus.Labels{"version": Version()}, func() float64 { return 1 }),
		// Unlike process_start_time_seconds it stays, when somebody sets the clock.
		gauge("freshet_start_time_seconds", "When this process began, by its clock of then.", nil, func() float64 { return began }),
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
		counter("freshet_source_probe_errors_total", "Probes of the source that failed.", func() float64 { return float64(n.prober.failures.Load()) }),
		counter("freshet_clock_steps_total", "Steps of the source's clock, each a gap.", func() float64 { return float64(n.prober.stepped.Load()) }),
	)
	if n.connector != nil {
		n.registry.MustRegister(n.connector.stream)
	}
	if n.tier != nil {
		n.tier.register(n.registry)
		return
	}
	n.registry.MustRegister(slotsOwned(func() int { return hashring.Slots }))
}

// register adds what a node in a tier shows.
func (t *tier) register(r registry) {
	r.MustRegister(
		t.pool, t.server, t.route,
		slotsOwned(func() int { return t.membership.View().Rings.Owned(t.name) }),
		gauge("freshet_ring_version", "This node's number of the membership: one more with each change.", nil, func() float64 {
			return float64(t.membership.View().Rings.Version())
		}),
		gauge("freshet_ring_moved_ratio", "Share of this node's keys that have moved to it: 1 once it has faded in.", nil, func() float64 {
			return t.membership.View().Rings.Moved(t.name, time.Now())
		}),
		gauge("freshet_tier_occupancy_ratio", "Share of this node's cores that was busy, over ten seconds.", nil, func() float64 { return t.said().Occupancy }),
		gauge("freshet_tier_pass_ratio", "Share of its keys that this node passes on, since the others have less to do.", nil, func() float64 { return t.said().Pass }),
		gauge("freshet_tier_degraded", "1 while something is wrong with the tier.", nil, func() float64 {
			if len(t.problems()) > 0 {
				return 1
			}
			return 0
		}),
	)
	for state := hashring.Serving; state <= hashring.Leaving; state++ {
		r.MustRegister(gauge("freshet_tier_members", "Members of the tier by what they do.", prometheus.Labels{"state": state.String()}, func() float64 {
			n := 0
			for _, p := range t.membership.View().Peers {
				if p.State == state {
					n++
				}
			}
			return float64(n)
		}))
	}
}

func slotsOwned(f func() int) prometheus.Collector {
	return gauge("freshet_ring_slots_owned", "Slots of the ring that this node owns.", nil, func() float64 { return float64(f()) })
}

func gauge(name, help string, labels prometheus.Labels, f func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, f)
}

func counter(name, help string, f func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, f)
}
