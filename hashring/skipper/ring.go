package skipper

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

const (
	// pointsPerWeight is the number of points of an endpoint of weight 1.
	pointsPerWeight = 100
	// maxPoints keeps a ring within some 40 MB and a second to build.
	maxPoints = 1 << 20
	// maxEndpoints is what a point's owner has bits for.
	maxEndpoints = 1 << 16
)

// Endpoint is one place where keys can be.
type Endpoint struct {
	Address string // as it is configured: every byte counts
	Weight  int    // at least 1
}

// Ring is one ring. Endpoints are named by their number in the list that it
// was made from.
//
// A point's first bits say in which bucket it is. What is left of its hash and
// its owner's number share one word, so that a look-up touches two places in
// memory: there are no more endpoints than buckets.
type Ring struct {
	points []uint64 // ascending; the hash without its first bits, then the owner
	starts []uint32 // of each bucket, and at the end the number of points
	width  int      // of a bucket's number and of an owner's, in bits
}

// Hash is the place of a key on every ring.
func Hash(key []byte) uint64 { return xxhash.Sum64(key) }

// New makes the ring of endpoints. It refuses an empty list, a weight below 1
// and more than a million points.
func New(endpoints []Endpoint) (*Ring, error) {
	total, err := count(endpoints)
	if err != nil {
		return nil, err
	}
	points := make([]point, 0, total)
	var name []byte
	for i, e := range endpoints {
		name = append(append(name[:0], e.Address...), '-')
		stem := len(name)
		for j := range e.Weight * pointsPerWeight {
			name = strconv.AppendInt(name[:stem], int64(j), 10)
			points = append(points, point{xxhash.Sum64(name), uint16(i)})
		}
	}
	slices.SortFunc(points, point.compare)
	return index(points), nil
}

func count(endpoints []Endpoint) (points int, err error) {
	if len(endpoints) == 0 {
		return 0, errors.New("a ring has at least one endpoint")
	}
	if len(endpoints) > maxEndpoints {
		return 0, fmt.Errorf("a ring has at most %d endpoints, not %d", maxEndpoints, len(endpoints))
	}
	for _, e := range endpoints {
		if e.Weight < 1 || e.Weight > maxPoints/pointsPerWeight {
			return 0, fmt.Errorf("endpoint %q: %d is no weight", e.Address, e.Weight)
		}
		if points += e.Weight * pointsPerWeight; points > maxPoints {
			return 0, fmt.Errorf("a ring has at most %d points: lower the weights", maxPoints)
		}
	}
	return points, nil
}

// point is one place of an endpoint.
type point struct {
	hash  uint64
	owner uint16
}

// compare orders two endpoints at one place, of which Skipper leaves the order
// open, so that one list gives one ring.
func (p point) compare(q point) int {
	return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.owner, q.owner))
}

func index(points []point) *Ring {
	// Two buckets for each point at least: nearly always the search is over
	// where it begins.
	width := bits.Len(uint(len(points))) + 1
	r := &Ring{points: make([]uint64, len(points)), starts: make([]uint32, 1<<width+1), width: width}
	bucket := 0 // the first whose start is not known
	for i, p := range points {
		r.points[i] = p.hash<<width | uint64(p.owner)
		for ; bucket <= int(p.hash>>(64-width)); bucket++ {
			r.starts[bucket] = uint32(i)
		}
	}
	for ; bucket < len(r.starts); bucket++ {
		r.starts[bucket] = uint32(len(points))
	}
	return r
}

// Owner returns the endpoint of a hash.
func (r *Ring) Owner(hash uint64) int { return r.owner(r.search(hash)) }

// First returns the first endpoint from a hash on that is accepted, or -1 if
// none is.
func (r *Ring) First(hash uint64, accept func(endpoint int) bool) int {
	at := r.search(hash)
	for range r.points {
		if owner := r.owner(at); accept(owner) {
			return owner
		}
		if at++; at == len(r.points) {
			at = 0
		}
	}
	return -1
}

func (r *Ring) owner(point int) int { return int(r.points[point] & (1<<r.width - 1)) }

// search returns the first point at or after a hash.
func (r *Ring) search(hash uint64) int {
	bucket := hash >> (64 - r.width)
	at, end := int(r.starts[bucket]), int(r.starts[bucket+1])
	for rest := hash << r.width; at < end && r.points[at]>>r.width < rest>>r.width; {
		at++
	}
	if at == len(r.points) {
		return 0
	}
	return at
}
