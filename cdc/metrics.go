package cdc

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// gapReason says why there was a gap.
type gapReason uint8

const (
	gapStart      gapReason = iota // the first record of a partition
	gapPosition                    // the position was lost
	gapHole                        // prev lies beyond the mark
	gapStream                      // another stream id
	gapPartitions                  // another number of partitions
	gapClock                       // the source's clock stepped
	gapPrimary                     // another primary was found
	gapReasons
)

func (g gapReason) String() string {
	return [...]string{"start", "position", "hole", "stream", "partitions", "clock", "primary"}[g]
}

// changeOutcome says what became of a change.
type changeOutcome uint8

const (
	changeApplied changeOutcome = iota
	changeRepeat
	changeLie
	changeOlder // of a stream of an older life of the source
	changeOutcomes
)

func (o changeOutcome) String() string {
	return [...]string{"applied", "repeat", "lie", "older"}[o]
}

// checkpointOutcome says what became of a checkpoint.
type checkpointOutcome uint8

const (
	checkpointCounted   checkpointOutcome = iota
	checkpointRepeat                      // applied before
	checkpointBack                        // its T lies before the last one's
	checkpointLie                         // its place or its T cannot be true
	checkpointUnchecked                   // the source's clock is not known yet
	checkpointOther                       // not of the current stream, or in a gap
	checkpointOlder                       // of a stream of an older life of the source
	checkpointOutcomes
)

func (o checkpointOutcome) String() string {
	return [...]string{"counted", "repeat", "back", "lie", "unchecked", "other", "older"}[o]
}

// ops are the operations by name; the last is what is not known.
var ops = [...]string{"insert", "update", "delete", "touch", "truncate", "schema_changed", "unknown"}

// metrics are the applier's counters, resolved once.
type metrics struct {
	vecs        []prometheus.Collector
	changes     [len(ops)][changeOutcomes]prometheus.Counter
	checkpoints [checkpointOutcomes]prometheus.Counter
	gaps        [gapReasons]prometheus.Counter
	images      prometheus.Counter
	keyless     prometheus.Counter
	lies        prometheus.Counter
	undecodable prometheus.Counter
	watermark   *prometheus.Desc
	held        *prometheus.Desc
}

func newMetrics() *metrics {
	m := &metrics{
		watermark: prometheus.NewDesc("freshet_cdc_watermark_seconds",
			"The watermark, on the source's clock; minus infinity while nothing is proven.", nil, nil),
		held: prometheus.NewDesc("freshet_cdc_watermark_held",
			"1 while the watermark holds because a checkpoint lied.", nil, nil),
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.vecs = append(m.vecs, v)
		return v
	}
	changes := vec("freshet_cdc_changes_total", "Changes by operation and what became of them.", "op", "outcome")
	for op := range ops {
		for o := range changeOutcomes {
			m.changes[op][o] = changes.WithLabelValues(ops[op], o.String())
		}
	}
	checkpoints := vec("freshet_cdc_checkpoints_total", "Checkpoints by what became of them.", "outcome")
	for o := range checkpointOutcomes {
		m.checkpoints[o] = checkpoints.WithLabelValues(o.String())
	}
	gaps := vec("freshet_cdc_gaps_total", "Times everything became void because changes may be missing.", "reason")
	for g := range gapReasons {
		m.gaps[g] = gaps.WithLabelValues(g.String())
	}
	m.images = vec("freshet_cdc_images_total", "Rows offered to replace entries.").WithLabelValues()
	m.keyless = vec("freshet_cdc_keyless_changes_total", "Changes that did not tell a use case's key and made it void.").WithLabelValues()
	m.lies = vec("freshet_cdc_lies_total", "Changes and checkpoints that lie about their place or time.").WithLabelValues()
	m.undecodable = vec("freshet_cdc_undecodable_total", "Records that cannot be decoded.").WithLabelValues()
	return m
}

func (m *metrics) change(op event.Op, o changeOutcome) {
	m.changes[min(int(op), len(ops))-1][o].Inc()
}

func (m *metrics) checkpoint(o checkpointOutcome) { m.checkpoints[o].Inc() }

func (m *metrics) gap(why gapReason) { m.gaps[why].Inc() }

// Describe implements prometheus.Collector.
func (a *Applier) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(a, ch) }

// Collect implements prometheus.Collector.
func (a *Applier) Collect(ch chan<- prometheus.Metric) {
	for _, v := range a.metrics.vecs {
		v.Collect(ch)
	}
	seconds, held := math.Inf(-1), 0.0
	if w := a.wm.Load(); w != proxy.Never {
		seconds = float64(w) / 1e9
	}
	if _, _, h := a.wm.current(); h {
		held = 1
	}
	ch <- prometheus.MustNewConstMetric(a.metrics.watermark, prometheus.GaugeValue, seconds)
	ch <- prometheus.MustNewConstMetric(a.metrics.held, prometheus.GaugeValue, held)
}
