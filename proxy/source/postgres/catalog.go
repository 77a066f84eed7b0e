package postgres

import (
	"context"
	"strconv"
)

// Column is one column of a table.
type Column struct {
	Name      string
	Number    int    // attnum
	Type      uint32 // pg_type's number of the base type: a domain is what it is over
	Declared  string // the declared type as SQL spells it
	NotNull   bool
	Generated bool // computed by the database; the log does not carry it
	// Bytewise: values that compare equal are the same bytes, as far as the
	// collation decides it.
	Bytewise  bool
	Collation string // as SQL spells it; empty: the type has none
}

// Index is one unique index.
type Index struct {
	Name     string
	Columns  []string // in the index's order; an expression is ""
	Primary  bool
	Deferred bool // checked at the end of a transaction, or not at once
	Partial  bool
	Usable   bool // valid, a B-tree, comparing each column as the column itself does
}

// Leaf is one table in which rows lie: the table itself, or a partition.
type Leaf struct {
	Name     Name
	Kind     byte     // pg_class.relkind
	Logged   bool     // its changes are in the log
	Full     bool     // REPLICA IDENTITY FULL
	Identity []string // else the columns by which the log names an old row
}

// Table is one table as the catalog describes it.
type Table struct {
	Name     Name
	OID      uint32
	Kind     byte // pg_class.relkind
	Readable bool // by this user
	Filtered bool // row security applies to this user
	Parent   bool // other tables inherit from it
	User     string
	Columns  []Column
	Unique   []Index // the primary key first
	Leaves   []Leaf
}

// Column returns the column of that name, or nil.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// Primary returns the primary key's columns in its order.
func (t *Table) Primary() []string {
	if len(t.Unique) > 0 && t.Unique[0].Primary {
		return t.Unique[0].Columns
	}
	return nil
}

// Describe reads a table from the catalog, as of one snapshot. The error says
// if there is none, and how to mend it.
func Describe(ctx context.Context, c *Conn, name Name) (*Table, error) {
	t := &Table{Name: name}
	args := [][]byte{[]byte(name.Schema), []byte(name.Table)}
	var near []string
	err := c.snapshot(ctx, false, nil,
		&command{sql: tableQuery, args: args, row: rows(t.readTable)},
		&command{sql: columnsQuery, args: args, row: rows(t.readColumn)},
		&command{sql: indexesQuery, args: args, row: rows(t.readIndexColumn)},
		&command{sql: leavesQuery, args: args, row: rows(t.readLeafColumn)},
		&command{sql: nearQuery, args: args, row: rows(func(v [][]byte) error {
			near = append(near, Name{string(v[0]), string(v[1])}.String())
			return nil
		})},
	)
	switch {
	case err != nil:
		return nil, err
	case t.OID == 0 && len(near) > 0:
		return nil, unfit("there is no table %s, but %s: spell the use case's table so", name, near[0])
	case t.OID == 0:
		return nil, unfit("there is no table %s: create it, or correct the use case's table (a name without a schema is in schema public)", name)
	}
	return t, nil
}

const ofTable = ` c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1) AND c.relname = $2`

const tableQuery = `SELECT c.oid, c.relkind, has_schema_privilege(c.relnamespace, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),
	row_security_active(c.oid), c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits AS i WHERE i.inhparent = c.oid), current_user
	FROM pg_class AS c WHERE` + ofTable

func (t *Table) readTable(v [][]byte) error {
	oid, err := strconv.ParseUint(string(v[0]), 10, 32)
	t.OID, t.Kind = uint32(oid), v[1][0]
	t.Readable, t.Filtered, t.Parent, t.User = yes(v[2]), yes(v[3]), yes(v[4]), string(v[5])
	return err
}

const columnsQuery = `SELECT a.attname, a.attnum, base.oid, quote_ident(tn.nspname) || '.' || quote_ident(ty.typname),
	a.attnotnull, a.attgenerated <> '', coalesce(co.collisdeterministic, true),
	quote_ident(cn.nspname) || '.' || quote_ident(co.collname)
	FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	JOIN pg_type AS ty ON ty.oid = a.atttypid JOIN pg_namespace AS tn ON tn.oid = ty.typnamespace
	LEFT JOIN pg_collation AS co ON co.oid = a.attcollation LEFT JOIN pg_namespace AS cn ON cn.oid = co.collnamespace
	CROSS JOIN LATERAL (
		WITH RECURSIVE d (oid, kind, under) AS (
			SELECT ty.oid, ty.typtype, ty.typbasetype
			UNION ALL SELECT u.oid, u.typtype, u.typbasetype FROM d JOIN pg_type AS u ON u.oid = d.under WHERE d.kind = 'd')
		SELECT d.oid FROM d WHERE d.kind <> 'd') AS base
	WHERE` + ofTable + ` ORDER BY a.attnum`

