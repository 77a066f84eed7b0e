package sqlite

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// The bounds of what one poll takes along.
const (
	maxImageBytes  = 256 << 10 // a larger row makes no image: the record has to fit into the topic
	maxImagesBytes = 8 << 20   // of all images of a poll
	maxKeyBytes    = 64 << 10  // of a row's logged columns; keys have 512
)

// outboxRow is one row of the outbox.
type outboxRow struct {
	seq      uint64
	table    string
	op       string
	old, new []logged
}

// logged is one column of a changed row.
type logged struct {
	name  string
	class byte // n, i, r, t or b
	value []byte
}

// read returns the rows behind a sequence.
func (l *Log) read(ctx context.Context, after uint64) ([]outboxRow, error) {
	var rows []outboxRow
	err := l.conn.Query(ctx, func(v []any) error {
		r := outboxRow{seq: uint64(v[0].(int64)), table: v[1].(string), op: v[2].(string)}
		var errOld, errNew error
		r.old, errOld = parse(v[3])
		r.new, errNew = parse(v[4])
		if errOld != nil || errNew != nil {
			r.op = opSchema // nobody knows which row it was
		}
		rows = append(rows, r)
		return nil
	}, `SELECT seq, tbl, op, old, new FROM `+sqlite.OutboxTable+` WHERE seq > ? ORDER BY seq LIMIT ?`, int64(after), l.opts.BatchRows)
	return rows, err
}

// parse reads what keysOf wrote.
func parse(value any) ([]logged, error) {
	text, ok := value.(string)
	if !ok {
		return nil, nil
	}
	if len(text) > 2*maxKeyBytes {
		return nil, fmt.Errorf("the keys of a row take more than %d bytes", maxKeyBytes)
	}
	var out []logged
	for _, item := range strings.Split(text, ",") {
		name, rest, ok := strings.Cut(item, ":")
		if !ok || rest == "" || strings.IndexByte("nirtb", rest[0]) < 0 {
			return nil, fmt.Errorf("column %q is not in the outbox's format", item)
		}
		n, err := hex.DecodeString(name)
		if err != nil {
			return nil, err
		}
		v, err := hex.DecodeString(rest[1:])
		if err != nil {
			return nil, err
		}
		out = append(out, logged{name: string(n), class: rest[0], value: v})
	}
	return out, nil
}

// changes makes the rows of a poll into changes. If they are all there is,
// the last change of each row takes the row along as it now is.
func (l *Log) changes(ctx context.Context, rows []outboxRow, complete bool) ([]relay.Change, error) {
	var out []relay.Change
	for i := range rows {
		out = l.append(out, &rows[i])
	}
	if !complete {
		return out, nil
	}
	last := map[string]int{}
	for i, c := range out {
		if c.Row != nil {
			last[c.Table+"\x00"+string(c.Row)] = i
		}
	}
	left := maxImagesBytes
	ctx = context.WithoutCancel(ctx) // each row takes microseconds, and watching ctx would double them
	for i := range out {
		c := &out[i]
		if c.Row == nil || last[c.Table+"\x00"+string(c.Row)] != i {
			continue
		}
		c.Last = true
		if (c.Op == event.Insert || c.Op == event.Update) && left > 0 {
			size, err := l.image(ctx, c)
			if err != nil {
				return nil, err
			}
			left -= size
		}
	}
	return out, nil
}

// append adds what one row of the outbox says.
func (l *Log) append(out []relay.Change, r *outboxRow) []relay.Change {
	t := l.known(r.table)
	add := func(op event.Op, at proxy.Position, before, after []logged) {
		c := relay.Change{Position: at, Change: event.Change{Table: r.table, Op: op, Commit: l.hidden(r.seq)}}
		of := before
		if of == nil {
			of = after
		}
		if c.Row = t.primaryKey(of); c.Row == nil { // nothing tells which row it is
			c.Op = event.SchemaChanged
		} else {
			c.Before, c.After = fields(before), fields(after)
		}
		out = append(out, c)
	}
	switch first := firstOf(r.seq); r.op {
	case opInsert:
		add(event.Insert, first, nil, r.new)
	case opDelete:
		add(event.Delete, first, r.old, nil)
	case opTouch:
		add(event.Touch, first, r.old, nil)
	case opUpdate:
		if bytes.Equal(t.primaryKey(r.old), t.primaryKey(r.new)) {
			add(event.Update, first, r.old, r.new)
			break
		}
		add(event.Delete, first, r.old, nil)
		add(event.Insert, lastOf(r.seq), nil, r.new)
	default:
		add(event.SchemaChanged, first, nil, nil)
	}
	return out
}

func (l *Log) known(name string) *table {
	for _, t := range l.tables {
		if t.name == name {
			return t
		}
	}
	return nil
}

// primaryKey tells a row from all others of its table; nil if the table, or a
// column of the key, is not there.
func (t *table) primaryKey(columns []logged) []byte {
	if t == nil || t.is == nil {
		return nil
	}
	var key []byte
	for _, name := range t.is.Primary {
		c := find(columns, name)
		if c == nil {
			return nil
		}
		key = append(row.AppendPart(append(key, c.class), c.value), ':')
	}
	return key
}

func find(columns []logged, name string) *logged {
	for i := range columns {
		if columns[i].name == name {
			return &columns[i]
		}
	}
	return nil
}

// fields gives logged columns the form of a change.
func fields(columns []logged) []row.Field {
	if columns == nil {
		return nil
	}
	fields := make([]row.Field, len(columns))
	for i, c := range columns {
		fields[i] = row.Field{Name: c.name, Kind: kindOf(c.class), Value: c.value}
	}
	return fields
}

func kindOf(class byte) row.Kind {
	switch class {
	case 'i', 'r':
		return row.Number
	case 't':
		return row.Text
	case 'b':
		return row.Bytes
	}
	return row.Null
}

// image completes a change by the row as the snapshot has it. If the row is
// gone, or its key has no exact form here, the change stays incomplete.
func (l *Log) image(ctx context.Context, c *relay.Change) (size int, err error) {
	t := l.known(c.Table)
	args := make([]any, 0, len(t.is.Primary))
	for _, name := range t.is.Primary {
		arg, ok := argument(c.After, name)
		if !ok {
			return 0, nil
		}
		args = append(args, arg)
	}
	err = l.conn.Query(ctx, func(values []any) error {
		after := make([]row.Field, len(values))
		for i, v := range values {
			after[i] = sqlite.Field(t.is.Columns[i].Name, v)
			size += len(after[i].Value)
		}
		if size <= maxImageBytes {
			c.After = after
		}
		return nil
	}, t.find, args...)
	return size, err
}

// argument returns the exact value of a column of a primary key. A real went
// through a text of 15 digits and is not exact; NULL equals nothing.
func argument(fields []row.Field, name string) (any, bool) {
	for _, f := range fields {
		if f.Name != name {
			continue
		}
		switch f.Kind {
		case row.Text:
			return string(f.Value), true
		case row.Bytes:
			return append([]byte{}, f.Value...), true
		case row.Number:
			n, err := strconv.ParseInt(string(f.Value), 10, 64)
			return n, err == nil
		}
	}
	return nil, false
}
