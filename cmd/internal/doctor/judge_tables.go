package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// oldWriter is from when on a transaction that still runs is worth a word.
const oldWriter = time.Minute

// judgeRights judges what this user may do.
func judgeRights(f *Facts) (out findings) {
	if f.Database == nil {
		return nil
	}
	s := &f.Database.Server
	user := quoted(s.User)
	if !f.debezium() {
		out.check(s.Replication, Finding{Check: "right to read the log", Level: Error, Found: ifElse(s.Replication, "user "+s.User+" has it", "user "+s.User+" has it not"),
			Wanted: "REPLICATION, for the user that the relay's URL names", Why: "the relay reads the log by it; nodes do not need it",
			Mend: sql("a superuser", "ALTER ROLE "+user+" REPLICATION")})
	}
	for i := range f.Database.Tables {
		t := &f.Database.Tables[i]
		if t.Table == nil {
			continue
		}
		out.check(t.Table.Readable, Finding{Check: "right to read", About: t.Spec.Name, Level: Error, Found: ifElse(t.Table.Readable, "user "+s.User+" may read "+t.Name.String(), "user "+s.User+" may not read "+t.Name.String()),
			Wanted: "SELECT", Why: "a node fills its entries by it", Mend: sql("the table's owner", "GRANT USAGE ON SCHEMA "+quoted(t.Name.Schema)+" TO "+user, "GRANT SELECT ON "+t.Name.SQL()+" TO "+user)})
		if !t.Spec.ReadOnly {
			out.check(t.Writable, Finding{Check: "right to write", About: t.Spec.Name, Level: Warning, Found: ifElse(t.Writable, "user "+s.User+" may write "+t.Name.String(), "user "+s.User+" may not write "+t.Name.String()),
				Wanted: "INSERT, UPDATE, DELETE; or read_only: true", Why: "SET, HSET and DEL of this use case are refused",
				Mend: sql("the table's owner", "GRANT INSERT, UPDATE, DELETE ON "+t.Name.SQL()+" TO "+user)})
		}
		if t.Table.Filtered {
			out.tell(Finding{Check: "row security", About: t.Spec.Name, Level: Warning, Found: "applies to user " + s.User, Wanted: "a user that sees all rows",
				Why: "entries live for the bound only, as changes carry rows that the user may not see", Mend: sql("a superuser", "ALTER ROLE "+user+" BYPASSRLS")})
		}
	}
	return out
}

// judgeTables judges whether the log has each change of the mapped tables,
// with the keys.
func judgeTables(f *Facts) (out findings) {
	if f.Database == nil {
		return nil
	}
	seen := map[string]bool{}
	for i := range f.Database.Tables {
		t := &f.Database.Tables[i]
		if t.Table == nil {
			out.tell(Finding{Check: "table", About: t.Spec.Name, Level: Error, Found: t.Missing.Error(), Wanted: "the table that the use case names", Why: "a node does not start", Mend: do("as it says")})
			continue
		}
		out.check(t.Unfit == nil, Finding{Check: "keys", About: t.Spec.Name, Level: Error, Found: found(t.Unfit, "one key for each row of "+t.Name.String()), Wanted: "one key for each row, in one spelling",
			Why: "an entry would stay when its row changes under another spelling", Mend: unfitMend(t.Unfit)})
		if !seen[t.Name.SQL()] {
			judgeLogged(t, &out)
		}
		seen[t.Name.SQL()] = true
		judgeIdentity(t, &out)
	}
	return out
}

// unfitMend takes the SQL out of what the catalog says, if it has some.
func unfitMend(err error) *Mend {
	if err == nil {
		return nil
	}
	if _, statement, ok := strings.Cut(err.Error(), ": "); ok && (strings.HasPrefix(statement, "CREATE ") || strings.HasPrefix(statement, "ALTER ")) {
		return sql("the table's owner", statement)
	}
	return do("as it says")
}

func judgeLogged(t *postgres.Inspected, out *findings) {
	var unlogged, mends []string
	for _, l := range t.Table.Leaves {
		if !l.Logged {
			unlogged = append(unlogged, l.Name.String())
			mends = append(mends, "ALTER TABLE "+l.Name.SQL()+" SET LOGGED")
		}
	}
	out.check(len(unlogged) == 0, Finding{Check: "logged", About: t.Name.String(), Level: Error, Found: ifElse(len(unlogged) == 0, "its changes are in the log", strings.Join(unlogged, ", ")+" is unlogged"),
		Wanted: "a table whose changes are in the log", Why: "what is cached of it would stay, whatever changes", Mend: sql("the table's owner", mends...)})
}

// judgeIdentity judges whether a change tells the key that the row had. A
// partition's identity has to be that of its table.
func judgeIdentity(t *postgres.Inspected, out *findings) {
	bad := t.Table.Unidentified(t.Key)
	var names, mends []string
	for _, l := range bad {
		names = append(names, l.Name.String())
	}
	if len(bad) > 0 {
		if t.Table.Kind == 'p' {
			mends = append(mends, "ALTER TABLE "+t.Name.SQL()+" REPLICA IDENTITY FULL")
			bad = t.Table.Leaves
		}
		for _, l := range bad {
			mends = append(mends, "ALTER TABLE "+l.Name.SQL()+" REPLICA IDENTITY FULL")
		}
	}
	key := strings.Join(t.Key, ", ")
	out.check(len(names) == 0, Finding{Check: "replica identity", About: t.Spec.Name, Level: Error,
		Found:  ifElse(len(names) == 0, "changes tell the old ("+key+")", fmt.Sprintf("changes of %s do not tell the old (%s)", strings.Join(names, ", "), key)),
		Wanted: "REPLICA IDENTITY FULL, or one with the key's columns and the primary key's", Why: "an entry would stay under the key that its row no longer has",
		Mend: sql("the table's owner", mends...)})
}

