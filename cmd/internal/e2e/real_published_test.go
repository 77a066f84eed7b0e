package e2e

import (
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// A connector ships the changes of a partitioned table under the names of its
// partitions, which nobody maps, unless the publication says otherwise. A node
// that follows one does not start before it does.
func TestRealPartitionedTableIsPublished(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG17)
	stacktest.Exec(t, p,
		"CREATE TABLE plain (id int PRIMARY KEY, v text)",
		"CREATE TABLE visits (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
		"CREATE TABLE visits_1 PARTITION OF visits FOR VALUES FROM (0) TO (1000)",
		"CREATE PUBLICATION shop FOR TABLE plain, visits")
	check := func(format string) error {
		return node.Check(t.Context(), parse(t, "source: {postgres: {url: \"${URL}\"}}\nstream: "+format+
			"\nuse_cases: [{name: plain, table: plain}, {name: visits, table: visits}]\n", map[string]string{"URL": p.URL("", "")}))
	}
	const connector = "{format: debezium, debezium: {topics: [shipped]}}"
	if err := check(connector); err == nil || !strings.Contains(err.Error(), "publish_via_partition_root") || !strings.Contains(err.Error(), "visits") {
		t.Errorf("a table published under the names of its partitions: %v", err)
	}
	if err := check("{}"); err != nil {
		t.Errorf("a relay looks for itself, and the node says: %v", err)
	}
	stacktest.Exec(t, p, "ALTER PUBLICATION shop SET (publish_via_partition_root = true)")
	if err := check(connector); err != nil {
		t.Errorf("mended: %v", err)
	}
}
