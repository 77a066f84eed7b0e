package doctor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// A wrong deployment is one that is as it should be, but for one thing.
type wrong struct {
	what string
	base func(*testing.T) *Facts
	make func(*Facts)
	want []string // findings that are not fine: "level check (about)"
}

func set(name, value string) func(*Facts) {
	return func(f *Facts) { f.Topics[0].Facts.Settings[name] = value }
}

func server(change func(*postgres.Server)) func(*Facts) {
	return func(f *Facts) { change(&f.Database.Server) }
}

func slot(change func(*postgres.Slot)) func(*Facts) {
	return func(f *Facts) { change(&f.Database.Slot) }
}

func table(i int, change func(*postgres.Inspected)) func(*Facts) {
	return func(f *Facts) { change(&f.Database.Tables[i]) }
}

func stream(change func(*Stream)) func(*Facts) {
	return func(f *Facts) { change(f.Topics[0].Stream) }
}

func metric(name string, value float64) func(*Facts) {
	return func(f *Facts) { f.Nodes[0].Metrics[name] = value }
}

func connector(name, value string) func(*Facts) {
	return func(f *Facts) {
		if value == "" {
			delete(f.Connectors[0].Config, name)
		} else {
			f.Connectors[0].Config[name] = value
		}
	}
}

var errAway = errors.New("connection refused")

// Where the parts of the deployments answer.
const (
	nodeAt  = "10.0.0.8:6480"
	relayAt = "10.0.0.7:6481"
)

