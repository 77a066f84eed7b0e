package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// The times of the sampler.
const (
	sampleEvery = 250 * time.Millisecond
	askFor      = 3 * time.Second // a node that is frozen does not answer
	askAgain    = 20 * time.Millisecond
	startFor    = 3 * time.Minute // until every node is ready: a broker on a busy machine takes its time
)

// sampler reads what the nodes count and what the source's clock says.
type sampler struct {
	of       Deployment
	log      *history.Log
	useCases []history.UseCase // of the run: what others read is not its business
	live     bool              // the nodes were there before the run
	before   map[counter]history.Counters
}

// counter is what one life of a node counts for one use case.
type counter struct {
	node    string
	life    uint64
	useCase string
}

// begin notes what the nodes have counted before the run. One that was there
// before has to say it: else all of that would pass for the run's. And it has to
// have followed until now: else it may have rows of an earlier run.
func (s *sampler) begin(ctx context.Context) error {
	began := now()
	s.before = map[counter]history.Counters{}
	return s.await(ctx, func(ctx context.Context, node string) error {
		counted, lag, ok := s.ask(ctx, node)
		switch {
		case !s.live:
		case !ok:
			return fmt.Errorf("%s does not say what it has counted", node)
		case lag.Age < 0 || lag.Age >= lag.At.Sub(began):
			return fmt.Errorf("%s has not followed the stream since the run began", node)
		}
		for _, c := range counted {
			s.before[counter{node, c.Life, c.UseCase}] = c
		}
		return nil
	})
}

func (s *sampler) run(ctx context.Context) error {
	for pause.For(ctx, sampleEvery) {
		if err := s.sample(ctx); err != nil {
			return err
		}
	}
	return s.log.Flush()
}

// sample takes one of everything. A node that does not answer has none.
func (s *sampler) sample(ctx context.Context) error {
	c, err := s.of.Clock(ctx)
	if err != nil {
		return err
	}
	// What is judged while the run goes on needs it at once: by an older one, a
	// clock that was stepped back goes wrong.
	if err := errors.Join(s.log.Add(&c), s.log.Flush()); err != nil {
		return err
	}
	for _, node := range s.of.Nodes() {
		if counted, lag, ok := s.ask(ctx, node); ok {
			if err := s.write(counted, lag, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sampler) write(counted []history.Counters, lag history.Lag, final bool) error {
	for i := range counted {
		counted[i].Final = final
		if err := s.log.Add(&counted[i]); err != nil {
			return err
		}
	}
	return s.log.Add(&lag)
}

func (s *sampler) ask(ctx context.Context, node string) ([]history.Counters, history.Lag, bool) {
	admin, life := s.of.Admin(node)
	if admin == "" {
		return nil, history.Lag{}, false
	}
	at := now()
	text, err := Get(ctx, admin, "/metrics")
	if err != nil {
		return nil, history.Lag{}, false
	}
	r := read(text)
	if life = cmp.Or(life, r.began); life == 0 {
		return nil, history.Lag{}, false
	}
	counted := slices.DeleteFunc(r.counted, func(c history.Counters) bool {
		return !slices.ContainsFunc(s.useCases, func(u history.UseCase) bool { return u.Name == c.UseCase })
	})
	for i := range counted {
		c := &counted[i]
		c.At, c.Node, c.Life = at, node, life
		since(c, s.before[counter{node, life, c.UseCase}])
	}
	return counted, history.Lag{At: at, Node: node, Age: r.age}, true
}

// last takes the counters once they stand still.
func (s *sampler) last(ctx context.Context) error {
	for _, node := range s.of.Nodes() {
		before := uint64(0)
		for {
			counted, lag, ok := s.ask(ctx, node)
			if !ok {
				break
			}
			sum := uint64(0)
			for _, c := range counted {
				for _, n := range c.Fills {
					sum += n
				}
			}
			if sum == before {
				if err := s.write(counted, lag, true); err != nil {
					return err
				}
				break
			}
			before = sum
			if !pause.For(ctx, sampleEvery) {
				return ctx.Err()
			}
		}
	}
	return s.log.Flush()
}

// ready waits until every node is.
func (s *sampler) ready(ctx context.Context) error {
	return s.await(ctx, func(ctx context.Context, node string) error {
		admin, _ := s.of.Admin(node)
		why, err := Get(ctx, admin, "/readyz")
		if err != nil {
			return fmt.Errorf("%s is not ready: %w: %s", node, err, strings.TrimSpace(why))
		}
		return nil
	})
}

// await asks one node after the other until it does as it is asked. Its error
// is the last that a node gave before the time was over.
func (s *sampler) await(ctx context.Context, ask func(ctx context.Context, node string) error) error {
	ctx, cancel := context.WithTimeout(ctx, startFor)
	defer cancel()
	for _, node := range s.of.Nodes() {
		var last error
		for {
			err := ask(ctx, node)
			if err == nil {
				break
			}
			if last == nil || ctx.Err() == nil {
				last = err
			}
			if !pause.For(ctx, askAgain) {
				return last
			}
		}
	}
	return nil
}

var errNotOK = errors.New("it answers that it is not")

// Get asks an admin port, past all proxies. With another status than 200, what
// it answers comes with an error.
func Get(ctx context.Context, address, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return "", err
	}
	// The node may be another one next time.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = errNotOK
	}
	return string(body), err
}
