package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// homes says where each library may be imported; test files are exempt. What
// is not in this table and not in the standard library is refused.
var homes = []struct {
	library string
	folders []string // with everything below one that ends in "/..."
	file    string   // if set, only in files of this name
	why     string
}{
	{"github.com/dgraph-io/ristretto/v2", []string{"cache/store"}, "", "it loses and resurrects entries; one package knows how not to trust it"},
	{"github.com/segmentio/kafka-go", []string{"cdc/kafka/...", "cmd/internal/stack"}, "", "its Reader and its defaults are wrong here; one package knows which parts are right; what starts a broker makes and deletes topics as their owner might"},
	{"modernc.org/sqlite", []string{"proxy/source/sqlite"}, "", "one package opens files; the outbox uses its connections"},
	{"github.com/twmb/franz-go", []string{"cmd/internal/node"}, "broker.go", "the broker of freshet dev; the product speaks to it like to any other"},
	{"github.com/buraksezer/consistent", []string{"hashring"}, "", "it panics and locks; one package uses it, once per membership"},
	{"k8s.io", []string{"hashring/membership/kubernetes/..."}, "", "it is large, and silent about what goes wrong; one package listens"},
	{"github.com/go-logr/logr", []string{"hashring/membership/kubernetes"}, "", "by which client-go is told where to log"},
	{"github.com/hashicorp/memberlist", []string{"hashring/membership/gossip"}, "", "it calls back under its lock and lists records that change; one package copies"},
	{"github.com/cespare/xxhash/v2", []string{"hashring/...", "cache/..."}, "", "the hash of slots and stamps is a matter of these two"},
	{"github.com/jackc/pgx/v5", []string{"proxy/source/postgres", "cdc/relay/postgres", "cmd/internal/stack", "cmd/internal/conform/table"}, "", "one package speaks PostgreSQL's protocol, with the settings that decide what a value's text is; the log comes by a connection of another kind, and what starts servers, or writes to a table as any program might, is not the product"},
	{"github.com/jackc/pglogrepl", []string{"cdc/relay/postgres"}, "", "the commands of replication; its decoder trusts what it reads, so only they are used"},
	{"github.com/goccy/go-yaml", []string{"cmd/internal/config"}, "", "one configuration, read in one place"},
	{"github.com/prometheus/client_golang", []string{"..."}, "metrics.go", "what a package counts stands in one file"},
	{"golang.org/x/crypto", []string{"proxy/acl"}, "", "slow hashes of passwords; one package bounds what they cost"},
	{"golang.org/x/sys", []string{"proxy/source/clock", "proxy/server"}, "", "CLOCK_BOOTTIME and POLLRDHUP, which package syscall has not"},
	{"github.com/KimMachineGun/automemlimit", []string{"cmd/internal/node"}, "memory.go", "what a container may have of memory, in both versions of control groups"},
	{"golang.org/x/sync", []string{"..."}, "", "errgroup, for goroutines that are waited for"},
}

