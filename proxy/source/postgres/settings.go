package postgres

import (
	"slices"
	"strings"
)

// Setting is one session setting of PostgreSQL.
type Setting struct{ Name, Value string }

// Settings are what every session is set to whose values reach the cache: a
// fill's, and the one that decodes the log. All of them change the text that a
// value is written as or read from; what they are by default depends on the
// server, the database and the role.
func Settings() []Setting {
	return []Setting{
		{"client_encoding", "UTF8"},
		{"DateStyle", "ISO, MDY"},
		{"IntervalStyle", "postgres"},
		{"TimeZone", "UTC"},
		{"extra_float_digits", "1"}, // the shortest text that reads back the same
		{"bytea_output", "hex"},
		{"xmlbinary", "base64"},
		{"xmloption", "content"},
		{"lc_monetary", "C"},
		{"array_nulls", "on"},
		{"quote_all_identifiers", "off"},
		{"search_path", "pg_catalog"}, // names in values (regclass) are written with their schema
		{"standard_conforming_strings", "on"},
	}
}

// The isolation levels: what a session has, for a statement by itself, and that
// of statements which are sent together and read one snapshot.
const (
	committed  = "read committed"
	repeatable = "repeatable read"
)

// sessionSettings are what a session of the source is set to on top: whatever
// a role's defaults say, a statement has a snapshot of its own, and writes write.
func sessionSettings(o Options) []Setting {
	return append(Settings(),
		Setting{"default_transaction_isolation", committed},
		Setting{"default_transaction_read_only", "off"},
		Setting{"default_transaction_deferrable", "off"},
		Setting{"statement_timeout", milliseconds(o.StatementTimeout)},
		Setting{"lock_timeout", "0"},
		Setting{"jit", "off"}, // statements here are short, and what reads the catalog is planned as if it were not
		Setting{"idle_in_transaction_session_timeout", milliseconds(o.StatementTimeout)},
	)
}

// setConfig is a statement that makes settings, for the session or, if local,
// for its transaction.
func setConfig(settings []Setting, local bool) string {
	calls := make([]string, len(settings))
	scope := "false"
	if local {
		scope = "true"
	}
	for i, s := range settings {
		calls[i] = "pg_catalog.set_config(" + literal(s.Name) + ", " + literal(s.Value) + ", " + scope + ")"
	}
	return "SELECT pg_catalog.concat(" + strings.Join(calls, ", ") + ")"
}

// observed is an expression for what the settings are in a session, and what
// it is when they are as they have to be. A pooler, or a function that a
// trigger calls, may have changed them.
func observed(isolation string) (expression, want string) {
	settings := append(slices.Clone(Settings()), Setting{"transaction_isolation", isolation})
	names, values := make([]string, len(settings)), make([]string, len(settings))
	for i, s := range settings {
		names[i], values[i] = "pg_catalog.current_setting("+literal(s.Name)+")", s.Value
	}
	return "pg_catalog.concat_ws('|', " + strings.Join(names, ", ") + ")", strings.Join(values, "|")
}
