package part

import (
	"slices"
	"strconv"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// images is how changes look in the logs of other databases than the one that
// is there. None of it may make a difference to what is answered.
type images struct {
	between    bool // a change that is not its row's last brings an image, too
	incomplete bool // one in three images lacks the value, as it did not change
	truncates  bool // a delete comes as a truncate of the whole table
}

func (m *images) any() bool { return m.between || m.incomplete || m.truncates }

// change makes a change look so.
func (m *images) change(r *event.Record) {
	c := r.Change
	switch {
	case c.Op == event.Delete && m.truncates:
		r.Change = &event.Change{Table: c.Table, Op: event.Truncate, Tx: c.Tx, Commit: c.Commit}
	case c.Op != event.Insert && c.Op != event.Update:
	case m.between && !c.Last:
		c.After = imageBetween(c.After)
	case m.incomplete && c.Last && r.Position.Commit%3 == 0:
		c.After = slices.Clone(c.After)
		for i := range c.After {
			if c.After[i].Name == table.Value {
				c.After[i] = row.Field{Name: table.Value, Kind: row.Unknown}
			}
		}
	}
}

// valueBetween is the value of a row that nobody may ever see: no write has it,
// and nobody can take it for one.
const valueBetween = "nobody may see this"

// imageBetween completes the columns that are logged of every change by those
// that the row had for as long as its transaction went on.
func imageBetween(logged []row.Field) []row.Field {
	i := slices.IndexFunc(logged, func(f row.Field) bool { return f.Name == "id" })
	if i < 0 {
		return logged
	}
	id, err := strconv.Atoi(string(logged[i].Value))
	if err != nil {
		return logged
	}
	return []row.Field{
		{Name: "id", Kind: row.Number, Value: logged[i].Value},
		{Name: table.Alias, Kind: row.Text, Value: []byte(table.AliasOf(id))},
		{Name: "grp", Kind: row.Number, Value: strconv.AppendInt(nil, int64(id%table.Groups), 10)},
		{Name: table.Value, Kind: row.Text, Value: []byte(valueBetween)},
	}
}

// untilBetween returns values up to the first image of a change that is not its
// row's last, and what follows it.
func untilBetween(values [][]byte) (until, rest [][]byte) {
	for i, v := range values {
		r, err := event.Decode(v)
		if err == nil && r.Change != nil && !r.Change.Last && len(r.Change.After) > 2 {
			return values[:i+1], values[i+1:]
		}
	}
	return values, nil
}
