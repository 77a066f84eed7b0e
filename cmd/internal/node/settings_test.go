package node

import (
	"log/slog"
	"math"
	"runtime/debug"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cache"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestSettingsReachTheCache(t *testing.T) {
	c := config.Default()
	c.Memory.Budget, c.Memory.AbsentPart = 1<<30, 25
	plain, zero := config.DefaultUseCase("plain"), config.DefaultUseCase("zero")
	zero.Bound, zero.RefreshAhead, zero.MaxBytes = 0, false, 1<<20
	c.UseCases = []config.UseCase{plain, zero}
	// The catalog may number use cases in another order.
	catalog, err := proxy.NewCatalog(&row.Mapping{Spec: row.Spec{Name: "zero"}}, &row.Mapping{Spec: row.Spec{Name: "plain"}})
	if err != nil {
		t.Fatal(err)
	}
	o := cacheOptions(c, catalog)
	if o.Bytes != 1<<30 || o.AbsenceShare != 0.25 {
		t.Errorf("memory: %+v", o)
	}
	for i, want := range []cache.UseCase{
		{Bound: 1, TTLMax: 24 * time.Hour, Timeout: time.Second, NoRefresh: true, MaxBytes: 1 << 20},
		{Bound: 2 * time.Second, TTLMax: 24 * time.Hour, Timeout: time.Second},
	} {
		if o.UseCases[i] != want {
			t.Errorf("use case %d: %+v, want %+v", i, o.UseCases[i], want)
		}
	}
}

func TestSettingsReachKafka(t *testing.T) {
	c := config.Default()
	c.Stream.Kafka.SASL.Mechanism, c.Stream.Kafka.SASL.Username = "scram-sha-256", "u"
	c.Stream.Kafka.TLS.Enabled = true
	o := kafkaOptions(c)
	if o.Topic != "freshet" || o.SASL.Mechanism != "SCRAM-SHA-256" || o.SASL.User != "u" || !o.TLS.Enabled || o.Retention != 24*time.Hour {
		t.Errorf("%+v", o)
	}
	c.Stream.Kafka.SASL.Mechanism = "none"
	if o := kafkaOptions(c); o.SASL.Mechanism != "" {
		t.Errorf("none became %q", o.SASL.Mechanism)
	}
}

func TestEachNodeTakesTheNextPort(t *testing.T) {
	for _, c := range []struct {
		address string
		i       int
		want    string
	}{
		{"127.0.0.1:6400", 0, "127.0.0.1:6400"}, {"127.0.0.1:6400", 2, "127.0.0.1:6402"},
		{"127.0.0.1:0", 2, "127.0.0.1:0"}, {"[::1]:6400", 1, "[::1]:6401"}, {"nowhere", 1, "nowhere"},
	} {
		if got := nth(c.address, c.i); got != c.want {
			t.Errorf("nth(%s, %d) = %s", c.address, c.i, got)
		}
	}
}

func TestTheCollectorsLimitLeavesAGivenOneAlone(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	debug.SetMemoryLimit(math.MaxInt64)
	if err := LimitMemory(64<<20, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	set := debug.SetMemoryLimit(-1)
	if set < 64<<20 || set > 256<<20 {
		t.Errorf("for 64 MiB of entries the limit is %d", set)
	}
	if err := LimitMemory(1<<20, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	KeepToContainer()
	if got := debug.SetMemoryLimit(-1); got != set {
		t.Errorf("a limit of %d was changed to %d", set, got)
	}
}

func TestABudgetFitsIntoTheContainer(t *testing.T) {
	for _, c := range []struct {
		budget, container int64
		want              string
	}{
		{256 << 20, math.MaxInt64, ""},
		{256 << 20, 512 << 20, ""},
		{64 << 20, 96 << 20, ""},
		{64<<20 + 1, 96 << 20, "memory.budget: 67108865 of entries do not fit into a container that may have 96MiB: give it 97MiB or more (mem_limit, resources.limits.memory, MemoryMax); or lower memory.budget to 64MiB"},
		{64 << 20, 48 << 20, "memory.budget: 64MiB of entries do not fit into a container that may have 48MiB: give it 96MiB or more (mem_limit, resources.limits.memory, MemoryMax); or lower memory.budget to 16MiB"},
		{64 << 20, 24 << 20, "memory.budget: 64MiB of entries do not fit into a container that may have 24MiB: give it 96MiB or more (mem_limit, resources.limits.memory, MemoryMax)"},
	} {
		got := ""
		if err := fits(c.budget, c.container); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d bytes in %d:\n%s\nwant\n%s", c.budget, c.container, got, c.want)
		}
	}
}

func TestClientsLeaveDescriptors(t *testing.T) {
	c := config.Default()
	c.Node.MaxClients, c.Source.SQLite.Readers = 1000, 4
	for descriptors, want := range map[uint64]int{math.MaxUint64: 1000, 1 << 20: 1000, 1082: 1000, 1081: 999, 256: 174, 83: 1, 82: 1, 0: 1} {
		if got := maxClients(c, descriptors); got != want {
			t.Errorf("%d descriptors: %d clients, want %d", descriptors, got, want)
		}
	}
}
