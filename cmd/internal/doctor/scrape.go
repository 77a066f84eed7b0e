package doctor

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Metrics are the series of a /metrics page, by name and labels as they stand
// there.
type Metrics map[string]float64

// parseMetrics reads Prometheus' text format, as far as Freshet's own pages use
// it: no series has a time of its own.
func parseMetrics(page string) Metrics {
	m := Metrics{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if value, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			m[line[:at]] = value
		}
	}
	return m
}

// sum adds the series of a name, but those with a label that is to be left
// out.
func (m Metrics) sum(name, without string) (sum float64) {
	for series, value := range m {
		if rest, ok := strings.CutPrefix(series, name); ok && (rest == "" || rest[0] == '{') && (without == "" || !strings.Contains(rest, without)) {
			sum += value
		}
	}
	return sum
}

// seconds reads a series of seconds; negative if there is none, or none yet.
func (m Metrics) seconds(name string) time.Duration {
	v, ok := m[name]
	if !ok || math.IsInf(v, 0) || math.IsNaN(v) {
		return -1
	}
	return time.Duration(v * float64(time.Second))
}
