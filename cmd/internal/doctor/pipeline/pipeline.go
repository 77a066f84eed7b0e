package pipeline

import (
	"slices"
	"time"
)

// Pipeline is how a stream carries a source's changes to a reader.
type Pipeline struct {
	Interval time.Duration // from one checkpoint to the next
	Delay    time.Duration // from a checkpoint's T until all partitions have it: the 99.9th percentile
	Width    time.Duration // of the interval in which the source's clock is known to stand
}

// SmallestBound is the smallest bound at which reads of what does not change
// are still hits.
func (p Pipeline) SmallestBound() time.Duration { return p.Interval + p.Delay + p.Width }

// Quantile returns the least of the durations that a share q of them does not
// exceed; of few, that is the greatest. It is 0 of none.
func Quantile(durations []time.Duration, q float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
