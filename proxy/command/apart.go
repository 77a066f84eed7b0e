package command

import (
	"bytes"
	"context"
	"hash/maphash"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// apart keeps the reads of one key in a batch of a session apart. In one call
// of the source the answers of two reads of a key need not be in the order of
// their requests:
//
//  1. the first read finds a fill under way that it may not join, and waits for
//     the one behind it
//  2. that fill ends, and what it has read is installed
//  3. the second read is a hit on it; the first gets what the fill behind it
//     reads, and that may be newer
//
// So the batch goes to the source in pieces, none of which holds a key twice,
// and each carries the token that those before it have raised.
type apart struct {
	cuts []int      // where in the requests a further piece begins
	seen [64]uint64 // a bit per hash of the keys of the last piece
	seed maphash.Seed
}

// piece is how many requests go to the source together at most: what a search
// for equal keys looks at.
const piece = 1024

// add makes room for a request of key: in another piece than an equal one.
func (a *apart) add(requests []proxy.Request, key []byte) {
	begins := 0
	if n := len(a.cuts); n > 0 {
		begins = a.cuts[n-1]
	}
	bit := maphash.Bytes(a.seed, key) % uint64(64*len(a.seen))
	word, mask := bit/64, uint64(1)<<(bit%64)
	if last := requests[begins:]; len(last) >= piece || a.seen[word]&mask != 0 && holds(last, key) {
		a.cut(len(requests))
	}
	a.seen[word] |= mask
}

func (a *apart) cut(at int) {
	a.cuts = append(a.cuts, at)
	clear(a.seen[:])
}

func holds(requests []proxy.Request, key []byte) bool {
	for i := range requests {
		if bytes.Equal(requests[i].Key.Text, key) {
			return true
		}
	}
	return false
}

// truncate forgets the requests from n on.
func (a *apart) truncate(n int) {
	for len(a.cuts) > 0 && a.cuts[len(a.cuts)-1] >= n {
		a.cuts = a.cuts[:len(a.cuts)-1]
	}
	clear(a.seen[:])
	if n > 0 {
		a.cuts = append(a.cuts, n) // what the piece so far holds is known no longer
	}
}

func (a *apart) reset() {
	a.cuts = emptied(a.cuts)
	clear(a.seen[:])
}

// load asks the source for what is gathered.
func (s *Session) load(ctx context.Context) {
	p := &s.pending
	p.results = sized(p.results, len(p.requests))
	if !s.session {
		s.all.source.Load(ctx, p.requests, p.results)
		return
	}
	first := 0
	for i := range len(p.apart.cuts) + 1 {
		behind := len(p.requests)
		if i < len(p.apart.cuts) {
			behind = p.apart.cuts[i]
		}
		s.loadPiece(ctx, p.requests[first:behind], p.results[first:behind])
		first = behind
	}
}

// loadPiece asks for what is not older than all that the session has seen, and
// remembers what it has seen then.
func (s *Session) loadPiece(ctx context.Context, requests []proxy.Request, results []proxy.Result) {
	for i := range requests {
		requests[i].Token = max(requests[i].Token, s.token)
	}
	s.all.source.Load(ctx, requests, results)
	raised := proxy.Time(0)
	for i := range results {
		known := results[i].Upper
		if hook.Mutant(hook.SessionTokenIsAsOf) {
			known = results[i].AsOf
		}
		raised = max(raised, known)
	}
	// Forever is a time at which the source's clock was not known. What is read
	// with that as a token is read of the source later than all that was seen
	// before, so its time will do for that, too.
	if s.token != proxy.Forever || raised == 0 {
		raised = max(raised, s.token)
	}
	s.token = raised
}
