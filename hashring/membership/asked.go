package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/hashring"
)

// Asker asks the node at an address for its record.
type Asker interface {
	Ask(ctx context.Context, address string) (record []byte, err error)
}

// Asked is a directory that asks each address of another one what it says of
// itself. Who does not answer is left out, with the reason as a problem. Two
// nodes of one name make no list at all.
type Asked struct {
	// Addresses are those of another directory, which may know more: that a
	// node is leaving, and its zone if it says none itself.
	Addresses Directory
	// Asker reaches them.
	Asker Asker
	// Self is what this node says of itself: it need not be asked.
	Self func() Peer
	// Every is the time between two questions. Default: 1 s.
	Every time.Duration
	// Timeout of one question. Default: 1 s.
	Timeout time.Duration
}

// Run asks all addresses until ctx ends.
func (a Asked) Run(ctx context.Context, tell func([]Peer, error)) error {
	a.Every, a.Timeout = cmp.Or(a.Every, time.Second), cmp.Or(a.Timeout, time.Second)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &poll{Asked: a, asked: map[string]*question{}, answers: make(chan answer)}
	lists, ended := make(chan told), make(chan error, 1)
	go func() {
		ended <- a.Addresses.Run(ctx, func(peers []Peer, err error) {
			select {
			case lists <- told{peers, err}:
			case <-ctx.Done():
			}
		})
	}()
	for {
		select {
		case list := <-lists:
			p.follow(ctx, list)
		case answer := <-p.answers:
			p.note(answer)
		case err := <-ended:
			cancel()
			p.asking.Wait()
			return err
		}
		if p.complete() {
			tell(p.peers())
		}
	}
}

// poll is a run of Asked.
type poll struct {
	Asked
	asked   map[string]*question // by address
	trouble error                // of the other directory
	answers chan answer
	asking  sync.WaitGroup
}

// question is asked of one address again and again.
type question struct {
	known    Peer // as the other directory has it
	end      context.CancelFunc
	answered bool // or known not to answer
	peer     Peer
	err      error
}

type answer struct {
	of   *question
	peer Peer
	err  error
}

// follow asks those that are new, and asks those no more that are gone.
func (p *poll) follow(ctx context.Context, list told) {
	p.trouble = list.err
	if len(list.peers) == 0 {
		return
	}
	gone := maps.Clone(p.asked)
	for _, known := range list.peers {
		delete(gone, known.Address)
		if q := p.asked[known.Address]; q != nil {
			q.known = known
			continue
		}
		q := &question{known: known}
		p.asked[known.Address] = q
		own, end := context.WithCancel(ctx)
		q.end = end
		p.asking.Go(func() { p.ask(own, q, known.Address) })
	}
	for address, q := range gone {
		q.end()
		delete(p.asked, address)
	}
}

// ask asks one address until ctx ends.
func (p *poll) ask(ctx context.Context, q *question, address string) {
	ticker := time.NewTicker(p.Every)
	defer ticker.Stop()
	for {
		said, err := p.askOnce(ctx, address)
		select {
		case p.answers <- answer{q, said, err}:
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *poll) askOnce(ctx context.Context, address string) (Peer, error) {
	self := p.Self()
	if address == self.Address {
		return self, nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return Peer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	record, err := p.Asker.Ask(ctx, address)
	if err != nil {
		return Peer{}, err
	}
	return Decode("", host, record)
}

// note keeps an answer. That of a question which is asked no more is kept by
// nobody.
func (p *poll) note(a answer) { a.of.answered, a.of.peer, a.of.err = true, a.peer, a.err }

// complete reports whether every address has been asked once: a list with half
// of a tier would move keys for nothing.
func (p *poll) complete() bool {
	for _, q := range p.asked {
		if !q.answered {
			return false
		}
	}
	return len(p.asked) > 0 || p.trouble != nil
}

// peers returns who answers, by name, and what is wrong.
func (p *poll) peers() ([]Peer, error) {
	var peers []Peer
	problems := []error{p.trouble}
	for _, address := range slices.Sorted(maps.Keys(p.asked)) {
		q := p.asked[address]
		if q.err != nil {
			problems = append(problems, fmt.Errorf("the node at %s: %w", address, q.err))
			continue
		}
		said := q.joint()
		twin := slices.IndexFunc(peers, func(o Peer) bool { return o.Name == said.Name })
		switch {
		case twin < 0:
			peers = append(peers, said)
		case peers[twin].Instance != said.Instance:
			return nil, fmt.Errorf("two nodes are named %q, at %s and at %s: give each a name of its own", said.Name, peers[twin].Address, address)
		}
	}
	slices.SortFunc(peers, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	return peers, errors.Join(problems...)
}

// joint joins what a node says of itself with what the other directory knows
// of it. It is reached where it was found.
func (q *question) joint() Peer {
	p := q.peer
	p.Address = q.known.Address
	p.Zone = cmp.Or(p.Zone, q.known.Zone)
	if q.known.State == hashring.Leaving {
		p.State = hashring.Leaving
	}
	return p
}
