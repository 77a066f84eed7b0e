package load

import (
	"math/rand/v2"
	"time"
)

// keys says which rows are used how much.
type keys struct{ n int }

func newKeys(n int) keys { return keys{n: n} }

// hotHead is how many rows are the hot head: they get half of all that is
// asked, or more.
const hotHead = 32

// contestedRows is how many rows behind the hot head are contested.
const contestedRows = 4

func (k keys) hot(id int) bool { return id < hotHead }

// unread is the id of a row that is written for a moment, and that nobody else
// reads but whoever follows the newest write: another one for each number, until
// there are no more.
func (k keys) unread(number uint64) int {
	first := k.n + k.n/10 + 1
	return first + int(number%uint64(2*k.n-first))
}

// draw is one goroutine's luck.
type draw struct {
	*rand.Rand
	zipf *rand.Zipf
	n    int
	cool bool // it keeps off the hot head
}

// draw returns the luck of the goroutine of that number. Its exponent of 1.2
// leaves a tail of rows that are hardly ever asked for.
func (k keys) draw(seed, number uint64) *draw {
	r := rand.New(rand.NewPCG(seed, number))
	return &draw{Rand: r, zipf: rand.NewZipf(r, 1.2, 2, uint64(k.n-1)), n: k.n}
}

// id is of a row: mostly of a hot one, sometimes of one that may not be there,
// and once in a while of one that never is.
func (d *draw) id() int {
	switch d.IntN(20) {
	case 0:
		return d.n + d.IntN(d.n/10+1) // moved to, inserted and deleted
	case 1:
		return 2*d.n + d.IntN(d.n+1) // never there
	case 2:
		return d.cold()
	case 3:
		return d.contested()
	}
	if d.cool {
		return d.cold()
	}
	return int(d.zipf.Uint64())
}

// cold is of a row that is not of the hot head. Reads that ask for the source
// itself, or for more than the stream has brought yet, fill what they read:
// if they read hot rows, these would never be old enough for their hits to say
// anything of the stream. Half of them meet at the few contested rows.
func (d *draw) cold() int {
	if d.IntN(2) == 0 {
		return d.contested()
	}
	return hotHead + d.IntN(d.n-hotHead)
}

// contested is of a row that is written all the time, in the database and
// through nodes, and read in every way: where races are.
func (d *draw) contested() int { return hotHead + d.IntN(contestedRows) }

// row is of a row that may be there. Writes are spread wider than reads: a row
// that changes all the time is never old enough for its reads to say anything
// of the stream.
func (d *draw) row() int {
	switch n := d.IntN(16); {
	case n < 3:
		return d.n + d.IntN(d.n/10+1)
	case n == 3:
		return int(d.zipf.Uint64())
	case n < 7:
		return d.contested()
	}
	return d.IntN(d.n)
}

// around is a time that is d on average.
func (d *draw) around(mean time.Duration) time.Duration {
	return time.Duration(d.ExpFloat64() * float64(mean))
}