var wrongs = []wrong{
	{"no database", relayed, func(f *Facts) { f.Database, f.Reached = nil, errAway }, []string{"error source"}},
	{"no outbox yet", kept, func(f *Facts) { f.File.Installed = false }, []string{"note outbox"}},
	{"a long outbox", kept, func(f *Facts) { f.File.Backlog = 1_000_000 }, []string{"warning outbox backlog"}},
	{"no file", kept, func(f *Facts) { f.File, f.Reached = nil, errAway }, []string{"error source"}},

	{"an old server", relayed, server(func(s *postgres.Server) { s.Version = 140002 }), []string{"error version"}},
	{"a standby", relayed, server(func(s *postgres.Server) { s.Standby = true }), []string{"error primary"}},
	{"no changes in the log", relayed, server(func(s *postgres.Server) { s.WALLevel = "replica" }), []string{"error wal_level"}},
	{"a disk that fills", relayed, server(func(s *postgres.Server) { s.KeepBytes = -1 }), []string{"warning max_slot_wal_keep_size"}},
	{"no slot to be had", relayed, func(f *Facts) {
		f.Database.Server.Slots, f.Database.Slot = 10, postgres.Slot{Name: "freshet"}
	}, []string{"error max_replication_slots", "note slot (freshet)"}},
	{"no sender to be had", relayed, func(f *Facts) {
		f.Database.Server.Senders, f.Database.Slot.Active = 10, false
	}, []string{"error max_wal_senders", "warning slot read (freshet)"}},
	{"impatience with slots", relayed, server(func(s *postgres.Server) { s.IdleTimeout = time.Minute }), []string{"warning idle_replication_slot_timeout"}},
	{"patience with slots", relayed, server(func(s *postgres.Server) { s.IdleTimeout = 2 * time.Hour }), nil},
	{"forgotten transactions", relayed, func(f *Facts) {
		f.Database.Server.Prepared, f.Database.Server.OldestWriter, f.Database.Slot = 2, time.Hour, postgres.Slot{Name: "freshet"}
	}, []string{"note slot (freshet)", "warning prepared transactions", "warning running transactions"}},
	{"a session that forgets", relayed, server(func(s *postgres.Server) { s.Settled = false }), []string{"error text of values"}},
	{"German dates", relayed, server(func(s *postgres.Server) { s.Defaults = []string{"DateStyle=German"} }), []string{"note defaults of role and database"}},
	{"a pooler", relayed, server(func(s *postgres.Server) { s.Pooled = true }), []string{"note pooler"}},
	{"something else that a node refuses", relayed, func(f *Facts) { f.Accepted = errAway }, []string{"error use cases"}},
	{"something else that a relay refuses", relayed, func(f *Facts) { f.Shippable, f.Database.Slot.Active = errAway, false }, []string{"error changes", "warning slot read (freshet)"}},
	{"what a relay refuses, while one ships", relayed, func(f *Facts) { f.Shippable = errAway }, nil},
	{"what is refused and named already", relayed, func(f *Facts) {
		f.Accepted, f.Shippable, f.Database.Server.WALLevel = errAway, errAway, "replica"
	}, []string{"error wal_level"}},

	{"no right to the log", relayed, server(func(s *postgres.Server) { s.Replication = false }), []string{"error right to read the log"}},
	{"no right to the log, which a connector has", captured, server(func(s *postgres.Server) { s.Replication = false }), nil},
	{"no right to read", relayed, table(0, func(t *postgres.Inspected) { t.Table.Readable = false }), []string{"error right to read (users)"}},
	{"no right to write", relayed, table(0, func(t *postgres.Inspected) { t.Writable = false }), []string{"warning right to write (users)"}},
	{"no right to write what is read only", relayed, table(2, func(t *postgres.Inspected) { t.Writable = false }), nil},
	{"row security", relayed, table(0, func(t *postgres.Inspected) { t.Table.Filtered = true }), []string{"warning row security (users)"}},

	{"no table", relayed, table(0, func(t *postgres.Inspected) { t.Table, t.Missing = nil, errAway }), []string{"error table (users)"}},
	{"no keys", relayed, table(1, func(t *postgres.Inspected) { t.Unfit = errAway }), []string{"error keys (by-email)"}},
	{"unlogged", relayed, table(2, func(t *postgres.Inspected) { t.Table.Leaves[0].Logged = false }), []string{"error logged (log.visits)"}},
	{"keys that changes do not tell", relayed, table(1, func(t *postgres.Inspected) {
		t.Table.Leaves[0].Full, t.Table.Leaves[0].Identity = false, []string{"id"}
	}), []string{"error replica identity (by-email)"}},
	{"keys that changes tell", relayed, table(1, func(t *postgres.Inspected) {
		t.Table.Leaves[0].Full, t.Table.Leaves[0].Identity = false, []string{"email", "id"}
	}), nil},
	{"no publication, and no right to make it", relayed, func(f *Facts) {
		f.Database.Publication, f.Database.Server.Create = postgres.Publication{Name: "freshet"}, false
	}, []string{"error publication (freshet)"}},
	{"no publication yet", relayed, func(f *Facts) { f.Database.Publication = postgres.Publication{Name: "freshet"} }, []string{"note publication (freshet)"}},
	{"no publication yet, which a connector makes", captured, func(f *Facts) {
		f.Database.Publication = postgres.Publication{Name: "dbz_publication"}
	}, []string{"note publication (dbz_publication)"}},
	{"no publication, which a connector leaves to others", captured, func(f *Facts) {
		f.Database.Publication = postgres.Publication{Name: "dbz_publication"}
		f.Connectors[0].Config["publication.autocreate.mode"] = "disabled"
	}, []string{"error publication (dbz_publication)"}},
	{"no truncates", relayed, func(f *Facts) { f.Database.Publication.Omits = []string{"truncate"} }, []string{"error publication (freshet)"}},
	{"partitions by their own names", relayed, func(f *Facts) { f.Database.Publication.ViaRoot = false }, []string{"error partitions (freshet)"}},
	{"partitions that there are none of", captured, func(f *Facts) { f.Database.Publication.ViaRoot = false }, nil},
	{"partitions by their own names, through a connector", captured, func(f *Facts) {
		f.Database.Publication.ViaRoot, f.Database.Tables[0].Table.Kind = false, 'p'
	}, []string{"error partitions (dbz_publication)"}},
	{"a table of others that is not published", relayed, func(f *Facts) {
		f.Database.Tables[2].Published.In, f.Database.Tables[2].Owned = false, false
	}, []string{"error published (log.visits)"}},
	{"a table that is not published yet", relayed, table(2, func(t *postgres.Inspected) { t.Published.In = false }), []string{"note published (log.visits)"}},
	{"a row filter", relayed, table(0, func(t *postgres.Inspected) { t.Published.Rows = true }), []string{"error row filter (users)"}},
	{"a column list", relayed, table(0, func(t *postgres.Inspected) { t.Published.Columns = true }), []string{"error column list (users)"}},
	{"a partition", relayed, table(2, func(t *postgres.Inspected) { t.Published.Above = "log.all" }), []string{"error partition (log.visits)"}},

	{"no slot yet", relayed, func(f *Facts) { f.Database.Slot = postgres.Slot{Name: "freshet"} }, []string{"note slot (freshet)"}},
	{"a slot of another plugin", relayed, slot(func(s *postgres.Slot) { s.Plugin = "wal2json" }), []string{"error slot (freshet)"}},
	{"a physical slot", relayed, slot(func(s *postgres.Slot) { s.Logical = false }), []string{"error slot (freshet)"}},
	{"a slot of another database", relayed, slot(func(s *postgres.Slot) { s.Here = false }), []string{"error slot (freshet)"}},
	{"a slot that prepares", relayed, slot(func(s *postgres.Slot) { s.TwoPhase = true }), []string{"error slot (freshet)"}},
	{"a temporary slot", relayed, slot(func(s *postgres.Slot) { s.Temporary = true }), []string{"error slot (freshet)"}},
	{"a lost slot", relayed, slot(func(s *postgres.Slot) { s.Lost, s.Active = true, false }), []string{"warning slot kept (freshet)", "warning slot read (freshet)"}},
	{"a slot that nobody reads", relayed, slot(func(s *postgres.Slot) { s.Active = false }), []string{"warning slot read (freshet)"}},
	{"a slot that another reads", relayed, slot(func(s *postgres.Slot) { s.Reader = "'pg_recvlogical' from 10.0.0.9" }), []string{"error slot's reader (freshet)"}},
	{"log that is not read", relayed, slot(func(s *postgres.Slot) { s.LagBytes = 1 << 30 }), []string{"warning slot lag (freshet)"}},
	{"log that is late", relayed, slot(func(s *postgres.Slot) { s.Lag = time.Hour }), []string{"warning slot lag (freshet)"}},
	{"log that is late, as the relay says", relayed, func(f *Facts) { f.Relays[1].Metrics["freshet_relay_postgres_slot_lag_seconds"] = 100 }, []string{"warning slot lag (freshet)"}},
	{"a slot in danger", relayed, slot(func(s *postgres.Slot) { s.SafeBytes = 1 << 30 }), []string{"warning slot safe (freshet)"}},
	{"a slot that is safe", relayed, slot(func(s *postgres.Slot) { s.SafeBytes = 40 << 30 }), nil},
	{"a slot that was forgotten", relayed, func(f *Facts) {
		f.Database.OtherSlots = []postgres.Slot{{Name: "old", Retained: 5 << 30}, {Name: "small", Retained: 5 << 20}}
	}, []string{"warning slot of others (old)"}},
	{"standbys", relayed, server(func(s *postgres.Server) { s.Standbys = 1 }), []string{"note failover slot"}},
	{"a failover slot too early", relayed, func(f *Facts) {
		f.Config.Relay.FailoverSlot, f.Database.Server.Version, f.Replicas = true, 160000, nil
	}, []string{"error failover slot"}},
	{"a failover slot that is none", relayed, func(f *Facts) { f.Config.Relay.FailoverSlot, f.Replicas = true, nil }, []string{"warning failover slot (freshet)"}},
	{"a failover slot", relayed, func(f *Facts) {
		f.Config.Relay.FailoverSlot, f.Database.Slot.Failover = true, true
		f.Replicas[0].Facts.SyncSlots, f.Replicas[0].Facts.Feedback = true, true
	}, nil},
	{"a standby without the slot", relayed, func(f *Facts) { f.Config.Relay.FailoverSlot, f.Database.Slot.Failover = true, true }, []string{"note replica's slots (source.postgres.replicas[0])"}},
	{"no replica", relayed, func(f *Facts) { f.Replicas[0] = Replica{Err: errAway} }, []string{"warning replica (source.postgres.replicas[0])"}},
	{"a replica that is none", relayed, func(f *Facts) { f.Replicas[0].Facts.Standby = false }, []string{"note replica (source.postgres.replicas[0])"}},
	{"a replica without checkpoints", relayed, func(f *Facts) { f.Replicas[0].Facts.Checkpoint = 0 }, []string{"warning replica's checkpoint (source.postgres.replicas[0])"}},
	{"a replica that is late", relayed, func(f *Facts) { f.Replicas[0].Facts.Clock = proxy.Time(time.Minute) }, []string{"warning replica's checkpoint (source.postgres.replicas[0])"}},

	{"no broker", relayed, func(f *Facts) { f.Topics[0] = Topic{Name: "changes", Err: errAway} }, []string{"error topic (changes)"}},
	{"no topic yet", relayed, func(f *Facts) {
		f.Topics[0].Facts.Found, f.Topics[0].Stream = false, nil
		f.Topics[0].Facts.Settings["default.replication.factor"] = "3"
	}, []string{"note topic (changes)"}},
	{"no topic yet, and one replica to be", relayed, func(f *Facts) {
		f.Topics[0].Facts.Found, f.Topics[0].Stream = false, nil
		f.Config.Relay.Replication = 1
	}, []string{"note topic (changes)", "warning replication (changes)"}},
	{"no topic yet, and too few brokers", relayed, func(f *Facts) {
		f.Topics[0].Facts.Found, f.Topics[0].Stream = false, nil
		f.Config.Relay.Replication = 5
	}, []string{"error replication (changes)", "note topic (changes)"}},
	{"a connector without a topic", captured, func(f *Facts) { f.Topics[0].Facts.Found, f.Topics[0].Stream = false, nil }, []string{"warning topic (shop.public.users)"}},
	{"no leader", relayed, func(f *Facts) { f.Topics[0].Facts.Leaderless = []int{2} }, []string{"error leaders (changes)"}},
	{"another number of partitions", relayed, func(f *Facts) { f.Config.Relay.Partitions = 8 }, []string{"note partitions (changes)"}},
	{"settings that nobody may see", relayed, func(f *Facts) { clear(f.Topics[0].Facts.Settings) }, []string{"note topic's settings (changes)"}},
	{"compaction", relayed, set("cleanup.policy", "compact,delete"), []string{"error cleanup.policy (changes)"}},
	{"compaction of a connector's topic", captured, set("cleanup.policy", "compact"), []string{"warning cleanup.policy (shop.public.users)"}},
	{"small batches", relayed, set("max.message.bytes", "1000"), []string{"error max.message.bytes (changes)"}},
	{"one replica", relayed, func(f *Facts) { f.Topics[0].Facts.Replicas, f.Topics[0].Facts.Settings["min.insync.replicas"] = 1, "1" }, []string{"warning replication (changes)"}},
	{"one broker", relayed, func(f *Facts) {
		t := f.Topics[0].Facts
		t.Replicas, t.Brokers, t.InSync, t.Settings["min.insync.replicas"] = 1, 1, 1, "1"
	}, []string{"note replication (changes)"}},
	{"one in sync", relayed, set("min.insync.replicas", "1"), []string{"warning min.insync.replicas (changes)"}},
	{"one in sync, of a connector's", captured, set("min.insync.replicas", "1"), []string{"error min.insync.replicas (shop.public.users)"}},
	{"too many in sync", relayed, set("min.insync.replicas", "4"), []string{"error min.insync.replicas (changes)"}},
	{"replicas away", relayed, func(f *Facts) { f.Topics[0].Facts.InSync = 1 }, []string{"error min.insync.replicas (changes)"}},
	{"unclean elections", relayed, set("unclean.leader.election.enable", "true"), []string{"warning unclean election (changes)"}},
	{"unclean elections of a connector's", captured, set("unclean.leader.election.enable", "true"), []string{"error unclean election (shop.public.users)"}},
	{"a short memory", relayed, set("retention.ms", "1800000"), []string{"warning retention.ms (changes)"}},
	{"no memory", relayed, set("retention.ms", "60000"), []string{"error retention.ms (changes)"}},
	{"for ever", relayed, set("retention.ms", "-1"), nil},
	{"for ever and longer", relayed, set("retention.ms", "9223372036854775807"), nil},
	{"a small memory", relayed, set("retention.bytes", "1000000"), []string{"warning retention.bytes (changes)"}},
	{"a large memory", relayed, set("retention.bytes", "1000000000"), nil},
	{"a memory of some size", relayed, func(f *Facts) {
		f.Topics[0].Facts.Settings["retention.bytes"], f.Topics[0].Stream = "1000000", nil
	}, []string{"note retention.bytes (changes)"}},

	{"a topic that cannot be read", relayed, stream(func(s *Stream) { s.Waiting = "attaching" }), []string{"error stream (changes)"}},
	{"a gap", relayed, stream(func(s *Stream) { s.Gap = "log_cut" }), []string{"warning gap (changes)"}},
	{"records of others", relayed, stream(func(s *Stream) { s.Undecodable, s.Reason = 3, "version is not known" }), []string{"error records (changes)"}},
	{"no checkpoints", relayed, stream(func(s *Stream) { s.Checkpoints, s.Silent = 0, []int{0, 1, 2, 3} }), []string{"warning checkpoints (changes)"}},
	{"a partition without checkpoints", relayed, stream(func(s *Stream) { s.Silent = []int{3} }), []string{"error checkpoints (changes)"}},
	{"a partition whose checkpoints may still come", relayed, stream(func(s *Stream) { s.Silent, s.Checkpoints = []int{3}, 5 }), []string{"note checkpoints (changes)"}},
	{"rows that do not reach a partition", captured, stream(func(s *Stream) { s.Silent = []int{3} }), []string{"error checkpoints (shop.public.users)"}},
	{"checkpoints of the future", relayed, stream(func(s *Stream) { s.Future = 1 }), []string{"error checkpoints' time (changes)"}},
	{"two relays", relayed, stream(func(s *Stream) { s.Streams, s.Turns = 2, 7 }), []string{"error writers (changes)"}},
	{"a relay that began anew", relayed, stream(func(s *Stream) { s.Streams, s.Turns = 2, 1 }), nil},
	{"partitions added", relayed, func(f *Facts) { f.Topics[0].Facts.Partitions, f.Config.Relay.Partitions = 6, 6 }, []string{"error partitions of the stream (changes)"}},
	{"a relay of another configuration", relayed, stream(func(s *Stream) { s.Last.Slot = "other" }), []string{"error slot of the stream (changes)"}},
	{"another database's relay", relayed, stream(func(s *Stream) { s.Last.Source.System = 8 }), []string{"error source of the stream (changes)"}},
	{"a stream from before a restart", relayed, stream(func(s *Stream) { s.Last.Source.Started, s.Checkpoints = 1, 0 }), []string{"note source of the stream (changes)", "warning checkpoints (changes)"}},

	{"a source that is not asked", captured, func(f *Facts) { f.Config.Stream.Debezium.VisibilityLag = config.Duration(time.Second) }, []string{"note visibility lag"}},

	{"no clock", relayed, func(f *Facts) { f.Clock = Clock{Err: errAway} }, []string{"error clock"}},
	{"no clock of a file yet", kept, func(f *Facts) { f.Clock = Clock{Err: errAway} }, []string{"note clock"}},
	{"a wide clock", relayed, func(f *Facts) { f.Clock.Width = 600 * time.Millisecond }, []string{"warning clock"}},
	{"another clock here", relayed, func(f *Facts) { f.Clock.Offset = -time.Minute }, []string{"note clock of this machine"}},
	{"a bound that is not carried", relayed, func(f *Facts) { f.Config.UseCases[0].Bound = config.Duration(50 * time.Millisecond) }, []string{"warning bound (users)"}},
	{"a bound that a slow stream does not carry", relayed, stream(func(s *Stream) { s.Pipeline.Delay = 3 * time.Second }), []string{"warning bound (by-email)", "warning bound (users)"}},
	{"a bound that a node's clock does not carry", relayed, metric("freshet_clock_width_seconds", 3), []string{"warning bound (by-email)", "warning bound (users)"}},
	{"a bound that is not carried at best", relayed, func(f *Facts) {
		f.Topics[0].Stream, f.Config.UseCases[0].Bound = nil, config.Duration(50*time.Millisecond)
	}, []string{"warning bound (users)"}},
	{"no bound", relayed, func(f *Facts) { f.Config.UseCases[0].Bound = 0 }, []string{"note bound (users)"}},

	{"no node", relayed, func(f *Facts) { f.Nodes[0].Err = errAway }, []string{"note node (" + nodeAt + ")"}},
	{"a node that is degraded", relayed, func(f *Facts) { f.Nodes[0].Problems = []string{"source: away"} }, []string{"warning ready (" + nodeAt + ")"}},
	{"a node that is not ready", relayed, func(f *Facts) { f.Nodes[0].Ready = false }, []string{"error ready (" + nodeAt + ")"}},
	{"an old watermark", relayed, metric("freshet_watermark_age_seconds", 5), []string{"warning watermark (" + nodeAt + ")"}},
	{"gaps", relayed, metric(`freshet_cdc_gaps_total{reason="hole"}`, 2), []string{"note gaps (" + nodeAt + ")"}},
	{"undecodable", relayed, metric("freshet_cdc_undecodable_total", 2), []string{"error undecodable (" + nodeAt + ")"}},
	{"lies", relayed, metric("freshet_cdc_lies_total", 2), []string{"error lies (" + nodeAt + ")"}},
	{"stale answers", relayed, metric(`freshet_cache_stale_reads_total{usecase="users"}`, 2), []string{"note answers outside the bound (" + nodeAt + ")"}},
	{"no relay", relayed, func(f *Facts) { f.Relays[1].Err = errAway }, []string{"note relay (" + relayAt + ")"}},
	{"a relay that waits", relayed, func(f *Facts) { f.Relays[1].Ready, f.Relays[1].Problems = false, []string{"waits"} }, []string{"warning relay ready (" + relayAt + ")"}},
	{"no relay that stands by", relayed, func(f *Facts) { f.Relays = f.Relays[1:] }, []string{"note relay that stands by"}},
	{"relays that all stand by", relayed, func(f *Facts) { f.Relays = f.Relays[:1] }, nil}, // for one that was not named
	{"a relay that is late", relayed, func(f *Facts) { f.Relays[1].Metrics["freshet_relay_lag_seconds"] = 30 }, []string{"warning relay lag (" + relayAt + ")"}},
	{"a relay that has lost slots", relayed, func(f *Facts) { f.Relays[1].Metrics["freshet_relay_postgres_slots_lost_total"] = 1 }, []string{"warning slots lost (" + relayAt + ")"}},

	{"an open port", relayed, func(f *Facts) { f.Config.Node.Listen, f.Config.Node.Insecure = "0.0.0.0:6400", true }, []string{"warning users (0.0.0.0:6400)"}},
	{"an open admin port", relayed, func(f *Facts) { f.Config.Node.Admin = "0.0.0.0:6480" }, []string{"note admin port (0.0.0.0:6480)"}},
	{"an open admin port of the relay", relayed, func(f *Facts) { f.Config.Relay.Admin = ":6481" }, []string{"note admin port (:6481)"}},
	{"no TLS to the database", relayed, server(func(s *postgres.Server) { s.Encrypted = false }), []string{"warning connection to the database"}},
	{"TLS with anybody", relayed, server(func(s *postgres.Server) { s.Verified = false }), []string{"warning connection to the database"}},
	{"no TLS within this machine", relayed, server(func(s *postgres.Server) { s.Encrypted, s.Remote = false, false }), nil},
	{"no TLS to Kafka", relayed, func(f *Facts) { f.Config.Stream.Kafka.TLS.Enabled = false }, []string{"warning connection to Kafka"}},

	{"no connector to look at", captured, func(f *Facts) { f.Connectors = nil }, []string{"note connector"}},
	{"no Kafka Connect", captured, func(f *Facts) { f.Connectors, f.Connect = nil, errAway }, []string{"warning connector"}},
	{"a failed task", captured, func(f *Facts) { f.Connectors[0].State = "FAILED" }, []string{"error task (shop)"}},
	{"truncates skipped", captured, connector("skipped.operations", ""), []string{"error skipped.operations (shop)"}},
	{"errors tolerated", captured, connector("errors.tolerance", "all"), []string{"error errors.tolerance (shop)"}},
	{"records that change places", captured, connector("producer.override.enable.idempotence", "false"), []string{"error producer.override.enable.idempotence (shop)"}},
	{"records that are lost", captured, connector("producer.override.acks", "1"), []string{"error producer.override.acks (shop)"}},
	{"another placeholder", captured, connector("unavailable.value.placeholder", "?"), []string{"error unavailable.value.placeholder (shop)"}},
	{"rounded numbers", captured, connector("decimal.handling.mode", "double"), []string{"warning decimal.handling.mode (shop)"}},
	{"no tombstones", captured, connector("tombstones.on.delete", "false"), nil},
	{"a slow poll", captured, connector("poll.interval.ms", ""), []string{"note poll.interval.ms (shop)"}},
	{"a heartbeat that is compiled", captured, connector("database.initial.statements", ""), []string{"note database.initial.statements (shop)"}},
	{"Avro keys", captured, connector("key.converter", "io.confluent.connect.avro.AvroConverter"), []string{"error key.converter (shop)"}},
	{"Avro values", captured, connector("value.converter", "io.confluent.connect.avro.AvroConverter"), []string{"error value.converter (shop)"}},
	{"another plugin", captured, connector("plugin.name", ""), []string{"error plugin.name (shop)"}},
	{"a slot that is dropped", captured, connector("slot.drop.on.stop", "true"), []string{"error slot.drop.on.stop (shop)"}},
	{"no heartbeat", captured, connector("heartbeat.interval.ms", ""), []string{"error heartbeat.interval.ms (shop)"}},
	{"a slow heartbeat", captured, connector("heartbeat.interval.ms", "5000"), []string{"warning bound (users)", "warning bound (visits)", "warning heartbeat.interval.ms (shop)"}},
	{"a heartbeat of nothing", captured, connector("heartbeat.action.query", ""), []string{"error heartbeat.action.query (shop)"}},
	{"another heartbeat", captured, connector("heartbeat.action.query", "UPDATE freshet_checkpoint SET t = 0"), []string{"warning heartbeat.action.query (shop)"}},
	{"a table of checkpoints without a name", captured, func(f *Facts) { f.Config.Stream.Debezium.CheckpointTable = "a.b.c" }, []string{"error checkpoint table", "error heartbeat.action.query (shop)"}},
	{"records left out", captured, func(f *Facts) {
		f.Connectors[0].Config["transforms"] += ",f"
		f.Connectors[0].Config["transforms.f.type"] = "io.debezium.transforms.Filter"
	}, []string{"error transform f (shop)"}},
	{"flattened, without its deletes", captured, func(f *Facts) {
		f.Connectors[0].Config["transforms"] += ",flat"
		f.Connectors[0].Config["transforms.flat.type"] = "io.debezium.transforms.ExtractNewRecordState"
	}, []string{"error deletes of flat (shop)", "error fields of flat (shop)"}},
	{"flattened as it should be", captured, func(f *Facts) {
		maps.Copy(f.Connectors[0].Config, map[string]string{
			"transforms": "flat," + f.Connectors[0].Config["transforms"], "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState",
			"transforms.flat.delete.tombstone.handling.mode": "rewrite", "transforms.flat.add.fields": "op, schema,table,source.txId,source.snapshot",
		})
	}, nil},
	{"checkpoints that are led nowhere", captured, connector("transforms.freshetCheckpoint2.regex", "x"), []string{"error checkpoints' topic (shop)"}},
	{"rows that are led elsewhere", captured, connector("transforms.rows.replacement", "$1.log"), []string{"error topic of a table (shop)"}},
	{"a router that is not known", captured, connector("transforms.rows.type", "com.example.RouterOfOurs"), nil},
	{"tables not captured", captured, connector("table.include.list", "public.users"), []string{"error captured tables (shop)"}},
	{"a schema not captured", captured, connector("schema.exclude.list", "log"), []string{"error captured tables (shop)"}},
	{"keys not captured", captured, connector("column.exclude.list", `log\.visits\.id`), []string{"error captured columns (shop)"}},
	{"no table of checkpoints", captured, func(f *Facts) { f.Database.Checkpoints[1].Found = false }, []string{"error checkpoint table (freshet_checkpoint_2)"}},
	{"too few rows", captured, func(f *Facts) { f.Database.Checkpoints[1].Rows = 3 }, []string{"error checkpoint rows (freshet_checkpoint_2)"}},
	{"rows that are not published", captured, func(f *Facts) { f.Database.Checkpoints[0].Published.In = false }, []string{"error checkpoint rows published (freshet_checkpoint)"}},
}

