package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Scan implements proxy.Scanner, in the order of the index that makes the key
// unique. A row without a key is passed over.
func (s *Source) Scan(ctx context.Context, u *proxy.UseCase, after []byte, count int) ([][]byte, error) {
	r := s.plan.Load().of[u.Mapping]
	if r.err != nil { // the table may be back
		if err := s.learn(ctx); err != nil {
			return nil, unavailable(s.opts.Path, err)
		}
		if r = s.plan.Load().of[u.Mapping]; r.err != nil {
			return nil, r.err
		}
	}
	var keys [][]byte
	err := s.readers.use(ctx, func(c *Conn) (err error) {
		keys, err = r.scan(ctx, c, u, after, count)
		return err
	})
	if err != nil {
		return nil, unavailable(s.opts.Path, err)
	}
	return keys, nil
}

func (r *reading) scan(ctx context.Context, c *Conn, u *proxy.UseCase, after []byte, count int) (keys [][]byte, err error) {
	m := u.Mapping
	query, args := r.scanFirst, []any{int64(count)}
	if after != nil {
		parts, err := bindKeyParts(proxy.Key{UseCase: u, Text: after})
		if err != nil {
			return nil, err
		}
		query, args = r.scanAfter, append(parts, int64(count))
	}
	fields := make([]row.Field, len(m.Columns))
	err = c.Query(ctx, func(values []any) error {
		for i, v := range values {
			fields[i] = Field(m.Columns[i].Name, v)
		}
		if key, ok := m.Key(fields); ok {
			keys = append(keys, key)
		}
		return nil
	}, query, args...)
	return keys, err
}

// scans are the statements that list the first keys, and those behind one.
func scans(t *Table, key []row.KeyColumn) (first, after string) {
	names := make([]string, len(key))
	var classed, order, places []string
	for i, col := range key {
		names[i] = col.Name
		classed = append(classed, "typeof(t."+Quote(col.Name)+") = '"+classes[col.Kind]+"'")
	}
	for _, name := range indexOrder(t, names) {
		i := slices.Index(names, name)
		column := "t." + Quote(name)
		if key[i].Kind == row.KeyText {
			column += " COLLATE BINARY"
		}
		order = append(order, column)
		places = append(places, fmt.Sprintf("?%d", i+1))
	}
	list := strings.Join(order, ", ")
	query := "SELECT " + valueList(names) + " FROM " + Quote(t.Name) + " AS t WHERE " + strings.Join(classed, " AND ")
	behind := " AND (" + list + ") > (" + strings.Join(places, ", ") + ")"
	limit := func(place int) string { return fmt.Sprintf(" ORDER BY %s LIMIT ?%d", list, place) }
	return query + limit(1), query + behind + limit(len(key)+1)
}

// indexOrder returns the key's columns in the order of the index that holds
// them to one row.
func indexOrder(t *Table, key []string) []string {
	for _, x := range t.Unique {
		var columns []string
		for _, c := range x.Columns {
			columns = append(columns, c.Name)
		}
		if !x.Partial && sameColumns(columns, key) {
			return columns
		}
	}
	return key
}
