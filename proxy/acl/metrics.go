package acl

import "github.com/prometheus/client_golang/prometheus"

// Registerer is where Users register their metrics.
type Registerer = prometheus.Registerer

// metrics are what Users count. No label holds a name.
type metrics struct{ accepted, refused, shed prometheus.Counter }

func newMetrics(reg Registerer) *metrics {
	logins := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "freshet_logins_total", Help: "Times somebody said who they are, by what they were told."}, []string{"outcome"})
	reg.MustRegister(logins)
	return &metrics{
		accepted: logins.WithLabelValues("accepted"), refused: logins.WithLabelValues("refused"), shed: logins.WithLabelValues("shed"),
	}
}
