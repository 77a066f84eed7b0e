package fill

import "sync"

// shards spreads keys over mutexes that are held for a map access only. 64 is
// well above the cores that can be inside at once.
const shards = 64

// Locks hands out flights of type F by key.
type Locks[F any] struct {
	shard [shards]shard[F]
}

type shard[F any] struct {
	mu   sync.Mutex
	held map[string]*lock[F]
}

type lock[F any] struct {
	running *F
	next    *F // nil: nobody waits behind running
}

// New returns locks that are all free.
func New[F any]() *Locks[F] {
	l := &Locks[F]{}
	for i := range l.shard {
		l.shard[i].held = map[string]*lock[F]{}
	}
	return l
}

// Enter returns the flight that a read of key shares. If none is running it
// makes one, and start is true: the caller must see to it that it is run and
// ended with [Locks.Leave]. If one is running and join accepts it, it is that
// one; else the one behind it, which join is shown as well, and which no read can
// refuse: it begins only later. create may return nil if the key turns out not
// to need a flight; then so does Enter. hash spreads keys; it must be the same
// for the same key. join and create are called under a lock and must not
// block.
func (l *Locks[F]) Enter(hash uint64, key []byte, join func(f *F) bool, create func(key string) *F) (f *F, start bool) {
	s := &l.shard[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held[string(key)]
	if held == nil {
		return s.createLocked(key, create), true
	}
	if join(held.running) {
		return held.running, false
	}
	if held.next == nil {
		held.next = create(string(key))
	} else {
		join(held.next)
	}
	return held.next, false
}

// createLocked makes the first flight of a key.
func (s *shard[F]) createLocked(key []byte, create func(key string) *F) *F {
	text := string(key)
	f := create(text)
	if f != nil {
		s.held[text] = &lock[F]{running: f}
	}
	return f
}

// TryEnter is Enter for those who do not wait: it makes a flight and returns
// it if none is running for key, and nil otherwise.
func (l *Locks[F]) TryEnter(hash uint64, key []byte, create func(key string) *F) *F {
	s := &l.shard[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[string(key)] != nil {
		return nil
	}
	return s.createLocked(key, create)
}

// Leave ends the running flight of key. If one waits behind it, that one is
// now running and returned: the caller must start it.
func (l *Locks[F]) Leave(hash uint64, key string) (next *F) {
	s := &l.shard[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held[key]
	if held.next == nil {
		delete(s.held, key)
		return nil
	}
	held.running, held.next = held.next, nil
	return held.running
}

// Running returns the running flight of key and whether one waits behind it,
// for a look from outside.
func (l *Locks[F]) Running(hash uint64, key []byte) (running *F, waiting bool) {
	s := &l.shard[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held[string(key)]
	if held == nil {
		return nil, false
	}
	return held.running, held.next != nil
}
