package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/row"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// table is one mapped table: what the use cases want of it, and how it was
// found.
type table struct {
	name string
	keys []string // key columns of all its use cases; the primary key is added to them

	is     *sqlite.Table // as it was last found; nil if it cannot be followed
	reason error         // why it cannot
	logged []string      // the columns that each row of the outbox holds
	find   string        // selects its current row by the primary key
}

func (t *table) use(spec row.Spec) {
	for _, name := range spec.Key {
		if !slices.Contains(t.keys, name) {
			t.keys = append(t.keys, name)
		}
	}
}

func (t *table) columnsToLog(primary []string) []string {
	all := slices.Clone(t.keys)
	for _, name := range primary {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// describe reads the table from the catalog. Only an error of the file is
// returned: a table that is gone, or cannot be followed, is a state.
func (t *table) describe(ctx context.Context, c *sqlite.Conn) error {
	t.is, t.reason, t.find = nil, nil, ""
	is, err := sqlite.Describe(ctx, c, t.name)
	if err == nil {
		err = sqlite.Followable(is)
	}
	if err == nil {
		for _, name := range t.keys {
			if is.Column(name) == nil {
				err = &sqlite.UnfitError{Reason: fmt.Sprintf("table %q has no column %q, which is a key", t.name, name)}
			}
		}
	}
	switch {
	case err == nil:
		t.is, t.logged, t.find = is, t.columnsToLog(is.Primary), findRow(is)
	case errors.As(err, new(*sqlite.UnfitError)):
		t.reason = err
	default:
		return err
	}
	return nil
}

// fingerprint changes with whatever changes the table's columns, or what the
// outbox is told about them.
func (t *table) fingerprint() string {
	h := sha256.New()
	if t.is == nil {
		fmt.Fprintf(h, "unusable: %v", t.reason)
	} else {
		fmt.Fprintf(h, "%s\n%s", t.is.SQL, strings.Join(t.triggers(), "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// findRow selects all columns of the row with a primary key: by the collation
// of its index, to use it, and byte for byte, which another row may not be.
func findRow(is *sqlite.Table) string {
	columns := make([]string, len(is.Columns))
	for i, c := range is.Columns {
		columns[i] = "+t." + sqlite.Quote(c.Name)
	}
	terms := make([]string, len(is.Primary))
	for i, name := range is.Primary {
		c := "t." + sqlite.Quote(name)
		terms[i] = fmt.Sprintf("%s COLLATE %s = ?%d AND %s COLLATE BINARY = ?%[3]d",
			c, is.PrimaryCollation(name), i+1, c)
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + sqlite.Quote(is.Name) + " AS t WHERE " + strings.Join(terms, " AND ")
}
