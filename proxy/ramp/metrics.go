package ramp

import "github.com/prometheus/client_golang/prometheus"

type metrics struct{ limit, running, waiting, shed *prometheus.Desc }

func newMetrics() metrics {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return metrics{
		limit:   desc("freshet_ramp_limit", "Loads of the source that may run at once, by what it has shown so far."),
		running: desc("freshet_ramp_running", "Loads of the source that run."),
		waiting: desc("freshet_ramp_waiting", "Loads that wait until they may run."),
		shed:    desc("freshet_ramp_shed_total", "Loads that did not run, since too many waited, or they for too long."),
	}
}

// Describe implements prometheus.Collector.
func (r *Ramp) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(r, ch) }

// Collect implements prometheus.Collector.
func (r *Ramp) Collect(ch chan<- prometheus.Metric) {
	r.mu.Lock()
	limit, running, waiting, shed := r.mu.limit.most, r.mu.running, r.mu.queue.Len(), r.mu.shed
	r.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(r.metrics.limit, prometheus.GaugeValue, float64(limit))
	ch <- prometheus.MustNewConstMetric(r.metrics.running, prometheus.GaugeValue, float64(running))
	ch <- prometheus.MustNewConstMetric(r.metrics.waiting, prometheus.GaugeValue, float64(waiting))
	ch <- prometheus.MustNewConstMetric(r.metrics.shed, prometheus.CounterValue, float64(shed))
}
