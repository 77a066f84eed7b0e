package load

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// command is one command of a pipeline and the reads that it makes.
type command struct {
	args  []string
	reads []read
	proof bool // the reply brings it
}

// read is a read of one key, and how its answer is to be understood.
type read struct {
	history.Read
	id      int
	useCase *UseCase
}

func (l *Load) read(u *UseCase, id int, mode history.Mode) read {
	return read{
		Read:    history.Read{Key: u.Key(id), Mode: mode, Bound: u.Bound, Hot: l.keys.hot(id)},
		id:      id,
		useCase: u,
	}
}

// draw draws a pipeline.
func (l *Load) draw(d *draw) []command {
	n := 1
	if d.IntN(2) == 0 {
		n += d.IntN(16)
	}
	commands := make([]command, n)
	kind := d.IntN(10)
	for i := range commands {
		switch {
		case kind < 4:
			commands[i] = l.get(d)
		case kind < 6:
			commands[i] = l.mget(d)
		case kind < 9:
			commands[i] = l.proven(d)
		default: // mixed
			commands[i] = [...]func(*draw) command{l.get, l.mget, l.proven}[d.IntN(3)](d)
		}
	}
	return commands
}

func (l *Load) any(d *draw) *UseCase { return &l.useCases[d.IntN(len(l.useCases))] }

func (l *Load) get(d *draw) command {
	r := l.read(l.any(d), d.id(), history.Plain)
	return command{args: []string{"GET", r.Key}, reads: []read{r}}
}

func (l *Load) mget(d *draw) command {
	c := command{args: []string{"MGET"}}
	for range 1 + d.IntN(12) {
		r := l.read(l.any(d), d.id(), history.Many)
		c.args = append(c.args, r.Key)
		c.reads = append(c.reads, r)
	}
	return c
}

// proven is a read with its proof, often with a bound of its own.
func (l *Load) proven(d *draw) command {
	r := l.read(l.any(d), d.id(), history.Plain)
	args := []string{"FRESHET.GET", r.Key, "PROOF"}
	switch n := d.IntN(20); {
	case n < 3:
		r.Mode = history.MaxStale
		r.Bound = maxStale(d.Rand, r.Bound)
		args = append(args, "MAXSTALE", strconv.FormatInt(r.Bound.Milliseconds(), 10))
	case n == 3:
		r = l.read(r.useCase, d.cold(), history.Strong)
		r.Bound = 0
		args = []string{"FRESHET.GET", r.Key, "PROOF", "STRONG"}
	case n < 7:
		if w := l.tokens.last.Load(); w != nil {
			u := r.useCase
			r = l.read(u, w.id, history.Token)
			r.Token = w.token
			args = []string{"FRESHET.GET", r.Key, "PROOF", "TOKEN", strconv.FormatInt(int64(w.token), 10)}
		}
	}
	return command{args: args, reads: []read{r}, proof: true}
}

// maxStale draws a bound from a tenth of the use case's to twice as much.
func maxStale(r *rand.Rand, bound time.Duration) time.Duration {
	return max(bound/10+time.Duration(r.Int64N(int64(2*bound))), time.Millisecond).Truncate(time.Millisecond)
}