// unfine are the findings that are not fine, but those that the base has.
func unfine(all []Finding, but ...string) (out []string) {
	for i := range all {
		text := fmt.Sprintf("%s %s", all[i].Level, all[i].title())
		if all[i].Level > OK && !slices.Contains(but, text) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// What is as it should be has no findings, but that of the replicas' failover.
func TestNothingWrong(t *testing.T) {
	for name, base := range map[string]func(*testing.T) *Facts{"relayed": relayed, "captured": captured, "kept": kept} {
		if bad := unfine(judge(base(t)), "note failover"); len(bad) > 0 {
			t.Errorf("%s: %q", name, bad)
		}
	}
}

// One thing wrong is exactly one finding, or those that belong together.
func TestOneThingWrong(t *testing.T) {
	for _, w := range wrongs {
		f := w.base(t)
		w.make(f)
		all := judge(f)
		if got := unfine(all, "note failover"); !slices.Equal(got, w.want) {
			t.Errorf("%s: found %q, want %q", w.what, got, w.want)
		}
		for _, finding := range all {
			if finding.Level >= Warning && (finding.Found == "" || finding.Wanted == "" || finding.Why == "" || finding.Mend == nil) {
				t.Errorf("%s: a finding says too little: %+v", w.what, finding)
			}
		}
	}
}

// Each check is shown to be able to fail.
func TestEachCheckCanFail(t *testing.T) {
	made, failed := map[string]bool{}, map[string]bool{}
	for _, w := range wrongs {
		f := w.base(t)
		w.make(f)
		for _, finding := range judge(f) {
			made[finding.Check] = true
			if finding.Level > OK {
				failed[finding.Check] = true
			}
		}
	}
	for check := range made {
		if !failed[check] && check != "tombstones.on.delete" { // either will do
			t.Errorf("check %q never fails here", check)
		}
	}
}

// Names that need quotes are quoted in what is to be run.
func TestMendsQuoteNames(t *testing.T) {
	f := relayed(t)
	f.Database.Server.User = `o"brien`
	f.Database.Server.Replication = false
	f.Database.Slot.Name, f.Database.Slot.Plugin = "it's", "x"
	var sql []string
	for _, finding := range judge(f) {
		if finding.Mend != nil {
			sql = append(sql, finding.Mend.SQL...)
		}
	}
	all := strings.Join(sql, "\n")
	for _, want := range []string{`ALTER ROLE "o""brien" REPLICATION`, `pg_drop_replication_slot('it''s')`} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in\n%s", want, all)
		}
	}
}
