package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/hashring"
)

// Options of a membership.
type Options struct {
	// Rings say how keys are placed.
	Rings hashring.Options
	// Debounce is how long changes are gathered before the rings follow.
	// Default: 2 s.
	Debounce time.Duration
	// Grace is how long a member that is missing keeps its keys. Default: 10 s.
	Grace time.Duration
	// Changed is called with each new view, one at a time; it does not block.
	Changed func(*View)
}

// Membership follows a directory.
type Membership struct {
	options   Options
	directory Directory
	log       *slog.Logger
	view      atomic.Pointer[View]
	heard     chan struct{} // closed with the first that is told

	// What follows is of Run alone.
	missing map[string]time.Time // since when
	last    told                 // the newest that was taken
	pending *told                // gathered, the newest that was told
	due     time.Time            // when pending is taken
	version uint64
}

// errAlone is the problem of a node before the first list.
var errAlone = errors.New("no list of members yet: this node takes itself for the only one")

// errNobody is the problem of a tier that starts as a whole.
var errNobody = errors.New("no member serves yet")

// told is what a directory has said.
type told struct {
	peers []Peer
	err   error
}

// New makes the membership of a node, which is alone at first. It refuses a
// name, a weight and options that no rings can be made of.
func New(self Peer, directory Directory, log *slog.Logger, o Options) (*Membership, error) {
	if o.Debounce == 0 {
		o.Debounce = 2 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	alone := self
	alone.State = hashring.Serving
	rings, err := hashring.New(o.Rings, 0, []hashring.Member{alone.Member}, time.Now())
	if err != nil {
		return nil, err
	}
	m := &Membership{options: o, directory: directory, log: log, heard: make(chan struct{}), missing: map[string]time.Time{}}
	m.publish(&View{Rings: rings, Peers: []Peer{alone}, Problem: errAlone})
	return m, nil
}

// publish makes a view that of now.
func (m *Membership) publish(v *View) {
	m.view.Store(v)
	if m.options.Changed != nil {
		m.options.Changed(v)
	}
}

// Heard is closed once the directory has told of members, or why it cannot.
func (m *Membership) Heard() <-chan struct{} { return m.heard }

// View returns the tier as it is known now.
func (m *Membership) View() *View { return m.view.Load() }

// Run follows the directory until ctx ends.
func (m *Membership) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	lists := make(chan told)
	group.Go(func() error {
		return m.directory.Run(ctx, func(peers []Peer, err error) {
			select {
			case lists <- told{peers, err}:
			case <-ctx.Done():
			}
		})
	})
	group.Go(func() error { return m.follow(ctx, lists) })
	return group.Wait()
}

// follow takes what is told when it is due, and wakes up for what falls due by
// itself: members whose grace ends, rings that have faded in.
func (m *Membership) follow(ctx context.Context, lists <-chan told) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var hear sync.Once
	for {
		timer.Reset(m.wait(time.Now()))
		select {
		case list := <-lists:
			m.gather(list, time.Now())
			m.step(time.Now())
			hear.Do(func() { close(m.heard) })
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		m.step(time.Now())
	}
}

