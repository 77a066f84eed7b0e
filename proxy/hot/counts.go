package hot

import "sync"

// ways is how many keys share one set of counters: as many as two to four cache
// lines hold, which one look walks through.
const ways = 16

// counter counts one key: it was seen at least count−surplus times, and at most
// count times, since what it has of its predecessor is not its own.
type counter struct {
	hash           uint64
	count, surplus uint32
}

// least is how often the key was seen for certain.
func (c *counter) least() uint32 { return c.count - c.surplus }

// set has the counters of the keys that map to it.
type set struct {
	mu       sync.Mutex
	seen     uint32
	counters [ways]counter
}

// counts are Space-Saving counters (Metwally, Agrawal, El Abbadi: Efficient
// Computation of Frequent and Top-k Elements in Data Streams, 2005): a key that
// has no counter takes the smallest one, and begins where that one stood. So a
// key seen more often than the smallest counter says always has one. Here the
// counters stand in sets, like the ways of a processor's cache: no list is kept in
// order, and keys of different sets do not wait for each other.
type counts struct {
	sets  []set
	texts [][ways][]byte // of sets[i].counters, under its lock; nil: not kept
}

// newCounts makes sets counters times ways; sets is a power of two.
func newCounts(sets int, texts bool) *counts {
	c := &counts{sets: make([]set, sets)}
	if texts {
		c.texts = make([][ways][]byte, sets)
	}
	return c
}

// add counts a key. Its text is copied if texts are kept and it has none yet.
func (c *counts) add(hash uint64, text []byte) {
	at := hash >> 32 & uint64(len(c.sets)-1)
	s := &c.sets[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	smallest := 0
	for i := range s.counters {
		if s.counters[i].hash == hash {
			s.counters[i].count++
			return
		}
		if s.counters[i].count < s.counters[smallest].count {
			smallest = i
		}
	}
	before := s.counters[smallest].count
	s.counters[smallest] = counter{hash: hash, count: before + 1, surplus: before}
	if c.texts != nil {
		c.texts[at][smallest] = append(c.texts[at][smallest][:0], text...)
	}
}

// halve makes everything counted so far count half, times times over.
func (c *counts) halve(times int) {
	for i := range c.sets {
		c.sets[i].halve(times)
	}
}

func (s *set) halve(times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen >>= times
	for i := range s.counters {
		s.counters[i].count >>= times
		s.counters[i].surplus >>= times
	}
}

// each shows every counter that counts anything, under the lock of its set, and
// returns how much was seen in all.
func (c *counts) each(show func(one counter, text []byte)) (seen uint64) {
	for i := range c.sets {
		var texts *[ways][]byte
		if c.texts != nil {
			texts = &c.texts[i]
		}
		seen += c.sets[i].each(texts, show)
	}
	return seen
}

func (s *set) each(texts *[ways][]byte, show func(counter, []byte)) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.counters {
		if one.count == 0 {
			continue
		}
		var text []byte
		if texts != nil {
			text = texts[i]
		}
		show(one, text)
	}
	return uint64(s.seen)
}