// layers says which of the project's packages a package may import. What is
// not listed may import nothing. Only cmd/internal/node wires concrete types.
var layers = []struct {
	folder string
	may    []string
	why    string
}{
	{"proxy", []string{"proxy/source/row"}, "the vocabulary: everybody's, so it knows nobody"},
	{"proxy/hook", nil, "imported by all that a test steps into"},
	{"proxy/source/row", []string{"proxy/hook"}, "the codec, under the vocabulary"},
	{"proxy/source/clock", []string{"proxy", "proxy/hook"}, "a source's clock in the vocabulary's times"},
	{"proxy/source/postgres", []string{"proxy", "proxy/hook", "proxy/source/row"}, "a Source; what stands in front of it is not its business"},
	{"proxy/source/sqlite", []string{"proxy", "proxy/hook", "proxy/source/row"}, "a Source; what stands in front of it is not its business"},
	{"proxy/source/sourcetest", []string{"proxy", "proxy/source/row"}, "the suite every source passes"},
	{"proxy/acl", []string{"proxy"}, "who is who; what they ask for, it does not know"},
	{"proxy/resp", nil, "bytes and nothing else"},
	{"proxy/hot", nil, "counts keys, whatever they mean"},
	{"proxy/ramp", []string{"proxy"}, "a Source over a Source, whatever that is"},
	{"proxy/route", []string{"proxy", "proxy/hook", "proxy/hot"}, "a Source over a Source and others elsewhere: how they are reached, and how it is found who owns what, it knows as interfaces"},
	{"proxy/command", []string{"proxy", "proxy/hook", "proxy/resp", "proxy/source/row"}, "from bytes to Sources; which Source it is, it does not know"},
	{"proxy/server", []string{"proxy/command", "proxy/resp"}, "carries bytes to commands"},
	{"proxy/peer", []string{"proxy", "proxy/source/row"}, "a Source that is elsewhere; what is at the other end, it knows as an interface"},
	{"cache", []string{"proxy", "proxy/hook", "proxy/source/row", "cache/store", "cache/fill"}, "a Source over a Source: neither Kafka, nor RESP, nor rings"},
	{"cache/store", []string{"proxy/hook"}, "bounded memory for anything"},
	{"cache/fill", []string{"proxy/hook"}, "locks for anything"},
	{"cdc", []string{"proxy", "proxy/hook", "proxy/source/row", "cdc/event", "cdc/gate"}, "drives the cache through two methods of its own, not the package"},
	{"cdc/audit", []string{"proxy", "proxy/source/row", "cdc/event"}, "compares a cache with a source, through interfaces of its own; it looks at both from the side"},
	{"cdc/event", []string{"proxy", "proxy/source/row"}, "the format, for both ends"},
	{"cdc/debezium", []string{"proxy", "proxy/hook", "proxy/source/row", "cdc/event", "cdc/gate"}, "a format of others, for the same changes; whom they go to, and who is asked what is visible, it knows as interfaces"},
	{"cdc/gate", []string{"proxy/hook"}, "a queue for a relay or an applier"},
	{"cdc/kafka", []string{"proxy/hook"}, "carries bytes; what they mean is for others"},
	{"cdc/relay", []string{"proxy", "proxy/hook", "proxy/source/row", "cdc/event", "cdc/gate"}, "from any log to any topic, through interfaces of its own"},
	{"cdc/relay/sqlite", []string{"proxy", "proxy/hook", "proxy/source/row", "proxy/source/sqlite", "cdc/event", "cdc/relay"}, "one log; shares the file's catalog with its source"},
	{"cdc/relay/postgres", []string{"proxy", "proxy/hook", "proxy/source/row", "proxy/source/postgres", "cdc/event", "cdc/gate", "cdc/relay"}, "one log; shares the database's catalog and codec with its source"},
	{"hashring", []string{"hashring/skipper"}, "slots and names"},
	{"hashring/skipper", nil, "a ring that others define"},
	{"hashring/membership/kubernetes", []string{"hashring", "hashring/membership"}, "one directory; who else there is, it does not know"},
	{"hashring/membership/kubernetes/apitest", nil, "an API server, for tests of who follows one"},
	{"hashring/membership/gossip", []string{"hashring", "hashring/membership"}, "one directory; who else there is, it does not know"},
	{"hashring/membership", []string{"hashring"}, "names, and the rings that follow from them; how a node is asked, it does not know"},
	{"cmd/internal/config", nil, "settings and nothing that they set"},
	{"cmd/internal/archtest", nil, "reads source, not packages"},
	{"cmd/internal/conform/check", []string{"proxy", "cmd/internal/conform/history", "cmd/internal/doctor/pipeline"}, "judges what is written down, and knows nothing of how it came about"},
	{"cmd/internal/conform/report", []string{"cmd/internal/conform/check", "cmd/internal/conform/history"}, "shows a verdict; it finds nothing of its own"},
	{"cmd/internal/conform/history", []string{"proxy"}, "records and lines, for who writes them and who judges them"},
	{"cmd/internal/conform", []string{"cmd/internal/config", "cmd/internal/conform/...", "cmd/internal/stack", "cmd/internal/doctor/..."}, "a run from its begin to its verdict"},
	{"cmd/internal/conform/client", []string{"proxy/resp"}, "a connection to a node, as any program would have one"},
	{"cmd/internal/conform/table", []string{"cmd/internal/conform/history", "cmd/internal/pause", "proxy", "proxy/source/clock", "proxy/source/sqlite"}, "what is written, in the database itself"},
	{"cmd/internal/conform/table/tabletest", []string{"cmd/internal/conform/table"}, "the suite every such table passes"},
	{"cmd/internal/conform/load", []string{"cmd/internal/conform/client", "cmd/internal/conform/history", "cmd/internal/pause", "cmd/internal/conform/table", "proxy", "proxy/source/clock"}, "traffic; of nodes it knows addresses"},
	{"cmd/internal/pause", nil, "waits; it knows nothing else"},
	{"cmd/internal/conform/fault", []string{"cmd/internal/conform/history", "cmd/internal/pause", "proxy/source/clock"}, "when faults come; what they do, a deployment knows"},
	{"cmd/internal/conform/run", []string{"cmd/internal/conform/fault", "cmd/internal/conform/history", "cmd/internal/conform/load", "cmd/internal/pause", "proxy/source/clock"}, "one run against any deployment"},
	{"cmd/internal/conform/embedded", []string{"cmd/internal/conform/...", "cmd/internal/pause", "proxy/source/sqlite"}, "a deployment out of this binary"},
	{"cmd/internal/conform/live", []string{"cmd/internal/conform/...", "cmd/internal/config", "cmd/internal/pause"}, "a deployment of somebody's: of nodes it knows addresses"},
	{"cmd/internal/conform/stacked", []string{"cmd/internal/conform/...", "cmd/internal/pause", "cmd/internal/stack", "proxy/source/postgres"}, "a deployment out of real parts"},
	{"cmd/internal/conform/part", []string{"..."}, "this program as the parts of a deployment: it steps in at their seams"},
	{"cmd/internal/doctor", []string{"cdc/...", "proxy/...", "cmd/internal/config", "cmd/internal/doctor/pipeline", "cmd/internal/node", "cmd/internal/pause"}, "asks every part what it is; it changes none"},
	{"cmd/internal/doctor/pipeline", []string{"proxy"}, "what a stream can carry, for who checks a deployment and who tries one"},
	{"cmd/internal/node", []string{"..."}, "the one place that wires concrete types"},
	{"cmd/internal/stack", nil, "starts processes, and knows nothing of what is tried with them"},
	{"cmd/internal/stack/stacktest", []string{"cmd/internal/stack"}, "the same for tests"},
	{"cmd/internal/e2e", []string{"..."}, "tests over several packages"},
	{"cmd/freshet", []string{"cmd/internal/config", "cmd/internal/doctor", "cmd/internal/node", "cmd/internal/conform/...", "cmd/internal/stack"}, "thin: flags, then a node or a run"},
}