// wait returns how long nothing falls due.
func (m *Membership) wait(now time.Time) time.Duration {
	next := now.Add(time.Hour)
	sooner := func(t time.Time) {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	if m.pending != nil {
		sooner(m.due)
	} else {
		// A list that is waited for may bring the missing back.
		for _, since := range m.missing {
			sooner(since.Add(m.options.Grace))
		}
	}
	sooner(m.View().Rings.Settled())
	return max(0, next.Sub(now))
}

// gather keeps the newest list. The first of a tier is due at once: a node
// that is alone knows less than any list.
func (m *Membership) gather(list told, now time.Time) {
	if list.err == nil && len(list.peers) == 0 {
		list.err = errors.New("the list of members is empty")
	}
	if len(list.peers) == 0 {
		m.trouble(list.err)
		return
	}
	if m.pending == nil {
		m.due = now.Add(m.options.Debounce)
		if m.version == 0 {
			m.due = now
		}
	}
	m.pending = &list
}

// trouble keeps the view and says what is wrong with it.
func (m *Membership) trouble(err error) {
	view := *m.View()
	if same(view.Problem, err) {
		return
	}
	view.Problem = err
	m.publish(&view)
	m.log.Warn("members: the last good list stands", "error", err)
}

// step does what is due.
func (m *Membership) step(now time.Time) {
	view := m.View()
	if m.pending != nil && !now.Before(m.due) {
		list := *m.pending
		m.pending = nil
		m.take(list, now)
		return
	}
	if m.pending == nil && m.expired(now) {
		m.take(told{m.last.peers, view.Problem}, now)
		return
	}
	if settled := view.Rings.Settle(now); settled != view.Rings {
		next := *view
		next.Rings = settled
		m.publish(&next)
	}
}

func (m *Membership) expired(now time.Time) bool {
	for _, since := range m.missing {
		if !now.Before(since.Add(m.options.Grace)) {
			return true
		}
	}
	return false
}

// take makes the view of a list. What peers say of their load changes no ring.
func (m *Membership) take(list told, now time.Time) {
	view := m.View()
	peers, missing := m.reconcile(list.peers, view.Peers, now)
	if m.version == 0 && !slices.ContainsFunc(peers, owned) {
		m.trouble(errors.Join(errNobody, list.err))
		return
	}
	rings, err := m.rings(view.Rings, peers, now)
	if err != nil {
		m.trouble(fmt.Errorf("a list of members that makes no ring: %w", err))
		return
	}
	m.last, m.missing, m.version = list, missing, rings.Version()
	m.publish(&View{Rings: rings, Peers: peers, Passing: passing(peers), Problem: list.err})
	if list.err != nil && !same(list.err, view.Problem) {
		m.log.Warn("members: there is trouble", "error", list.err)
	}
	if rings.Checksum() != view.Rings.Checksum() {
		m.log.Info("members: keys have other owners", "members", len(peers), "version", m.version, "ring", fmt.Sprintf("%016x", rings.Checksum()))
	}
}

// rings returns the rings of peers, after those of before.
func (m *Membership) rings(before *hashring.Rings, peers []Peer, now time.Time) (*hashring.Rings, error) {
	members := make([]hashring.Member, len(peers))
	for i, p := range peers {
		members[i] = p.Member
	}
	switch {
	case m.version == 0:
		// Who is in the first list was there before this node.
		return hashring.New(m.options.Rings, 1, members, now)
	case slices.Equal(members, before.Members()):
		return before.Settle(now), nil
	}
	return before.Next(m.version+1, members, now)
}

func passing(peers []Peer) hashring.Passing {
	passing := hashring.Passing{}
	for _, p := range peers {
		if p.Pass > 0 {
			passing[p.Name] = p.Pass
		}
	}
	return passing
}

// reconcile returns the peers of a list as the rings are to see them. Who had
// keys, and is missing now or has to start again, is away as long as its grace
// lasts. Who comes back within its grace was never gone: it keeps the time when
// it joined.
func (m *Membership) reconcile(list, known []Peer, now time.Time) ([]Peer, map[string]time.Time) {
	if m.version == 0 {
		known = nil // this node alone, as long as it knew nobody
	}
	peers, missing := slices.Clone(list), map[string]time.Time{}
	grace := func(p *Peer) bool {
		since, ok := m.missing[p.Name]
		if !ok {
			since = now
		}
		if !now.Before(since.Add(m.options.Grace)) {
			return false
		}
		p.State, p.Occupancy, p.Pass, p.Degraded = hashring.Away, 0, 0, false
		missing[p.Name] = since
		return true
	}
	for _, old := range known {
		if !owned(old) {
			continue
		}
		at := slices.IndexFunc(peers, func(p Peer) bool { return p.Name == old.Name })
		if at < 0 {
			if grace(&old) {
				peers = append(peers, old)
			}
			continue
		}
		if peers[at].State == hashring.Starting && !grace(&peers[at]) {
			continue
		}
		if !old.Joined.IsZero() {
			peers[at].Joined = old.Joined
		}
	}
	slices.SortFunc(peers, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	return peers, missing
}

// same reports whether two errors say the same.
func same(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error()
}

// owned reports whether a peer had keys to keep.
func owned(p Peer) bool { return p.State == hashring.Serving || p.State == hashring.Away }
