package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// survey is what has to be done before the log has all that is mapped.
type survey struct {
	statements []string // in this order
	owner      bool     // this user may run them
}

func (s *survey) denied() error {
	return &setupError{"not everything that is mapped is published", s.statements, "the owner of the tables, with CREATE on the database"}
}

// survey looks at the server, the tables and the publication. It returns an
// error for what a relay should not change on its own.
func (l *Log) survey(ctx context.Context, d *database) (*survey, error) {
	if err := l.surveyServer(ctx, d); err != nil {
		return nil, err
	}
	var unfit []error
	for _, t := range l.tables {
		unfit = append(unfit, d.fit(ctx, t))
	}
	if err := errors.Join(unfit...); err != nil {
		return nil, err
	}
	return l.surveyPublication(ctx, d)
}

func (l *Log) surveyServer(ctx context.Context, d *database) error {
	version, err := d.setting(ctx, "server_version_num")
	if err != nil {
		return err
	}
	level, err := d.setting(ctx, "wal_level")
	if err != nil {
		return err
	}
	switch {
	case len(version) < 6 || version < "150000":
		return fmt.Errorf("the server is older than PostgreSQL 15")
	case l.opts.Failover && version < "170000":
		return fmt.Errorf("slots that standbys keep need PostgreSQL 17: turn relay.failover_slot off")
	case level != "logical":
		return fmt.Errorf("the server's wal_level is %s: ALTER SYSTEM SET wal_level = 'logical', and restart the server", level)
	}
	return nil
}

// fit checks that the log has each change of a table, with the old keys.
func (d *database) fit(ctx context.Context, t *table) error {
	is, err := postgres.Describe(ctx, d.Conn, t.name)
	if err != nil {
		return err
	}
	switch {
	case is.Kind != 'r' && is.Kind != 'p':
		return fmt.Errorf("%s is no table whose changes are in the log", t.name)
	case is.Parent:
		return fmt.Errorf("tables inherit from %s, and their changes are not published as its own: map them, or use partitions", t.name)
	}
	for _, key := range t.keys {
		if is.Column(key) == nil {
			return fmt.Errorf("table %s has no column %q, which is a key", t.name, key)
		}
	}
	for _, leaf := range is.Leaves {
		switch {
		case !leaf.Logged:
			return fmt.Errorf("%s is unlogged or temporary, so its changes are not in the log: ALTER TABLE %s SET LOGGED", leaf.Name, leaf.Name.SQL())
		case leaf.Kind != 'r':
			return fmt.Errorf("%s is no table whose changes are in the log", leaf.Name)
		case !leaf.Full && len(leaf.Identity) == 0:
			// Once it is published, the server refuses updates and deletes.
			return fmt.Errorf("the log does not name the old rows of %s: give it a primary key, or ALTER TABLE %s REPLICA IDENTITY FULL", leaf.Name, leaf.Name.SQL())
		}
	}
	return d.fitTree(ctx, t, is)
}

// Old rows are written as the partition's identity says, and read as that of
// the table they are published as.
const mixedQuery = `WITH RECURSIVE l (oid) AS (
	SELECT $1::oid UNION ALL SELECT i.inhrelid FROM l JOIN pg_inherits AS i ON i.inhparent = l.oid)
	SELECT n.nspname, c.relname FROM l JOIN pg_class AS c ON c.oid = l.oid JOIN pg_namespace AS n ON n.oid = c.relnamespace
	JOIN pg_class AS root ON root.oid = $1::oid
	WHERE c.relkind = 'r' AND c.relreplident <> root.relreplident AND (c.relreplident <> 'f' OR root.relreplident = 'n') LIMIT 1`

func (d *database) fitTree(ctx context.Context, t *table, is *postgres.Table) error {
	if is.Kind != 'p' {
		return nil
	}
	return d.Query(ctx, func(v [][]byte) error {
		leaf := postgres.Name{Schema: string(v[0]), Table: string(v[1])}
		return fmt.Errorf("partition %s has another REPLICA IDENTITY than %s: set them alike", leaf, t.name)
	}, mixedQuery, fmt.Sprint(is.OID))
}

