package peer

import (
	"context"
	"encoding/binary"

	"github.com/freshet-cache/freshet/proxy"
)

// operation is one kind of request. take runs in the caller's goroutine: to
// who has left, nothing is written.
type operation interface {
	kinds() (asked, answered kind)
	fits(c *conn) error // nil: this connection's peer can be asked
	append(dst []byte) []byte
	take(a *answer) error
}

// Load has the peer answer reqs. On an error nothing was answered: it is
// ErrAway, ErrFull, ErrUseCase, or ctx's own. It waits as long as ctx lets it; the
// peer is told how long that is.
func (p *Peer) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) error {
	k := p.pool.borrow()
	defer p.pool.giveBack(k)
	for {
		n := min(len(reqs), maxKeys)
		k.load = load{reqs[:n], results[:n]}
		err := p.call(ctx, k, &k.load)
		p.pool.metrics.loads[outcomeOf(err)].Inc()
		if reqs, results = reqs[n:], results[n:]; err != nil || len(reqs) == 0 {
			return err
		}
	}
}

type load struct {
	reqs    []proxy.Request
	results []proxy.Result
}

func (l *load) kinds() (asked, answered kind) { return frameLoad, frameLoaded }

func (l *load) fits(c *conn) error {
	for i := range l.reqs {
		if !c.shared[l.reqs[i].Key.UseCase.ID] {
			return ErrUseCase
		}
	}
	return nil
}

func (l *load) append(dst []byte) []byte { return appendReads(dst, l.reqs) }

func (l *load) take(a *answer) error {
	return decodeResults(&cursor{rest: a.body}, l.results, a.schemas)
}

// Forget has the peer drop what it keeps of keys. Keys of use cases that the
// two nodes do not share were never sent there, and are left out.
func (p *Peer) Forget(ctx context.Context, keys []proxy.Key) error {
	k := p.pool.borrow()
	defer p.pool.giveBack(k)
	for {
		n := min(len(keys), maxKeys)
		k.forget.keys = keys[:n]
		err := p.call(ctx, k, &k.forget)
		p.pool.metrics.forgets[outcomeOf(err)].Inc()
		if keys = keys[n:]; err != nil || len(keys) == 0 {
			return err
		}
	}
}

type forget struct {
	keys  []proxy.Key
	texts [][]byte
}

func (f *forget) kinds() (asked, answered kind) { return frameForget, frameForgotten }

func (f *forget) fits(c *conn) error {
	f.texts = f.texts[:0]
	for _, k := range f.keys {
		if c.shared[k.UseCase.ID] {
			f.texts = append(f.texts, k.Text)
		}
	}
	return nil
}

func (f *forget) append(dst []byte) []byte { return appendKeys(dst, f.texts) }

func (f *forget) take(a *answer) error { return (&cursor{rest: a.body}).end() }

// Void has the peer drop all that it keeps of a use case, by its name, whatever
// that means there. A peer of version 2 or before cannot be told: ErrUseCase.
func (p *Peer) Void(ctx context.Context, u *proxy.UseCase) error {
	k := p.pool.borrow()
	defer p.pool.giveBack(k)
	err := p.call(ctx, k, &void{forget{texts: [][]byte{[]byte(u.Name)}}})
	p.pool.metrics.forgets[outcomeOf(err)].Inc()
	return err
}

// void is a forget of a name that stands alone, where a key goes on: a build of
// before takes it for no key.
type void struct{ forget }

func (*void) fits(c *conn) error {
	if c.version < 3 {
		return ErrUseCase
	}
	return nil
}

// Ask returns what the peer says of itself.
func (p *Peer) Ask(ctx context.Context) (record []byte, err error) {
	k := p.pool.borrow()
	defer p.pool.giveBack(k)
	var op describe
	err = p.call(ctx, k, &op)
	return op.record, err
}

type describe struct{ record []byte }

func (d *describe) kinds() (asked, answered kind) { return frameAsk, frameRecord }
func (d *describe) fits(*conn) error              { return nil }
func (d *describe) append(dst []byte) []byte      { return dst }

func (d *describe) take(a *answer) error {
	c := cursor{rest: a.body}
	d.record = c.text(maxRecord)
	return c.end()
}

// Hottest returns keys that the peer keeps and that member is to own, hottest
// first, at most so many.
func (p *Peer) Hottest(ctx context.Context, member string, most int) (keys [][]byte, err error) {
	k := p.pool.borrow()
	defer p.pool.giveBack(k)
	op := hottest{member: member, most: max(0, min(most, maxHottest))}
	err = p.call(ctx, k, &op)
	return op.keys, err
}

type hottest struct {
	member string
	most   int
	keys   [][]byte
}

func (h *hottest) kinds() (asked, answered kind) { return frameHottest, frameKeys }
func (h *hottest) fits(*conn) error              { return nil }

func (h *hottest) append(dst []byte) []byte {
	return appendText(binary.AppendUvarint(dst, uint64(h.most)), h.member)
}

func (h *hottest) take(a *answer) (err error) {
	h.keys, err = decodeKeys(&cursor{rest: a.body}, h.most)
	return err
}
