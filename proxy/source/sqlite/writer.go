package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// maxGroup bounds the writes of one transaction: others wait for its lock.
const maxGroup = 256

// job is the writes of one call.
type job struct {
	units []unit
	state atomic.Int32
	done  chan struct{} // closed when each unit has its outcome
}

// The states of a job. Only a waiting one can be withdrawn.
const (
	waiting int32 = iota
	begun
	withdrawn
)

var errClosed = errors.New("the source is closed")

// writer is the one connection that writes. It gathers what waits into one
// transaction with a savepoint around each unit, so that a hundred writes
// cost one sync of the file and none undoes another.
type writer struct {
	opts    Options
	conn    *Conn
	queue   chan *job
	stop    context.CancelFunc
	stopped <-chan struct{}
	ended   chan struct{}
}

func newWriter(opts Options) *writer {
	ctx, stop := context.WithCancel(context.Background())
	return &writer{
		opts:    opts,
		queue:   make(chan *job, opts.WriteQueue),
		stop:    stop,
		stopped: ctx.Done(),
		ended:   make(chan struct{}),
	}
}

// do queues a job and waits for it.
func (w *writer) do(ctx context.Context, j *job) error {
	select {
	case w.queue <- j:
	case <-ctx.Done():
		return unavailable(w.opts.Path, ctx.Err())
	case <-w.stopped:
		return unavailable(w.opts.Path, errClosed)
	}
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		if j.state.CompareAndSwap(waiting, withdrawn) {
			return unavailable(w.opts.Path, ctx.Err())
		}
		return fmt.Errorf("%w: %w", proxy.ErrUnknownOutcome, ctx.Err())
	case <-w.ended:
	}
	select {
	case <-j.done: // it ended with this job done
		return nil
	default:
		return unavailable(w.opts.Path, errClosed)
	}
}

func (w *writer) run() {
	defer close(w.ended)
	defer func() {
		if w.conn != nil {
			w.conn.Close()
		}
	}()
	for {
		select {
		case j := <-w.queue:
			w.commit(w.gather(j))
		case <-w.stopped:
			return
		}
	}
}

func (w *writer) close() {
	w.stop()
	<-w.ended
}

// gather takes what waits behind a job.
func (w *writer) gather(j *job) []*job {
	group, n := []*job{j}, len(j.units)
	for n < maxGroup {
		select {
		case j := <-w.queue:
			group, n = append(group, j), n+len(j.units)
		default:
			return group
		}
	}
	return group
}

// commit carries out a group. If the transaction fails as a whole, each unit
// gets one of its own: only the one at fault is to suffer.
func (w *writer) commit(group []*job) {
	var all []unit
	err := w.transact(func() []unit {
		for _, j := range group {
			if j.state.CompareAndSwap(waiting, begun) {
				all = append(all, j.sound()...)
			}
		}
		return all
	})
	switch {
	case err == nil:
	case len(all) == 0: // it could not even begin
		for _, j := range group {
			if j.state.CompareAndSwap(waiting, begun) {
				failAll(j.sound(), err)
			}
		}
	case len(all) == 1 || errors.Is(err, proxy.ErrUnknownOutcome):
		failAll(all, err)
	default:
		for _, u := range all {
			u.fail(nil)
			if err := w.transact(func() []unit { return []unit{u} }); err != nil {
				u.fail(err)
			}
		}
	}
	for _, j := range group {
		close(j.done)
	}
}

// sound returns the units that can be carried out at all.
func (j *job) sound() []unit {
	var sound []unit
	for _, u := range j.units {
		if u[0].err == nil {
			sound = append(sound, u)
		}
	}
	return sound
}

func failAll(units []unit, err error) {
	for _, u := range units {
		u.fail(err)
	}
}

// transact carries out what begin returns, once the file is locked, in one
// transaction. An error is of all of them: nothing was carried out, or the
// outcome is unknown.
func (w *writer) transact(begin func() []unit) error {
	ctx := context.Background() // waits are bounded by the busy timeout
	if err := w.connect(ctx); err != nil {
		return unavailable(w.opts.Path, err)
	}
	if _, err := w.conn.Exec(ctx, beginWrite); err != nil {
		w.disconnect()
		return unavailable(w.opts.Path, err)
	}
	units := begin()
	hook.At("sqlite.begun")
	for _, u := range units {
		if err := w.try(ctx, u); err != nil {
			w.conn.rollback(ctx)
			return w.fault(err)
		}
	}
	_, err := w.conn.Exec(ctx, "COMMIT")
	if err == nil {
		return nil
	}
	w.conn.rollback(ctx)
	if Code(err) == codeIOErr { // it may be in the log, or not: only the next to open the file will know
		w.disconnect()
		return fmt.Errorf("%w: %w", proxy.ErrUnknownOutcome, err)
	}
	return w.fault(err)
}

// try carries out one unit within a savepoint. It returns an error if the
// whole transaction is lost, which a trigger can demand too.
func (w *writer) try(ctx context.Context, u unit) error {
	if _, err := w.conn.Exec(ctx, "SAVEPOINT one"); err != nil {
		return err
	}
	for i := range u {
		err := u[i].carryOut(ctx, w.conn)
		if err == nil {
			continue
		}
		r := rejection(err)
		if r == nil {
			return err
		}
		if _, gone := w.conn.Exec(ctx, "ROLLBACK TO one"); gone != nil {
			return err
		}
		u.fail(r)
		break
	}
	_, err := w.conn.Exec(ctx, "RELEASE one")
	return err
}

func (w *writer) fault(err error) error {
	if r := rejection(err); r != nil {
		return r
	}
	return unavailable(w.opts.Path, err)
}

// connect opens the file, or opens it again if another lies under its path.
// Foreign keys are enforced: who declares them means them.
func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn != nil && w.conn.Current() {
		return nil
	}
	w.disconnect()
	if w.conn, err = Dial(ctx, w.opts.Path, w.opts.BusyTimeout); err != nil {
		return err
	}
	if _, err = w.conn.Exec(ctx, "PRAGMA foreign_keys = ON"); err != nil {
		w.disconnect()
	}
	return err
}

func (w *writer) disconnect() {
	if w.conn != nil {
		w.conn.Close()
		w.conn = nil
	}
}
