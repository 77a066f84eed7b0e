package audit

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/proxy"
)

// outcome says whether a change was consistent within a time.
type outcome uint8

const (
	outcomeConsistent   outcome = iota
	outcomeInconsistent         // it was not, though it may be right: the bound decides that
	outcomeLate                 // nobody looked in time
	outcomes
)

func (o outcome) String() string { return [...]string{"consistent", "inconsistent", "late"}[o] }

// found says what a look found.
type found uint8

const (
	foundAbsent  found = iota // nothing
	foundVoid                 // an entry that is void
	foundAged                 // one outside the bound
	foundPinned               // one that is not judged
	foundEqual                // one that equals the source
	foundDiffers              // one that does not
	foundFailed               // the source did not answer
	founds
)

func (f found) String() string {
	return [...]string{"absent", "void", "aged", "pinned", "equal", "differs", "failed"}[f]
}

// suspicion says how one ended.
type suspicion uint8

const (
	suspicionSettled   suspicion = iota // the entry was gone in time
	suspicionFleeting                   // it claimed too much, and was gone or right at once
	suspicionViolation                  // it claimed too much, and stayed
	suspicionGivenUp                    // nobody knows: too many, too long, or the clock went back
	suspicions
)

func (s suspicion) String() string {
	return [...]string{"settled", "fleeting", "violation", "given_up"}[s]
}

// metrics are the auditor's counters, resolved once: slices are indexed by the
// use case's ID.
type metrics struct {
	all        []prometheus.Collector
	changes    [][withins][outcomes]prometheus.Counter
	looks      [][founds]prometheus.Counter
	suspected  [][suspicions]prometheus.Counter
	violations [][2]prometheus.Counter // by change, by entry
	reads      prometheus.Counter
	dropped    prometheus.Counter
	followed   prometheus.Gauge
}

func newMetrics(catalog *proxy.Catalog) *metrics {
	m := &metrics{
		reads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_audit_source_reads_total", Help: "Keys that the auditor read from the source."}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_audit_dropped_total", Help: "Changes that the auditor could not follow, as too many came at once or the clock went back."}),
		followed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "freshet_audit_followed_ratio", Help: "Share of the changes that is followed now: fewer than is set while there are too many."}),
	}
	m.all = append(m.all, m.reads, m.dropped, m.followed)
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.all = append(m.all, v)
		return v
	}
	changes := vec("freshet_audit_changes_total", "Changes to be followed, by whether they were consistent within a time after their commit: each stands also for those that were left out in its place.", "use_case", "within", "outcome")
	looks := vec("freshet_audit_looks_total", "Looks at keys, by what was held.", "use_case", "found")
	suspected := vec("freshet_audit_suspicions_total", "Entries that differed from the source, by what became of it.", "use_case", "outcome")
	violations := vec("freshet_audit_violations_total", "Entries that claimed to be fresher than they were, by what led to them.", "use_case", "by")
	for _, u := range catalog.All() {
		var c [withins][outcomes]prometheus.Counter
		for w := range withins {
			for o := range outcomes {
				c[w][o] = changes.WithLabelValues(u.Name, withinNames[w], o.String())
			}
		}
		m.changes = append(m.changes, c)
		var l [founds]prometheus.Counter
		for f := range founds {
			l[f] = looks.WithLabelValues(u.Name, f.String())
		}
		m.looks = append(m.looks, l)
		var s [suspicions]prometheus.Counter
		for o := range suspicions {
			s[o] = suspected.WithLabelValues(u.Name, o.String())
		}
		m.suspected = append(m.suspected, s)
		m.violations = append(m.violations, [2]prometheus.Counter{
			violations.WithLabelValues(u.Name, "change"), violations.WithLabelValues(u.Name, "entry")})
	}
	return m
}

// follows tells which share of the changes is followed now.
func (m *metrics) follows(share float64) { m.followed.Set(share) }

// change counts one, and those for which it stands.
func (m *metrics) change(s *sample, w within, o outcome) {
	m.changes[s.key.UseCase.ID][w][o].Add(float64(s.stands))
}

func (m *metrics) look(key proxy.Key, f found) { m.looks[key.UseCase.ID][f].Inc() }

func (m *metrics) suspicion(key proxy.Key, s suspicion) { m.suspected[key.UseCase.ID][s].Inc() }

func (m *metrics) violation(key proxy.Key, picked bool) {
	by := 0
	if picked {
		by = 1
	}
	m.violations[key.UseCase.ID][by].Inc()
}

// Describe implements prometheus.Collector.
func (a *Auditor) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(a, ch) }

// Collect implements prometheus.Collector.
func (a *Auditor) Collect(ch chan<- prometheus.Metric) {
	for _, c := range a.metrics.all {
		c.Collect(ch)
	}
}