// A mapped table (n), what lies above it and it itself (up), as the publication
// has them. The schema of a table counts as well.
const membersQuery = `WITH RECURSIVE mapped (n, oid) AS (
	SELECT m.n, c.oid FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS m (s, t, n)
	JOIN pg_namespace AS ns ON ns.nspname = m.s JOIN pg_class AS c ON c.relnamespace = ns.oid AND c.relname = m.t),
above (n, oid, up) AS (
	SELECT n, oid, 0 FROM mapped
	UNION ALL SELECT a.n, i.inhparent, a.up + 1 FROM above AS a JOIN pg_inherits AS i ON i.inhrelid = a.oid)
	SELECT a.n, a.up, ns.nspname, c.relname, c.relkind, pg_has_role(c.relowner, 'USAGE'),
		r.oid IS NOT NULL, r.prqual IS NOT NULL OR r.prattrs IS NOT NULL, s.oid IS NOT NULL
	FROM above AS a JOIN pg_class AS c ON c.oid = a.oid JOIN pg_namespace AS ns ON ns.oid = c.relnamespace
	LEFT JOIN pg_publication AS p ON p.pubname = $3
	LEFT JOIN pg_publication_rel AS r ON r.prpubid = p.oid AND r.prrelid = a.oid
	LEFT JOIN pg_publication_namespace AS s ON s.pnpubid = p.oid AND s.pnnspid = c.relnamespace
	ORDER BY a.n, a.up`

// publication is a publication as it is.
type publication struct {
	found, all, rows, truncate, root, owned bool
}

const publicationQuery = `SELECT puballtables, pubinsert AND pubupdate AND pubdelete, pubtruncate, pubviaroot, pg_has_role(pubowner, 'USAGE')
	FROM pg_publication WHERE pubname = $1`

func (l *Log) surveyPublication(ctx context.Context, d *database) (*survey, error) {
	var p publication
	err := d.Query(ctx, func(v [][]byte) error {
		p = publication{true, yes(v[0]), yes(v[1]), yes(v[2]), yes(v[3]), yes(v[4])}
		return nil
	}, publicationQuery, l.opts.Publication)
	if err != nil {
		return nil, err
	}
	name := quote(l.opts.Publication)
	if p.found && !(p.rows && p.truncate && p.root) {
		return nil, &setupError{"the publication leaves something out", []string{"ALTER PUBLICATION " + name +
			" SET (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)"}, "its owner"}
	}
	missing, mayAdd, err := l.surveyMembers(ctx, d, p)
	if err != nil || len(missing) == 0 {
		return &survey{}, err
	}
	list := strings.Join(missing, ", ")
	if p.found {
		return &survey{[]string{"ALTER PUBLICATION " + name + " ADD TABLE " + list}, p.owned && mayAdd}, nil
	}
	mayMake, err := d.text(ctx, "SELECT has_database_privilege(current_database(), 'CREATE')")
	return &survey{[]string{"CREATE PUBLICATION " + name + " FOR TABLE " + list +
		" WITH (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)"}, mayMake == "t" && mayAdd}, err
}

// surveyMembers returns the tables that are not published, and whether this
// user owns them all.
func (l *Log) surveyMembers(ctx context.Context, d *database, p publication) (missing []string, owned bool, err error) {
	owned = true
	schemas, names := arrays(l.tables)
	var of postgres.Name // the mapped table
	err = d.Query(ctx, func(v [][]byte) error {
		is := postgres.Name{Schema: string(v[2]), Table: string(v[3])}
		in := p.all || yes(v[6]) || yes(v[8])
		if string(v[1]) != "0" {
			return l.surveyAbove(of, is, in)
		}
		of = is
		switch {
		case yes(v[7]):
			return &setupError{fmt.Sprintf("the publication has a row filter or a column list for %s, so changes are left out", is),
				[]string{"ALTER PUBLICATION " + quote(l.opts.Publication) + " DROP TABLE " + is.SQL(),
					"ALTER PUBLICATION " + quote(l.opts.Publication) + " ADD TABLE " + is.SQL()}, "the owner of both"}
		case !in:
			missing = append(missing, is.SQL())
			owned = owned && yes(v[5])
		}
		return nil
	}, membersQuery, schemas, names, l.opts.Publication)
	return missing, owned, err
}

// surveyAbove checks a table of which a mapped one is a partition: if it is
// published, then the changes of both are, under its name alone.
func (l *Log) surveyAbove(t, above postgres.Name, published bool) error {
	mapped := slices.ContainsFunc(l.tables, func(o *table) bool { return o.name == above })
	if published || mapped {
		return fmt.Errorf("%s is a partition of %s, under whose name its changes are published: map that instead, or take it out of the publication", t, above)
	}
	return nil
}
