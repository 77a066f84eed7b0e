package check

import (
	"math"
	"time"
)

// Durations fall into buckets of a quarter octave from 100 µs up to about
// fifteen minutes, so that a bucket's edge is at most a fifth off.
const (
	bucketFloor = 100 * time.Microsecond
	perOctave   = 4
	buckets     = 93
)

// Histogram counts durations. Counts[i] are those above Edge(i−1) and not
// above Edge(i); the last takes all that are longer.
type Histogram struct {
	None   uint64          `json:"none"` // zero or less: not overwritten at all
	Counts [buckets]uint64 `json:"counts"`
	Max    time.Duration   `json:"max"`
}

// Edge is the upper edge of bucket i.
func Edge(i int) time.Duration {
	return time.Duration(float64(bucketFloor) * math.Exp2(float64(i)/perOctave))
}

func (h *Histogram) add(d time.Duration) {
	if d <= 0 {
		h.None++
		return
	}
	i := int(math.Ceil(perOctave * math.Log2(float64(d)/float64(bucketFloor))))
	h.Counts[min(max(i, 0), buckets-1)]++
	h.Max = max(h.Max, d)
}

func (h *Histogram) merge(o *Histogram) {
	h.None += o.None
	for i, n := range o.Counts {
		h.Counts[i] += n
	}
	h.Max = max(h.Max, o.Max)
}

// Total is how many durations were counted.
func (h *Histogram) Total() uint64 {
	total := h.None
	for _, n := range h.Counts {
		total += n
	}
	return total
}

// Quantile is the edge below which a share of the durations lies.
func (h *Histogram) Quantile(share float64) time.Duration {
	left := uint64(math.Ceil(share * float64(h.Total())))
	if left <= h.None {
		return 0
	}
	left -= h.None
	for i, n := range h.Counts {
		if left <= n {
			return min(Edge(i), h.Max)
		}
		left -= n
	}
	return h.Max
}
