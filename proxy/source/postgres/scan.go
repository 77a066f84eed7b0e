package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Scan implements proxy.Scanner, in the order of the index that makes the key
// unique.
func (s *Source) Scan(ctx context.Context, u *proxy.UseCase, after []byte, count int) (keys [][]byte, err error) {
	p := s.primary
	if u.Mapping.Replica {
		p = s.replicas[s.turn.Add(1)%uint64(len(s.replicas))]
	}
	only := func(yield func(*row.Mapping) bool) { yield(u.Mapping) }
	err = p.read(ctx, func(c *Conn) error {
		return s.patiently(ctx, c, only, func() (err error) {
			keys, err = s.scan(ctx, c, u, after, count)
			return err
		})
	})
	if err = s.primaryOnly(err); err != nil {
		return nil, unavailable(err)
	}
	return keys, nil
}

func (s *Source) scan(ctx context.Context, c *Conn, u *proxy.UseCase, after []byte, count int) (keys [][]byte, err error) {
	r, err := s.cases[u.Mapping].current(ctx, c)
	if err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, r.err
	}
	query, args := r.scanFirst, [][]byte(nil)
	if after != nil {
		query = r.scanAfter
		if args, err = bindKey(proxy.Key{UseCase: u, Text: after}); err != nil {
			return nil, err
		}
	}
	var head Head
	page := &command{
		sql: query, args: append(args, []byte(strconv.Itoa(count))),
		row: func(fields []pgconn.FieldDescription, v [][]byte) error {
			parts := make([]row.Field, len(v))
			for i, column := range r.columns[:len(v)] {
				if fields[i].DataTypeOID != column.Type {
					return errStale
				}
				parts[i] = column.Field(v[i])
			}
			if key, ok := u.Mapping.Key(parts); ok {
				keys = append(keys, key)
			}
			return nil
		},
	}
	if u.Mapping.Replica {
		err = c.statement(ctx, false, page)
		return keys, err
	}
	if err = c.snapshot(ctx, true, []string{r.table.Name.SQL()}, c.headCommand(&head, repeatable), page); err != nil {
		return nil, err
	}
	return keys, head.judge()
}

// scans are the statements that list the first keys, and those behind one.
func (r *reading) scans(selected, table string) (first, after string) {
	columns, places := make([]string, len(r.shape.index)), make([]string, len(r.shape.index))
	for i, name := range r.shape.index {
		k := slices.IndexFunc(r.shape.key, func(k row.KeyColumn) bool { return k.Name == name })
		columns[i], places[i] = "t."+quote(name), fmt.Sprintf("$%d::%s", k+1, keyTypes[r.shape.key[k].Kind])
	}
	order := strings.Join(columns, ", ")
	query := "SELECT " + selected + " FROM " + table
	behind := " WHERE (" + order + ") > (" + strings.Join(places, ", ") + ")"
	limit := func(place int) string { return fmt.Sprintf(" ORDER BY %s LIMIT $%d::int8", order, place) }
	return query + limit(1), query + behind + limit(len(columns)+1)
}
