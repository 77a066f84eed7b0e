package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// fewKeys is up to how many keys of a use case are asked for one by one: a
// statement for each costs less than one for all. Measured over loopback with
// 500,000 rows; from about eight on, one for all is faster.
const fewKeys = 7

// Load reads the rows of all keys in one snapshot, which is taken after the
// call. Use cases that read replicas are read in a snapshot of theirs, unless a
// request asks for the primary.
func (s *Source) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	var primary, replica []int
	for i := range reqs {
		if reqs[i].Key.UseCase.Mapping.Replica && !reqs[i].Primary {
			replica = append(replica, i)
		} else {
			primary = append(primary, i)
		}
	}
	if len(primary) > 0 {
		l := &load{source: s, reqs: reqs, results: results, at: primary}
		l.fail(s.primaryOnly(s.primary.read(ctx, func(c *Conn) error {
			return s.patiently(ctx, c, l.mappings, func() error { return l.fromPrimary(ctx, c) })
		})))
	}
	if len(replica) > 0 {
		l := &load{source: s, reqs: reqs, results: results, at: replica}
		l.fail(s.fromReplicas(ctx, l))
	}
}

// load is those requests of a call that one server answers.
type load struct {
	source  *Source
	reqs    []proxy.Request
	results []proxy.Result
	at      []int // their places
}

func (l *load) fail(err error) {
	if err == nil {
		return
	}
	err = unavailable(err)
	for _, i := range l.at {
		l.results[i] = proxy.Result{Err: err}
	}
}

// mappings walks those that are asked for.
func (l *load) mappings(yield func(*row.Mapping) bool) {
	seen := map[*row.Mapping]bool{}
	for _, i := range l.at {
		m := l.reqs[i].Key.UseCase.Mapping
		if !seen[m] && !yield(m) {
			return
		}
		seen[m] = true
	}
}

// group is the requests of one use case.
type group struct {
	useCase *useCase
	reading *reading
	at      []int    // their places
	args    [][]byte // of each key's parts, key by key
}

// groups sorts the requests by use case and binds their keys. What is wrong
// with one key or use case goes into its results.
func (l *load) groups(ctx context.Context, c *Conn) ([]*group, error) {
	var all []*group
	of := map[*proxy.UseCase]*group{}
	for _, i := range l.at {
		u := l.reqs[i].Key.UseCase
		g := of[u]
		if g == nil {
			g = &group{useCase: l.source.cases[u.Mapping]}
			var err error
			if g.reading, err = g.useCase.current(ctx, c); err != nil {
				return nil, err
			}
			of[u] = g
			all = append(all, g)
		}
		l.results[i] = proxy.Result{Pinned: g.reading.pinned}
		args, err := bindKey(l.reqs[i].Key)
		switch {
		case g.reading.err != nil:
			l.results[i].Err = unavailable(g.reading.err)
		case err != nil:
			l.results[i].Err = err
		default:
			g.at, g.args = append(g.at, i), append(g.args, args...)
		}
	}
	return all, nil
}

// fromPrimary reads the rows, and who is the primary.
func (l *load) fromPrimary(ctx context.Context, c *Conn) error {
	groups, err := l.groups(ctx, c)
	if err != nil {
		return err
	}
	var head Head
	if len(groups) == 1 && len(groups[0].at) == 1 {
		err = c.statement(ctx, true, l.single(groups[0], &head))
	} else {
		err = c.snapshot(ctx, true, tables(groups), append([]*command{c.headCommand(&head, repeatable)}, l.rows(groups)...)...)
	}
	if err != nil {
		return err
	}
	if err := head.judge(); err != nil {
		return err
	}
	for _, g := range groups {
		for _, i := range g.at {
			l.results[i].Position, l.results[i].Primary, l.results[i].Horizon = head.Position(), head.Identity, head.horizon
		}
	}
	return nil
}

// single asks for one row and the head in one statement.
func (l *load) single(g *group, h *Head) *command {
	return &command{sql: g.reading.one, args: g.args, row: func(fields []pgconn.FieldDescription, v [][]byte) (err error) {
		if *h, err = parseHead(v, committed); err != nil {
			return err
		}
		return l.take(g, fields[headColumns:], v[headColumns:], g.at)
	}}
}

// tables are those that groups are read from.
func tables(groups []*group) (names []string) {
	for _, g := range groups {
		if len(g.at) > 0 {
			names = append(names, g.reading.table.Name.SQL())
		}
	}
	return names
}

// rows makes the statements that ask for the rows of groups.
func (l *load) rows(groups []*group) []*command {
	var commands []*command
	for _, g := range groups {
		switch width := len(g.useCase.mapping.Columns); {
		case len(g.at) == 0:
		case len(g.at) <= fewKeys:
			for n := range g.at {
				at := g.at[n : n+1]
				commands = append(commands, &command{sql: g.reading.find, args: g.args[n*width : (n+1)*width],
					row: func(fields []pgconn.FieldDescription, v [][]byte) error { return l.take(g, fields, v, at) }})
			}
		default:
			commands = append(commands, l.many(g, width))
		}
	}
	return commands
}

// many asks for the rows of all keys of a group in one statement.
func (l *load) many(g *group, width int) *command {
	args := make([][]byte, width)
	column := make([][]byte, len(g.at))
	for k := range args {
		for n := range g.at {
			column[n] = g.args[n*width+k]
		}
		args[k] = array(column)
	}
	places := make(map[string][]int, len(g.at))
	for _, i := range g.at {
		text := string(l.reqs[i].Key.Text)
		places[text] = append(places[text], i)
	}
	return &command{sql: g.reading.many, args: args, row: func(fields []pgconn.FieldDescription, v [][]byte) error {
		if err := g.reading.verify(fields); err != nil {
			return err
		}
		key, value, err := g.reading.decode(g.useCase.mapping, v)
		if err != nil {
			return err
		}
		for _, i := range places[string(key)] {
			if err := l.put(i, value); err != nil {
				return err
			}
		}
		return nil
	}}
}

// take gives a row to the one request at at.
func (l *load) take(g *group, fields []pgconn.FieldDescription, v [][]byte, at []int) error {
	if err := g.reading.verify(fields); err != nil {
		return err
	}
	key, value, err := g.reading.decode(g.useCase.mapping, v)
	if err != nil || string(key) != string(l.reqs[at[0]].Key.Text) {
		return err
	}
	return l.put(at[0], value)
}

// put is refused if there is a row already: nothing keeps the key unique any
// more.
func (l *load) put(i int, value row.Row) error {
	if l.results[i].Row.Exists() {
		return errStale
	}
	l.results[i].Row = value
	return nil
}
