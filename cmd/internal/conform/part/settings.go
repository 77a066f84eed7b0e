package part

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// Partitions of the topic at first.
const Partitions = 4

// Delta is the bound by which faults are measured.
const Delta = time.Second

// UseCases are the ways to the rows: each takes another path through a node.
func UseCases() []load.UseCase {
	of := func(name string, bound time.Duration) load.UseCase {
		return load.UseCase{UseCase: history.UseCase{Name: name, Bound: bound}}
	}
	row, value, alias, small := of("row", Delta), of("value", Delta/4), of("alias", Delta/4), of("small", 2*Delta)
	row.WholeRow = true
	value.Writable = true
	alias.ByAlias = true
	alias.TTLMax = 5 * time.Second
	return []load.UseCase{row, value, alias, small}
}

// settings is the configuration of a part, over a source in the words of a
// configuration. The use case "small" has so little memory that its entries are
// pushed out all the time.
func settings(source, broker, name string, o *Options, ways map[string]*stack.Forwarder) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `source: %s
stream: {kafka: {brokers: [%q], client_id: %q}, %s}
relay: {partitions: %d, checkpoint_interval: 50ms, admin: "127.0.0.1:0", %s}
node: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drain_timeout: 2s}
memory: {budget: 32MiB}
%suse_cases:
`, source, broker, name, o.Stream, Partitions, o.Relay, around(name, ways))
	for _, u := range UseCases() {
		fmt.Fprintf(&b, "  - {name: %s, table: %s, bound: %s", u.Name, table.Rows, u.Bound)
		if u.ByAlias {
			fmt.Fprintf(&b, ", key: [%s]", table.Alias)
		}
		if !u.WholeRow {
			fmt.Fprintf(&b, ", column: %s", table.Value)
		}
		if u.Name == "small" {
			b.WriteString(", max_bytes: 1MiB")
		}
		if u.TTLMax > 0 {
			fmt.Fprintf(&b, ", ttl_max: %s", u.TTLMax)
		}
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

// around is the tier around a node. Its times are short: a node that is frozen
// for 3Δ loses its keys, and one that is killed and starts again keeps them.
func around(name string, ways map[string]*stack.Forwarder) string {
	if ways[name] == nil {
		return ""
	}
	var members []string
	for _, node := range slices.Sorted(maps.Keys(ways)) {
		members = append(members, strconv.Quote(ways[node].Address()))
	}
	return fmt.Sprintf(`tier: {name: %s, listen: "127.0.0.1:0", members: [%s], window: 3s, grace: 2s, debounce: 200ms, ask_every: 200ms}
`, name, strings.Join(members, ", "))
}
