package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// maxTries bounds how often a transaction is tried that lost to others. Before
// it is tried again it waits up to backoff, doubled each time: two that lock
// each other out would meet again at once.
const (
	maxTries = 7
	backoff  = 5 * time.Millisecond
)

// beginWrite: a write waits for those before it and sees what they wrote,
// where a repeatable read would be refused.
const beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

// Apply carries out the writes in order, each in a transaction of its own or
// of those it is joined with.
func (s *Source) Apply(ctx context.Context, writes []proxy.Write, results []proxy.Written) {
	for first := 0; first < len(writes); {
		end := first + 1
		for end < len(writes) && writes[end].Joined {
			end++
		}
		if err := s.applyOne(ctx, writes[first:end], results[first:end]); err != nil {
			for i := first; i < end; i++ {
				results[i] = proxy.Written{Err: err}
			}
		}
		first = end
	}
}

// applyOne carries out one transaction. It is tried again as long as it is
// sure that nothing was carried out and the same may succeed.
func (s *Source) applyOne(ctx context.Context, writes []proxy.Write, results []proxy.Written) error {
	for i := range writes {
		if writes[i].Key.UseCase.Mapping.ReadOnly {
			return proxy.ErrReadOnly
		}
	}
	fresh := false
	for try := 1; ; try++ {
		reused, err := s.primary.use(ctx, fresh, func(c *Conn) error {
			if !c.alive(ctx) {
				return pgconn.ErrConnClosed
			}
			return s.patiently(ctx, c, mappingsOf(writes), func() error { return s.transact(ctx, c, writes, results) })
		})
		var unknown *unknownError
		is := classify(err)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &unknown):
			return fmt.Errorf("%w: %w", proxy.ErrUnknownOutcome, unknown.err)
		case is == isLost && reused && ctx.Err() == nil:
			fresh = true
			continue
		case is == isConflict && try < maxTries && pause(ctx, rand.N(backoff<<try)):
			continue
		}
		return s.refusal(is, err)
	}
}

// pause reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// refusal is what the caller is told of a transaction that was not carried
// out.
func (s *Source) refusal(is class, err error) error {
	var pg *pgconn.PgError
	var rejected *proxy.RejectedError
	var key *proxy.BadKeyError
	switch {
	case errors.As(err, &rejected), errors.As(err, &key):
		return err
	case is == isReadOnly:
		return proxy.ErrReadOnly
	case is == isRejected && errors.As(err, &pg):
		return &proxy.RejectedError{Reason: pg.Message}
	}
	return unavailable(s.primaryOnly(err))
}

func mappingsOf(writes []proxy.Write) func(yield func(*row.Mapping) bool) {
	return func(yield func(*row.Mapping) bool) {
		for i := range writes {
			if !yield(writes[i].Key.UseCase.Mapping) {
				return
			}
		}
	}
}

// unknownError: it cannot be known whether the transaction was committed.
type unknownError struct{ err error }

func (e *unknownError) Error() string { return e.err.Error() }

// transact carries out writes in one transaction. After an error other than
// unknownError, nothing was carried out.
func (s *Source) transact(ctx context.Context, c *Conn, writes []proxy.Write, results []proxy.Written) error {
	changes := make([]*change, len(writes))
	for i := range writes {
		r, err := s.cases[writes[i].Key.UseCase.Mapping].current(ctx, c)
		if err != nil {
			return err
		}
		if r.err != nil {
			return r.err
		}
		if changes[i], err = r.compile(&writes[i]); err != nil {
			return err
		}
	}
	if len(changes) == 1 && !writes[0].Old {
		return c.alone(ctx, changes[0], &results[0])
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	for i, ch := range changes {
		if err := c.carryOut(ctx, ch, &results[i]); err != nil {
			return err
		}
	}
	return c.commit(ctx, nil)
}

// alone carries out one write in one round trip.
func (c *Conn) alone(ctx context.Context, ch *change, result *proxy.Written) error {
	for range maxTries {
		st := ch.statement()
		if err := c.commit(ctx, append(c.opening(beginWrite), st)); err != nil {
			return err
		}
		*result = proxy.Written{Done: st.changed > 0}
		if result.Done || ch.conditional() {
			break
		}
	}
	return nil
}

func (c *Conn) begin(ctx context.Context) error {
	done, err := c.do(ctx, c.opening(beginWrite)...)
	return notPrimary(err, done)
}

// commit ends the transaction, with commands before that. A server that
// refuses one of them says so; if the connection ends instead, nobody knows,
// unless the answer to the commit had come.
func (c *Conn) commit(ctx context.Context, commands []*command) error {
	commands = append(commands, &command{sql: "COMMIT"})
	done, err := c.do(ctx, commands...)
	var pg *pgconn.PgError
	switch {
	case done == len(commands):
		return nil
	case done < 0, errors.As(err, &pg) && classify(err) != isLost:
		return notPrimary(err, done)
	}
	return &unknownError{err}
}

// conditional reports whether it is no wonder if the write does nothing.
func (ch *change) conditional() bool {
	return ch.write.Op == proxy.Delete || ch.write.If != proxy.Always
}

// carryOut does one write of a transaction.
func (c *Conn) carryOut(ctx context.Context, ch *change, result *proxy.Written) error {
	for range maxTries {
		st := ch.statement()
		*result = proxy.Written{}
		if ch.write.Old {
			var err error
			if result.Old, err = c.lock(ctx, ch); err != nil {
				return err
			}
			if st = ch.knowing(result.Old.Exists()); st == nil {
				return nil
			}
		}
		if _, err := c.do(ctx, st); err != nil {
			return err
		}
		// With the old row shown, an insert that did nothing has met a row that
		// was not there when it was looked for.
		if result.Done = st.changed > 0; result.Done || ch.conditional() && !ch.write.Old {
			return nil
		}
	}
	return nil
}

// knowing is the statement that is left of the write once it is known, and
// held, whether the row is there; nil: none.
func (ch *change) knowing(exists bool) *command {
	w := ch.write
	switch {
	case w.Op == proxy.Delete && exists:
		return ch.remove()
	case w.Op == proxy.Delete, w.If == proxy.IfAbsent && exists, w.If == proxy.IfPresent && !exists:
		return nil
	case exists:
		return ch.update()
	}
	return ch.insert()
}

// lock reads the row as it is and keeps others from changing it.
func (c *Conn) lock(ctx context.Context, ch *change) (old row.Row, err error) {
	_, err = c.do(ctx, ch.lock(func(fields []pgconn.FieldDescription, values [][]byte) (err error) {
		if err = ch.reading.verify(fields); err == nil {
			_, old, err = ch.reading.decode(ch.write.Key.UseCase.Mapping, values)
		}
		return err
	}))
	return old, err
}
