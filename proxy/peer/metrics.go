package peer

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// outcome is how a request to a peer ended.
type outcome uint8

const (
	answered     outcome = iota
	away                 // no connection, or the peer leaves
	open                 // the breaker is
	lost                 // the connection was, while it waited
	full                 // too many wait, here or there
	late                 // the caller's time was over
	canceled             // the caller has left
	otherUseCase         // the peer has not this use case, or another version of it
	outcomes
)

var outcomeNames = [outcomes]string{"answered", "away", "open", "lost", "full", "late", "canceled", "use_case"}

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return answered
	case errors.Is(err, errOpen):
		return open
	case errors.Is(err, errLost):
		return lost
	case errors.Is(err, ErrFull):
		return full
	case errors.Is(err, ErrUseCase):
		return otherUseCase
	case errors.Is(err, context.DeadlineExceeded):
		return late
	case errors.Is(err, context.Canceled):
		return canceled
	}
	return away
}

// clientMetrics are what a Pool counts.
type clientMetrics struct {
	traffic
	pool          *Pool
	loads         [outcomes]prometheus.Counter
	forgets       [outcomes]prometheus.Counter
	disagreements prometheus.Counter
	vecs          []prometheus.Collector
	peers         *prometheus.Desc
	conns         *prometheus.Desc
	waiting       *prometheus.Desc
}

func newClientMetrics(p *Pool) *clientMetrics {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "freshet_peer_requests_total", Help: "Requests to peers, each of up to 1,024 keys, by how they ended."}, []string{"kind", "outcome"})
	m := &clientMetrics{
		pool: p, traffic: newTraffic("client"),
		disagreements: prometheus.NewCounter(prometheus.CounterOpts{Name: "freshet_peer_reply_disagreements_total", Help: "Replies of peers whose table of owners is another."}),
		peers:         prometheus.NewDesc("freshet_peers", "Peers by the state of their breaker.", []string{"breaker"}, nil),
		conns:         prometheus.NewDesc("freshet_peer_connections", "Connections to peers that take requests.", nil, nil),
		waiting:       prometheus.NewDesc("freshet_peer_waiting", "Requests that wait for peers.", nil, nil),
	}
	for o := range outcomes {
		m.loads[o] = requests.WithLabelValues("load", outcomeNames[o])
		m.forgets[o] = requests.WithLabelValues("forget", outcomeNames[o])
	}
	m.vecs = []prometheus.Collector{requests, m.disagreements, m.sent, m.received}
	return m
}

// Describe implements prometheus.Collector.
func (p *Pool) Describe(descs chan<- *prometheus.Desc) {
	for _, v := range p.metrics.vecs {
		v.Describe(descs)
	}
	descs <- p.metrics.peers
	descs <- p.metrics.conns
	descs <- p.metrics.waiting
}

// Collect implements prometheus.Collector.
func (p *Pool) Collect(metrics chan<- prometheus.Metric) {
	m := p.metrics
	for _, v := range m.vecs {
		v.Collect(metrics)
	}
	var states [len(breakerStates)]int
	conns, waiting := 0, int64(0)
	now := time.Now()
	for _, peer := range p.all() {
		states[peer.breaker.state(now)]++
		conns += len(*peer.conns.Load())
		waiting += peer.waiting.Load()
	}
	for i, n := range states {
		metrics <- prometheus.MustNewConstMetric(m.peers, prometheus.GaugeValue, float64(n), breakerStates[i])
	}
	metrics <- prometheus.MustNewConstMetric(m.conns, prometheus.GaugeValue, float64(conns))
	metrics <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(waiting))
}

// serverMetrics are what a Server counts.
type serverMetrics struct {
	traffic
	open          prometheus.Gauge
	served        map[kind]prometheus.Counter
	refused       map[string]prometheus.Counter
	disagreements prometheus.Counter
	vecs          []prometheus.Collector
}

func newServerMetrics() *serverMetrics {
	served := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "freshet_peer_served_total", Help: "Requests of peers, each of up to 1,024 keys, that were worked on."}, []string{"kind"})
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "freshet_peer_refused_total", Help: "Connections to the peer port that were refused, by reason."}, []string{"reason"})
	m := &serverMetrics{
		traffic:       newTraffic("server"),
		open:          prometheus.NewGauge(prometheus.GaugeOpts{Name: "freshet_peer_served_connections", Help: "Connections of peers."}),
		served:        map[kind]prometheus.Counter{},
		refused:       map[string]prometheus.Counter{},
		disagreements: prometheus.NewCounter(prometheus.CounterOpts{Name: "freshet_peer_request_disagreements_total", Help: "Requests of peers whose table of owners is another."}),
	}
	for k, name := range map[kind]string{frameLoad: "load", frameForget: "forget", frameAsk: "ask", frameHottest: "hottest"} {
		m.served[k] = served.WithLabelValues(name)
	}
	for _, reason := range reasons {
		m.refused[reason] = refused.WithLabelValues(reason)
	}
	m.vecs = []prometheus.Collector{m.open, served, refused, m.disagreements, m.sent, m.received}
	return m
}

// Describe implements prometheus.Collector.
func (s *Server) Describe(descs chan<- *prometheus.Desc) {
	for _, v := range s.metrics.vecs {
		v.Describe(descs)
	}
}

// Collect implements prometheus.Collector.
func (s *Server) Collect(metrics chan<- prometheus.Metric) {
	for _, v := range s.metrics.vecs {
		v.Collect(metrics)
	}
}

// traffic counts the bytes of one end's connections.
type traffic struct{ sent, received prometheus.Counter }

func newTraffic(end string) traffic {
	of := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{"end": end}})
	}
	return traffic{
		sent:     of("freshet_peer_sent_bytes_total", "Bytes written to peers, by the end of the connection that this node is."),
		received: of("freshet_peer_received_bytes_total", "Bytes read from peers, by the end of the connection that this node is."),
	}
}

func (t *traffic) counted(nc net.Conn) net.Conn { return &countedConn{nc, t} }

type countedConn struct {
	net.Conn
	traffic *traffic
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.traffic.received.Add(float64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.traffic.sent.Add(float64(n))
	return n, err
}
