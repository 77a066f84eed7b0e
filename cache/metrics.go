package cache

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/proxy"
)

// metrics are the cache's counters, resolved once: slices are indexed by the
// use case's ID.
type metrics struct {
	vecs      []prometheus.Collector
	hits      []striped
	hitDesc   *prometheus.Desc
	misses    atomic.Uint64 // reads that waited for a fill
	names     []string
	fills     [][reasons]prometheus.Counter
	took      prometheus.Histogram
	joins     []prometheus.Counter
	refused   []prometheus.Counter
	overtaken []prometheus.Counter
	failed    []prometheus.Counter
	stale     []prometheus.Counter
	replaced  []prometheus.Counter
	dropped   []prometheus.Counter
	voided    []prometheus.Counter
	evictions prometheus.Counter
	used      *prometheus.Desc
	bound     *prometheus.Desc
}

// striped is a counter that many cores raise: each takes the stripe of the
// key it serves.
type striped [16]struct {
	n atomic.Uint64
	_ [56]byte // a cache line of its own
}

func (s *striped) add(hash uint64) { s[hash%16].n.Add(1) }

func (s *striped) sum() (n uint64) {
	for i := range s {
		n += s[i].n.Load()
	}
	return n
}

func newMetrics(catalog *proxy.Catalog) *metrics {
	m := &metrics{
		hits:    make([]striped, len(catalog.All())),
		hitDesc: prometheus.NewDesc("freshet_cache_hits_total", "Reads answered from memory within their bound.", []string{"use_case"}, nil),
		used:    prometheus.NewDesc("freshet_cache_used_bytes", "Memory accounted to entries.", []string{"store"}, nil),
		bound:   prometheus.NewDesc("freshet_cache_max_bytes", "Memory that entries may take.", []string{"store"}, nil),
		evictions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_cache_evictions_total", Help: "Entries that had to make room, or found none."}),
	}
	m.took = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "freshet_cache_fill_seconds",
		Help:    "How long the source took, with the wait for a turn, for fills that went to it together.",
		Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, fillTimeout.Seconds()},
	})
	fills := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "freshet_cache_fills_total", Help: "Reads of the source, one per key, by why they were made."},
		[]string{"use_case", "reason"})
	// Fills are read before evictions: no scrape shows one for an eviction that
	// is not counted yet.
	m.vecs = append(m.vecs, fills, m.took, m.evictions)
	perCase := func(name, help string) []prometheus.Counter {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"use_case"})
		m.vecs = append(m.vecs, vec)
		var out []prometheus.Counter
		for _, u := range catalog.All() {
			out = append(out, vec.WithLabelValues(u.Name))
		}
		return out
	}
	m.joins = perCase("freshet_cache_joins_total", "Reads that shared a fill begun for another.")
	m.refused = perCase("freshet_cache_installs_refused_total", "Fills whose value was not kept because a change passed them.")
	m.overtaken = perCase("freshet_cache_replica_behind_total", "Fills that the primary was asked for, too, since a replica was further behind than a read bears.")
	m.failed = perCase("freshet_cache_failed_reads_total", "Reads whose fill brought no answer in time.")
	m.stale = perCase("freshet_cache_stale_reads_total", "Reads answered outside the bound, as on_unavailable: stale asks.")
	m.replaced = perCase("freshet_cache_replaced_total", "Changes that replaced an entry.")
	m.dropped = perCase("freshet_cache_dropped_total", "Changes and writes that made an entry void.")
	m.voided = perCase("freshet_cache_voids_total", "Times everything cached for a use case was made void.")
	for _, u := range catalog.All() {
		m.names = append(m.names, u.Name)
		var by [reasons]prometheus.Counter
		for r := reasonCold; r < reasons; r++ {
			by[r] = fills.WithLabelValues(u.Name, r.String())
		}
		m.fills = append(m.fills, by)
	}
	return m
}

// Describe implements prometheus.Collector.
func (c *Cache) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *Cache) Collect(ch chan<- prometheus.Metric) {
	for _, v := range c.metrics.vecs {
		v.Collect(ch)
	}
	for i, name := range c.metrics.names {
		ch <- prometheus.MustNewConstMetric(c.metrics.hitDesc, prometheus.CounterValue, float64(c.metrics.hits[i].sum()), name)
	}
	for name, s := range c.storesByName() {
		used, bound := s.Used()
		ch <- prometheus.MustNewConstMetric(c.metrics.used, prometheus.GaugeValue, float64(used), name)
		ch <- prometheus.MustNewConstMetric(c.metrics.bound, prometheus.GaugeValue, float64(bound), name)
	}
}

// Reads returns how many reads were answered from memory, and how many waited for
// the source.
func (c *Cache) Reads() (hits, misses uint64) {
	for i := range c.metrics.hits {
		hits += c.metrics.hits[i].sum()
	}
	return hits, c.metrics.misses.Load()
}

// storesByName names each store once: the two that are shared, and those of
// use cases with memory of their own, told apart by a prefix that no use case
// can be named with.
func (c *Cache) storesByName() map[string]entries {
	named := map[string]entries{"absences": c.absences}
	for i := range c.cases {
		name := "shared"
		if c.cases[i].MaxBytes > 0 {
			name = "use_case:" + c.metrics.names[i]
		}
		named[name] = c.cases[i].rows
	}
	return named
}
