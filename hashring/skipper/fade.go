package skipper

import (
	"math"
	"time"
)

// Score is the share of requests for which an endpoint is a candidate at an
// age: (age/window)^exponent while it fades in, and 1 before and after. (That
// an endpoint of age 0 has the score 1 is Skipper's.)
func Score(age, window time.Duration, exponent float64) float64 {
	if age <= 0 || age >= window {
		return 1
	}
	return math.Pow(float64(age)/float64(window), exponent)
}

// Limit is the load up to which an endpoint is chosen: factor times the mean
// of the candidates' loads, with the request that arrives counted among them.
func Limit(loads []int, candidate func(endpoint int) bool, factor float64) float64 {
	sum, n := 1, 0
	for i, load := range loads {
		if candidate(i) {
			sum += load
			n++
		}
	}
	return float64(sum) / float64(n) * factor
}
