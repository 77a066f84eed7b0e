package postgres

import (
	"context"
	"fmt"
)

// Published returns an error that names a mapped table of which nobody would
// hear: a partitioned one whose changes are published under the names of its
// partitions only, or not at all.
func (s *Source) Published(ctx context.Context) error {
	for m := range s.cases {
		name, err := ParseName(m.Table)
		if err != nil {
			return err
		}
		_, unheard, err := s.ask(ctx, `(SELECT c.relkind = 'p' AND NOT EXISTS (
			SELECT FROM pg_catalog.pg_publication_tables AS p WHERE p.schemaname = n.nspname AND p.tablename = c.relname)
			FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
			WHERE c.oid = `+literal(name.SQL())+`::pg_catalog.regclass)`)
		if err != nil {
			return err
		}
		if unheard == "t" {
			return fmt.Errorf("no publication has the changes of the partitioned table %s under its own name: "+
				"as the publication's owner, ALTER PUBLICATION … SET (publish_via_partition_root = true); "+
				"a connector that makes its own takes publish.via.partition.root=true", name)
		}
	}
	return nil
}
