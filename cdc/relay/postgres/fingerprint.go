package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

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
	}, postgres.FingerprintSQL("$1", "$2", "$3"), schemas, names, publication)
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
