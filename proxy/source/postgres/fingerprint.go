package postgres

import (
	"context"
	"strings"
)

// fingerprintSQL hashes, for each mapped table ($1 schemas, $2 tables), what
// the catalog says of everything from which its rows are made: it, what lies
// below it, their columns and indexes, and the types of those that somebody
// may alter. Schema changes make no change in the log (contract 6.5), and nor
// does the truncation of a partition: but it gets another file. Row 0 is what
// is published of all that.
//
// What went and came back is as it was: a table that was renamed, moved to
// another schema or detached, written to where that is not published, and put
// back, in one transaction even; a column or a label that had another name, a
// column that was of a type with the same bytes, and rows that were read
// meanwhile. So the rows of the catalog count with who wrote them (xmin): those
// that place a table, its columns and the labels. VACUUM keeps that, FREEZE too,
// and what else is done every day does not write them (ANALYZE, CREATE INDEX,
// COMMENT); but GRANT does, and a column's default or statistics target, which
// costs reading the table's rows again.
//
// It only reads catalogs: a function that locks a table would wait for whoever
// alters it, and the watermark with it.
const fingerprintSQL = `WITH RECURSIVE
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
	SELECT t.n, a.attrelid, a.atttypid, concat_ws(' ', a.xmin, a.attnum, a.atttypid, a.atttypmod, a.attcollation, a.attnotnull,
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
		(SELECT string_agg(concat_ws(' ', e.xmin, quote_ident(e.enumlabel)), ' ' ORDER BY e.oid) FROM pg_enum AS e WHERE e.enumtypid = ty.oid),
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
SELECT 0, md5(coalesce(string_agg(fact, chr(10) ORDER BY fact COLLATE "C"), '')) FROM published
UNION ALL SELECT n, md5(string_agg(fact, chr(10) ORDER BY fact COLLATE "C")) FROM parts GROUP BY n`

// FingerprintSQL is a statement that answers the number of each mapped table,
// from 1 on, and 32 hexadecimal digits which are others once its rows may have
// changed without a change in the log; of a table that is not there, nothing.
// Number 0 is of what the publication has of them. The arguments are
// expressions: arrays of the tables' schemas and names, and the publication.
func FingerprintSQL(schemas, tables, publication string) string {
	return strings.NewReplacer("$1", schemas, "$2", tables, "$3", publication).Replace(line(fingerprintSQL))
}

// fingerprintOfAll is a statement that answers one fingerprint of all tables.
func fingerprintOfAll(mapped []Name, publication string) string {
	list := func(part func(Name) string) string {
		items := make([]string, len(mapped))
		for i, n := range mapped {
			items[i] = literal(part(n))
		}
		return "ARRAY[" + strings.Join(items, ", ") + "]::text[]"
	}
	schemas, tables := list(func(n Name) string { return n.Schema }), list(func(n Name) string { return n.Table })
	return "SELECT pg_catalog.md5(pg_catalog.string_agg(concat_ws(' ', n, fact), ',' ORDER BY n)) FROM (" +
		FingerprintSQL(schemas, tables, literal(publication)) + ") AS every (n, fact)"
}

// Fingerprint reads from the catalog what Heartbeat writes: of the tables of all
// use cases, with nothing of a publication. Another fingerprint than before says
// that rows may have changed without a change in the log.
func (s *Source) Fingerprint(ctx context.Context) (print string, err error) {
	var mapped []string
	for m := range s.cases {
		mapped = append(mapped, m.Table)
	}
	names, err := parseNames(mapped)
	if err != nil {
		return "", err
	}
	var head Head
	err = s.asks.read(ctx, func(c *Conn) error {
		err := c.snapshot(ctx, true, nil, c.headCommand(&head, repeatable), &command{sql: fingerprintOfAll(names, ""), row: rows(func(v [][]byte) error {
			print = string(v[0])
			return nil
		})})
		if err == nil && !head.Identity.Known() {
			err = errStandby
		}
		return err
	})
	if err = s.primaryOnly(err); err != nil {
		return "", unavailable(err)
	}
	return print, nil
}
