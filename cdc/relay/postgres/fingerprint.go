package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// fingerprintQuery hashes, for each mapped table ($1 schemas, $2 tables), what
// the catalog says of everything from which its rows are made: it, what lies
// below it, their columns and indexes, and the types of those that somebody
// may alter. Schema changes make no change in the log (contract 6.5), and nor
// does the truncation of a partition: but it gets another file. Row 0 is what
// is published of all that.
//
// A table that went and came back is as it was: renamed, moved to another
// schema or detached, written to where that is not published, and put back, in
// one transaction even. So the rows of the catalog that place it count with who
// wrote them (xmin, which VACUUM keeps).
//
// It only reads catalogs: a function that locks a table would wait for whoever
// alters it, and the watermark with it.
const fingerprintQuery = `WITH RECURSIVE
mapped (n, oid, named) AS (
	SELECT m.n, c.oid, ns.xmin FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS m (s, t, n)
	JOIN pg_namespace AS ns ON ns.nspname = m.s JOIN pg_class AS c ON c.relnamespace = ns.oid AND c.relname = m.t),
tree (n, oid, parent, pending, placed) AS (
	SELECT n, oid, 0::oid, false, named FROM mapped
	UNION SELECT t.n, i.inhrelid, i.inhparent, i.inhdetachpending, i.xmin FROM tree AS t JOIN pg_inherits AS i ON i.inhparent = t.oid),
above (oid) AS (
	SELECT oid FROM mapped
	UNION SELECT i.inhparent FROM above AS a JOIN pg_inherits AS i ON i.inhrelid = a.oid),
attributes AS (
	SELECT t.n, a.attrelid, a.atttypid, concat_ws(' ', a.attnum, a.atttypid, a.atttypmod, a.attcollation, a.attnotnull,
		a.attgenerated, a.attisdropped, quote_ident(a.attname)) AS fact
	FROM tree AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0),
types (n, oid) AS (
	SELECT n, atttypid FROM attributes WHERE atttypid >= 16384
	UNION SELECT t.n, u.oid FROM types AS t JOIN pg_type AS ty ON ty.oid = t.oid
	CROSS JOIN LATERAL (
		SELECT ty.typbasetype UNION ALL SELECT ty.typelem
		UNION ALL SELECT r.rngsubtype FROM pg_range AS r WHERE ty.oid IN (r.rngtypid, r.rngmultitypid)
		UNION ALL SELECT a.atttypid FROM pg_attribute AS a WHERE a.attrelid = ty.typrelid AND a.attnum > 0) AS u (oid)
	WHERE u.oid >= 16384),
parts (n, fact) AS (
	SELECT t.n, concat_ws(' ', 'r', t.oid, t.parent, t.pending, t.placed, c.xmin, c.relkind, c.relpersistence, c.relreplident, c.relfilenode,
		c.relispartition, c.relnamespace, quote_ident(c.relname), c.relpartbound)
	FROM tree AS t JOIN pg_class AS c ON c.oid = t.oid
	UNION ALL SELECT n, concat_ws(' ', 'a', attrelid, fact) FROM attributes
	UNION ALL SELECT t.n, concat_ws(' ', 'i', i.indrelid, i.indisprimary, i.indisunique, i.indisreplident, i.indimmediate,
		i.indisvalid, i.indkey, i.indcollation, i.indpred IS NULL)
	FROM tree AS t JOIN pg_index AS i ON i.indrelid = t.oid AND i.indisunique
	UNION ALL SELECT t.n, concat_ws(' ', 't', ty.oid, ty.typtype, ty.typbasetype, ty.typtypmod, ty.typcollation,
		(SELECT string_agg(quote_ident(e.enumlabel), ' ' ORDER BY e.oid) FROM pg_enum AS e WHERE e.enumtypid = ty.oid),
		(SELECT string_agg(concat_ws(' ', a.attnum, a.atttypid, a.atttypmod, a.attcollation, a.attisdropped), ',' ORDER BY a.attnum)
			FROM pg_attribute AS a WHERE a.attrelid = ty.typrelid AND a.attnum > 0))
	FROM types AS t JOIN pg_type AS ty ON ty.oid = t.oid),
published (fact) AS (
	SELECT concat_ws(' ', 'p', p.oid, p.xmin, p.puballtables, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate, p.pubviaroot)
	FROM pg_publication AS p WHERE p.pubname = $3
	UNION ALL SELECT concat_ws(' ', 'm', r.oid, r.prrelid, r.prqual, r.prattrs) FROM pg_publication AS p
	JOIN pg_publication_rel AS r ON r.prpubid = p.oid
	WHERE p.pubname = $3 AND r.prrelid IN (SELECT oid FROM tree UNION SELECT oid FROM above)
	UNION ALL SELECT concat_ws(' ', 's', s.oid, s.pnnspid) FROM pg_publication AS p
	JOIN pg_publication_namespace AS s ON s.pnpubid = p.oid WHERE p.pubname = $3)
SELECT 0, md5(coalesce(string_agg(fact, E'\n' ORDER BY fact COLLATE "C"), '')) FROM published
UNION ALL SELECT n, md5(string_agg(fact, E'\n' ORDER BY fact COLLATE "C")) FROM parts GROUP BY n`

// fingerprint reads the catalog. A table that is not there is zero.
func (d *database) fingerprint(ctx context.Context, publication string, tables []*table) (fingerprint, error) {
	f := fingerprint{tables: make([]uint64, len(tables))}
	schemas, names := arrays(tables)
	err := d.Query(ctx, func(v [][]byte) error {
		n, err := strconv.Atoi(string(v[0]))
		if err != nil || n > len(tables) {
			return fmt.Errorf("a fingerprint of table %q", v[0])
		}
		hash, err := strconv.ParseUint(string(v[1][:16]), 16, 64)
		if n == 0 {
			f.publication = hash
		} else {
			f.tables[n-1] = hash
		}
		return err
	}, fingerprintQuery, schemas, names, publication)
	if err != nil {
		return f, fmt.Errorf("read the catalog's fingerprint: %w", err)
	}
	return f, nil
}

// arrays returns the tables' schemas and names as PostgreSQL's arrays.
func arrays(tables []*table) (schemas, names string) {
	list := make([]postgres.Name, len(tables))
	for i, t := range tables {
		list[i] = t.name
	}
	return array(list, func(n postgres.Name) string { return n.Schema }), array(list, func(n postgres.Name) string { return n.Table })
}

func array(names []postgres.Name, part func(postgres.Name) string) string {
	items := make([]string, len(names))
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, n := range names {
		items[i] = `"` + escape.Replace(part(n)) + `"`
	}
	return "{" + strings.Join(items, ",") + "}"
}