// within reports whether folder is one of patterns.
func within(folder string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		base, below := strings.CutSuffix(p, "...")
		base = strings.TrimSuffix(base, "/")
		return folder == p || below && (base == "" || folder == base || strings.HasPrefix(folder, base+"/"))
	})
}

// uses reports whether the product's part of f imports a library.
func (f *file) uses(library string) bool {
	return !f.test && slices.ContainsFunc(f.imports(), func(imported string) bool {
		return within(imported, []string{library + "/..."})
	})
}

func TestLibrariesStayAtHome(t *testing.T) {
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		for _, imported := range f.imports() {
			if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") || strings.HasPrefix(imported, module) {
				continue
			}
			known := false
			for _, h := range homes {
				if !within(imported, []string{h.library + "/..."}) {
					continue
				}
				known = true
				if !within(f.folder(), h.folders) || h.file != "" && path.Base(f.path) != h.file {
					t.Errorf("%s imports %s, whose home is %v %s: %s", f.path, imported, h.folders, h.file, h.why)
				}
			}
			if !known {
				t.Errorf("%s imports %s, which has no home; give it one, with a reason", f.path, imported)
			}
		}
	}
}

func TestNothingImportsSideways(t *testing.T) {
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		for _, imported := range f.imports() {
			other, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			allowed, why := false, "it is not in the table of layers"
			for _, l := range layers {
				if l.folder == f.folder() {
					allowed, why = within(other, l.may), l.why
				}
			}
			if !allowed {
				t.Errorf("%s imports %s: %s", f.path, other, why)
			}
		}
	}
}

func TestTablesNameWhatExists(t *testing.T) {
	folders, files := map[string]bool{}, tree(t)
	for _, f := range files {
		folders[f.folder()] = true
	}
	for _, l := range layers {
		if !folders[l.folder] {
			t.Errorf("layers: there is no package %s", l.folder)
		}
		if l.why == "" {
			t.Errorf("layers: %s has no reason", l.folder)
		}
	}
	for _, h := range homes {
		if h.why == "" {
			t.Errorf("homes: %s has no reason", h.library)
		}
		for _, folder := range h.folders {
			if !slices.ContainsFunc(files, func(f *file) bool { return within(f.folder(), []string{folder}) && f.uses(h.library) }) {
				t.Errorf("homes: %s is not at home in %s", h.library, folder)
			}
		}
	}
}
