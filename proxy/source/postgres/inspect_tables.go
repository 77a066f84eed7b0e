package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Inspected is the table of one use case.
type Inspected struct {
	Spec      row.Spec
	Name      Name
	Missing   error  // there is no such table, or its name cannot be read; nil: there is
	Table     *Table // nil with Missing
	Key       []string
	Unfit     error // what keeps it from being a use case, beside what it is judged by one by one
	Owned     bool  // by this user
	Writable  bool
	Published Membership
}

// Membership is what a publication has of a table.
type Membership struct {
	In      bool
	Rows    bool   // only those that a filter lets through
	Columns bool   // only those of a list
	Above   string // a table that it is a partition of, and that is published in its place; "": none
}

func inspectTables(ctx context.Context, c *Conn, specs []row.Spec, publication string) ([]Inspected, error) {
	out := make([]Inspected, len(specs))
	for i, spec := range specs {
		t := &out[i]
		t.Spec = spec
		if t.Name, t.Missing = ParseName(spec.Table); t.Missing != nil {
			continue
		}
		if err := t.inspect(ctx, c, publication); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *Inspected) inspect(ctx context.Context, c *Conn, publication string) (err error) {
	var unfit *UnfitError
	t.Table, err = Describe(ctx, c, t.Name)
	if errors.As(err, &unfit) {
		t.Missing = unfit
		return nil
	}
	if err != nil {
		return err
	}
	if t.Key = t.Spec.Key; len(t.Key) == 0 {
		t.Key = t.Table.Primary()
	}
	_, t.Unfit = fit(t.Spec, t.Table.mended())
	return c.Query(ctx, func(v [][]byte) error {
		t.Owned, t.Writable = yes(v[0]), yes(v[1])
		t.Published = Membership{In: yes(v[2]), Rows: yes(v[3]), Columns: yes(v[4]), Above: string(v[5])}
		return nil
	}, membershipQuery, t.Name.Schema, t.Name.Table, publication)
}

// mended is the table with everything set right that an Inspected shows.
func (t *Table) mended() *Table {
	m := *t
	m.Readable, m.Leaves = true, slices.Clone(t.Leaves)
	for i := range m.Leaves {
		m.Leaves[i].Logged, m.Leaves[i].Full = true, true
	}
	return &m
}

// Unidentified returns the leaves whose old rows the log does not name by these
// columns and the primary key.
func (t *Table) Unidentified(key []string) (leaves []Leaf) {
	for _, l := range t.Leaves {
		missing := func(column string) bool { return !slices.Contains(l.Identity, column) }
		if !l.Full && (slices.ContainsFunc(key, missing) || slices.ContainsFunc(t.Primary(), missing)) {
			leaves = append(leaves, l)
		}
	}
	return leaves
}

// What a publication has of a table by its name, its schema or all tables, and
// what it has of those that the table is a partition of.
const membershipQuery = `WITH RECURSIVE above (oid) AS (
	SELECT i.inhparent FROM pg_class AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid WHERE` + ofTable + ` AND c.relispartition
	UNION ALL SELECT i.inhparent FROM above AS a JOIN pg_inherits AS i ON i.inhrelid = a.oid)
	SELECT pg_has_role(c.relowner, 'USAGE'),
		has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'),
		coalesce(p.puballtables OR r.oid IS NOT NULL OR s.oid IS NOT NULL, false),
		r.prqual IS NOT NULL, r.prattrs IS NOT NULL,
		(SELECT n.nspname || '.' || u.relname FROM above AS a JOIN pg_class AS u ON u.oid = a.oid JOIN pg_namespace AS n ON n.oid = u.relnamespace
			WHERE p.puballtables OR EXISTS (SELECT FROM pg_publication_rel AS ur WHERE ur.prpubid = p.oid AND ur.prrelid = a.oid)
			OR EXISTS (SELECT FROM pg_publication_namespace AS us WHERE us.pnpubid = p.oid AND us.pnnspid = u.relnamespace) LIMIT 1)
	FROM pg_class AS c LEFT JOIN pg_publication AS p ON p.pubname = $3
	LEFT JOIN pg_publication_rel AS r ON r.prpubid = p.oid AND r.prrelid = c.oid
	LEFT JOIN pg_publication_namespace AS s ON s.pnpubid = p.oid AND s.pnnspid = c.relnamespace
	WHERE` + ofTable

// Publication is a publication as the catalog has it.
type Publication struct {
	Name    string
	Found   bool
	Owned   bool // by this user
	Omits   []string
	ViaRoot bool // partitions are published under the name of their table
}

const publicationQuery = `SELECT pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot, pg_has_role(pubowner, 'USAGE')
	FROM pg_publication WHERE pubname = $1`

func (p *Publication) inspect(ctx context.Context, c *Conn, name string) error {
	p.Name = name
	return c.Query(ctx, func(v [][]byte) error {
		p.Found, p.ViaRoot, p.Owned = true, yes(v[4]), yes(v[5])
		for i, operation := range []string{"insert", "update", "delete", "truncate"} {
			if !yes(v[i]) {
				p.Omits = append(p.Omits, operation)
			}
		}
		return nil
	}, publicationQuery, name)
}