func (t *Table) readColumn(v [][]byte) error {
	number, err := strconv.Atoi(string(v[1]))
	if err != nil {
		return err
	}
	oid, err := strconv.ParseUint(string(v[2]), 10, 32)
	t.Columns = append(t.Columns, Column{
		Name: string(v[0]), Number: number, Type: uint32(oid), Declared: string(v[3]),
		NotNull: yes(v[4]), Generated: yes(v[5]), Bytewise: yes(v[6]), Collation: string(v[7]),
	})
	return err
}

// An operator class of the system's own compares the types that keys may have
// byte by byte.
const indexesQuery = `SELECT x.relname, i.indisprimary, NOT i.indimmediate, i.indpred IS NOT NULL,
	i.indisvalid AND i.indisready AND am.amname = 'btree', a.attname,
	i.indcollation[k.n] = a.attcollation AND oc.opcnamespace = 'pg_catalog'::regnamespace
	FROM pg_class AS c JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisunique AND i.indislive
	JOIN pg_class AS x ON x.oid = i.indexrelid JOIN pg_am AS am ON am.oid = x.relam
	CROSS JOIN LATERAL generate_series(0, i.indnkeyatts - 1) AS k (n)
	JOIN pg_opclass AS oc ON oc.oid = i.indclass[k.n]
	LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[k.n]
	WHERE` + ofTable + ` ORDER BY NOT i.indisprimary, x.relname, k.n`

func (t *Table) readIndexColumn(v [][]byte) error {
	name := string(v[0])
	if n := len(t.Unique); n == 0 || t.Unique[n-1].Name != name {
		t.Unique = append(t.Unique, Index{Name: name, Primary: yes(v[1]), Deferred: yes(v[2]), Partial: yes(v[3]), Usable: yes(v[4])})
	}
	x := &t.Unique[len(t.Unique)-1]
	x.Columns = append(x.Columns, string(v[5]))
	x.Usable = x.Usable && yes(v[6])
	return nil
}

// An identity by default is the primary key, if it is checked at once.
const leavesQuery = `WITH RECURSIVE l (oid) AS (
	SELECT c.oid FROM pg_class AS c WHERE` + ofTable + `
	UNION ALL SELECT i.inhrelid FROM l JOIN pg_class AS p ON p.oid = l.oid AND p.relkind = 'p' JOIN pg_inherits AS i ON i.inhparent = p.oid)
	SELECT n.nspname, c.relname, c.relkind, c.relpersistence = 'p', c.relreplident, a.attname
	FROM l JOIN pg_class AS c ON c.oid = l.oid AND c.relkind <> 'p' JOIN pg_namespace AS n ON n.oid = c.relnamespace
	LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisvalid AND
		(c.relreplident = 'd' AND i.indisprimary AND i.indimmediate OR c.relreplident = 'i' AND i.indisreplident)
	LEFT JOIN LATERAL generate_series(0, i.indnkeyatts - 1) AS k (n) ON true
	LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[k.n]
	ORDER BY n.nspname, c.relname, k.n`

func (t *Table) readLeafColumn(v [][]byte) error {
	name := Name{string(v[0]), string(v[1])}
	if n := len(t.Leaves); n == 0 || t.Leaves[n-1].Name != name {
		t.Leaves = append(t.Leaves, Leaf{Name: name, Kind: v[2][0], Logged: yes(v[3]), Full: v[4][0] == 'f'})
	}
	if l := &t.Leaves[len(t.Leaves)-1]; v[5] != nil {
		l.Identity = append(l.Identity, string(v[5]))
	}
	return nil
}

// What a misspelled name may mean.
const nearQuery = `SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p') AND (n.nspname = $1 OR n.nspname !~ '^pg_') AND lower(c.relname) = lower($2)
	AND (n.nspname, c.relname) <> ($1, $2) ORDER BY n.nspname <> $1, n.nspname, c.relname LIMIT 1`

func yes(value []byte) bool { return string(value) == "t" }