// judgePublication judges whether what is published is all there is.
func judgePublication(f *Facts) (out findings) {
	if f.Database == nil || f.Database.Publication.Name == "" {
		return nil
	}
	p := &f.Database.Publication
	if !p.Found {
		out.tell(missingPublication(f))
		return out
	}
	name := quoted(p.Name)
	out.check(len(p.Omits) == 0, Finding{Check: "publication", About: p.Name, Level: Error, Found: ifElse(len(p.Omits) == 0, "has all operations", "leaves out "+strings.Join(p.Omits, ", ")),
		Wanted: "insert, update, delete and truncate", Why: "what is left out changes rows, and nobody is told",
		Mend: sql("its owner", "ALTER PUBLICATION "+name+" SET (publish = 'insert, update, delete, truncate')")})
	if !f.debezium() || partitioned(f) { // a relay wants it for what may become partitioned
		out.check(p.ViaRoot, Finding{Check: "partitions", About: p.Name, Level: Error, Found: ifElse(p.ViaRoot, "are published under their table's name", "are published under names of their own"),
			Wanted: "publish_via_partition_root", Why: "changes of a partition would be of a table that no use case maps",
			Mend: sql("its owner", "ALTER PUBLICATION "+name+" SET (publish_via_partition_root = true)")})
	}
	seen := map[string]bool{}
	for i := range f.Database.Tables {
		if t := &f.Database.Tables[i]; publishable(t) && !seen[t.Name.SQL()] {
			seen[t.Name.SQL()] = true
			judgeMember(f, t, &out)
		}
	}
	return out
}

// publishable reports whether a mapped table may be in a publication: a view or
// a foreign table may not, and is told of by its keys.
func publishable(t *postgres.Inspected) bool {
	return t.Table != nil && (t.Table.Kind == 'r' || t.Table.Kind == 'p')
}

// partitioned reports whether a mapped table has partitions.
func partitioned(f *Facts) bool {
	return slices.ContainsFunc(f.Database.Tables, func(t postgres.Inspected) bool { return t.Table != nil && t.Table.Kind == 'p' })
}

// mayPublish reports whether a relay of this user would publish a table itself.
func mayPublish(f *Facts) bool {
	for i := range f.Database.Tables {
		if t := &f.Database.Tables[i]; t.Table != nil && !t.Owned {
			return false
		}
	}
	return !f.debezium() && (f.Database.Publication.Owned || !f.Database.Publication.Found && f.Database.Server.Create)
}

func missingPublication(f *Facts) Finding {
	var tables []string
	for i := range f.Database.Tables {
		if t := &f.Database.Tables[i]; publishable(t) {
			tables = append(tables, t.Name.SQL())
		}
	}
	for i := range f.Database.Checkpoints {
		if t := &f.Database.Checkpoints[i]; t.Found {
			tables = append(tables, t.Name.SQL())
		}
	}
	create := "CREATE PUBLICATION " + quoted(f.Database.Publication.Name) + " FOR TABLE " + strings.Join(unique(tables), ", ") +
		" WITH (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)"
	out := Finding{Check: "publication", About: f.Database.Publication.Name, Level: Error, Found: "is not there", Wanted: "a publication of the mapped tables", Why: "nothing says what changes",
		Mend: sql("the owner of the tables, with CREATE on the database", create)}
	if mayPublish(f) || f.debezium() && !slices.ContainsFunc(f.Connectors, leavesPublication) {
		out.Level, out.Found, out.Why = Note, "is not there yet", f.writer()+" makes it when it starts"
	}
	return out
}

// leavesPublication reports whether a connector leaves it to others to make its
// publication.
func leavesPublication(c Connector) bool {
	return c.setting("publication.autocreate.mode", "all_tables") == "disabled"
}

func judgeMember(f *Facts, t *postgres.Inspected, out *findings) {
	p, m := quoted(f.Database.Publication.Name), t.Published
	add := "ALTER PUBLICATION " + p + " ADD TABLE " + t.Name.SQL()
	missing := Finding{Check: "published", About: t.Name.String(), Level: Error, Found: ifElse(m.In, "its changes are published", "is not in publication "+f.Database.Publication.Name),
		Wanted: "each mapped table", Why: "what is cached of it would stay, whatever changes", Mend: sql("the owner of both", add)}
	if !m.In && mayPublish(f) {
		missing.Level, missing.Why = Note, "the relay adds it when it starts"
	}
	if m.In || m.Above == "" { // else adding it would change nothing
		out.check(m.In, missing)
	}
	again := sql("the owner of both", "ALTER PUBLICATION "+p+" DROP TABLE "+t.Name.SQL(), add)
	out.check(!m.Rows, Finding{Check: "row filter", About: t.Name.String(), Level: Error, Found: ifElse(m.Rows, "only some rows are published", "all rows are published"),
		Wanted: "all rows", Why: "a row that the filter does not let through changes, and its entry stays", Mend: again})
	out.check(!m.Columns, Finding{Check: "column list", About: t.Name.String(), Level: Error, Found: ifElse(m.Columns, "only some columns are published", "all columns are published"),
		Wanted: "all columns", Why: "a change would not tell its key, or not the whole row", Mend: again})
	if m.Above != "" {
		out.tell(Finding{Check: "partition", About: t.Name.String(), Level: Error, Found: "its changes are published under the name of " + m.Above, Wanted: "use cases of whole tables",
			Why: "no change would be of the mapped table", Mend: do("map %s instead, or take it out of the publication", m.Above)})
	}
}

func unique(texts []string) (out []string) {
	seen := map[string]bool{}
	for _, t := range texts {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// quoted is a name as SQL spells it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
