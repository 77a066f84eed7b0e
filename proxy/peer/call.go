package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// errOpen and errLost are ErrAway, told apart in metrics.
var (
	errOpen = fmt.Errorf("breaker is open: %w", ErrAway)
	errLost = fmt.Errorf("connection was lost: %w", ErrAway)
)

// verdict is what a call says about the peer.
type verdict uint8

const (
	nothing verdict = iota // it was not asked, or not waited for
	alive                  // it has answered something
	failing                // it was lost, or did not answer in time
)

// call sends a request and waits for its answer. Loads and forgets mind the
// breaker; who asks how the peer is wants to know in any case.
func (p *Peer) call(ctx context.Context, k *call, op operation) error {
	if !minded(op) {
		_, err := p.queue(ctx, k, op)
		return err
	}
	probe, ok := p.breaker.permit(time.Now())
	if !ok {
		return errOpen
	}
	v, err := p.queue(ctx, k, op)
	switch v {
	case alive:
		p.breaker.succeeded()
	case failing:
		p.breaker.failed(time.Now(), probe)
	case nothing:
		p.breaker.released(probe)
	}
	return err
}

// minded reports whether a request is about keys.
func minded(op operation) bool {
	asked, _ := op.kinds()
	return asked == frameLoad || asked == frameForget
}

// queue bounds how many requests wait, and finds a connection.
func (p *Peer) queue(ctx context.Context, k *call, op operation) (verdict, error) {
	o := &p.pool.opts
	most, mostBytes := int64(o.Waiting), int64(o.WaitBytes)
	if caller := proxy.CallerOf(ctx); caller != nil && caller.Low {
		most, mostBytes = most/2, mostBytes/2
	}
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > most || p.waitBytes.Load() > mostBytes {
		return nothing, ErrFull
	}
	const attempts = 3 // a connection may have begun to leave since it was picked
	for range attempts {
		c, err := p.acquire(ctx)
		if err != nil {
			return nothing, err
		}
		if v, err := p.exchange(ctx, c, k, op); !errors.Is(err, errNotTaken) {
			return v, err
		}
	}
	return nothing, ErrAway
}

// errNotTaken: the connection takes no more requests; nothing was sent.
var errNotTaken = errors.New("connection takes no more requests")

// acquire returns a connection. It waits for one only as long as the first
// attempt to connect has not ended.
func (p *Peer) acquire(ctx context.Context) (*conn, error) {
	for range 2 {
		if conns := *p.conns.Load(); len(conns) > 0 {
			return conns[int(p.turn.Add(1))%len(conns)], nil
		}
		select {
		case <-p.settled:
		case <-p.gone:
			return nil, ErrAway
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, ErrAway
}

// exchange sends a request over one connection and takes its answer.
func (p *Peer) exchange(ctx context.Context, c *conn, k *call, op operation) (verdict, error) {
	if minded(op) && !p.means(c) {
		return nothing, ErrAway
	}
	if err := op.fits(c); err != nil {
		return nothing, err
	}
	head, err := p.head(ctx)
	if err != nil {
		return nothing, err
	}
	asked, _ := op.kinds()
	k.out = head.append(beginFrame(k.out[:0], asked), c.version)
	k.out = endFrame(op.append(k.out), 0)
	size := int64(len(k.out))
	p.waitBytes.Add(size)
	defer p.waitBytes.Add(-size)
	id, ok := c.send(k)
	if !ok {
		return nothing, errNotTaken
	}
	select {
	case a := <-k.done:
		return p.take(c, op, &a)
	case <-ctx.Done():
	}
	if !c.leave(id) {
		a := <-k.done
		return p.take(c, op, &a)
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) { // or the caller says that it was
		return failing, ctx.Err()
	}
	return nothing, ctx.Err()
}

// head is what the request begins with, for this caller and this moment.
func (p *Peer) head(ctx context.Context) (request, error) {
	head := request{hops: 1}
	head.ring.version, head.ring.checksum = p.pool.ring()
	if caller := proxy.CallerOf(ctx); caller != nil {
		head.caller = *caller
	}
	if deadline, ok := ctx.Deadline(); ok {
		if head.remain = time.Until(deadline); head.remain <= 0 {
			return head, context.DeadlineExceeded
		}
	}
	return head, ctx.Err()
}

// take makes results of an answer. One that is not what was asked for ends its
// connection.
func (p *Peer) take(c *conn, op operation, a *answer) (verdict, error) {
	if a.err != nil {
		if errors.Is(a.err, errLeft) || errors.Is(a.err, errEnded) {
			return nothing, ErrAway
		}
		return failing, errLost
	}
	_, want := op.kinds()
	var err error
	switch {
	case a.kind == want:
		err = op.take(a)
	case a.kind == frameRefused && len(a.body) == 1:
		return alive, refusedBy(class(a.body[0]))
	default:
		err = errMalformed
	}
	if err != nil {
		p.pool.opts.Log.Warn("peer's answer is malformed", "peer", p.address, "error", err)
		c.fail(err)
		return failing, errLost
	}
	return alive, nil
}

// refusedBy is the error of a request that the peer has not worked on.
func refusedBy(c class) error {
	switch c {
	case classShed:
		return ErrFull
	case classUseCase:
		return ErrUseCase
	case classLate:
		return context.DeadlineExceeded
	}
	return ErrAway
}
