package sqlite

import (
	"context"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// carryOut carries out one write in the transaction that is open. What it
// reads first stays as it is until then: the file is locked for writers.
func (st *statement) carryOut(ctx context.Context, c *Conn) error {
	if st.wantOld || st.when == proxy.IfAbsent || st.changesNothing() {
		old, err := st.readOld(ctx, c)
		if err != nil {
			return err
		}
		if st.wantOld {
			st.old = old
		}
		if old.Exists() && (st.when == proxy.IfAbsent || st.changesNothing()) {
			st.done = st.when != proxy.IfAbsent
			return nil
		}
	}
	if st.remove != "" {
		return st.exec(ctx, c, st.remove, st.key)
	}
	args := append(st.key[:len(st.key):len(st.key)], st.fields...)
	if st.update != "" && st.when != proxy.IfAbsent {
		if err := st.exec(ctx, c, st.update, args); err != nil || st.done {
			return err
		}
	}
	if st.when == proxy.IfPresent {
		return nil
	}
	return st.exec(ctx, c, st.insert, args)
}

// changesNothing reports a put of no columns: it is about whether there is a
// row.
func (st *statement) changesNothing() bool { return st.remove == "" && st.update == "" }

// readOld reads the row as the write finds it. Where a row is to be left alone
// it is needed too: an INSERT that does so may be refused for what it would
// have put in its place.
func (st *statement) readOld(ctx context.Context, c *Conn) (old row.Row, err error) {
	err = c.Query(ctx, func(values []any) error {
		old = encode(st.reading.schema, values[1:])
		return nil
	}, st.reading.find, st.key...)
	return old, err
}

func (st *statement) exec(ctx context.Context, c *Conn, query string, args []any) error {
	rows, err := c.Exec(ctx, query, args...)
	st.done = rows > 0
	return err
}
