package postgres

import (
	"slices"
	"strings"
)

// followable says why a table cannot be read, or its changes not be followed,
// and how to mend it.
func followable(t *Table) error {
	switch t.Kind {
	case 'r', 'p':
	case 'v', 'm':
		return unfit("%s is a view, and only tables tell what changes in them: map the table under it", t.Name)
	case 'f':
		return unfit("%s is a foreign table, whose changes are not in this server's log: map it in the database it is from", t.Name)
	default:
		return unfit("%s is no table: correct the use case's table", t.Name)
	}
	if !t.Readable {
		return unfit("user %s may not read table %s: GRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT ON %s TO %s",
			t.User, t.Name, quote(t.Name.Schema), quote(t.User), t.Name.SQL(), quote(t.User))
	}
	if t.Parent {
		return unfit("other tables inherit from %s, and nothing keeps keys unique over all of them: map each by itself, or partition the table", t.Name)
	}
	for _, l := range t.Leaves {
		switch {
		case l.Kind == 'f':
			return unfit("partition %s of %s is a foreign table, whose changes are not in this server's log: detach it", l.Name, t.Name)
		case !l.Logged:
			return unfit("the changes of %s are not logged: ALTER TABLE %s SET LOGGED (a temporary table cannot be mapped)", l.Name, l.Name.SQL())
		}
	}
	if t.Primary() == nil {
		return unfit("table %s has no primary key, which tells its rows apart: give it one", t.Name)
	}
	return nil
}

// identified verifies that the log names the key of a row that is changed or
// deleted: if it did not, the entry under the old key would stay. The primary
// key is needed too, since it keeps the changes of a row in order.
func identified(t *Table, key []string) error {
	for _, name := range append(slices.Clone(key), t.Primary()...) {
		if t.Column(name).Generated {
			return unfit("column %q of table %s is computed, and the log does not carry it: map columns that are stored as they are written", name, t.Name)
		}
	}
	var mends []string
	for _, l := range t.Leaves {
		missing := func(name string) bool { return !slices.Contains(l.Identity, name) }
		if l.Full || !slices.ContainsFunc(key, missing) && !slices.ContainsFunc(t.Primary(), missing) {
			continue
		}
		mends = append(mends, "ALTER TABLE "+l.Name.SQL()+" REPLICA IDENTITY FULL")
	}
	const shown = 8
	more := ""
	if len(mends) > shown {
		mends, more = mends[:shown], "; and so on"
	}
	if len(mends) > 0 {
		return unfit("the log does not say which (%s) a changed or deleted row of %s had: %s%s",
			quoteList(key), t.Name, strings.Join(mends, "; "), more)
	}
	return nil
}
