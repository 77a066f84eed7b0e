package doctor

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// judgeSlot judges the place in the log from which changes are read.
func judgeSlot(f *Facts) (out findings) {
	if f.Database == nil || f.Database.Slot.Name == "" {
		return nil
	}
	s := &f.Database.Slot
	reader := f.writer()
	if !s.Found {
		out.tell(Finding{Check: "slot", About: s.Name, Level: Note, Found: "is not there yet", Why: reader + " makes it when it starts"})
		judgeOtherSlots(f, &out)
		return out
	}
	unfit := unfitSlot(f)
	out.check(unfit == "", Finding{Check: "slot", About: s.Name, Level: Error, Found: ifElse(unfit == "", "is there", unfit), Wanted: "a logical slot of this database with the plugin pgoutput",
		Why: reader + " cannot read the log through it", Mend: &Mend{Do: "name another slot, or drop it", SQL: []string{"SELECT pg_drop_replication_slot('" + strings.ReplaceAll(s.Name, "'", "''") + "')"}, By: "its owner, once nobody needs it"}})
	out.check(!s.Lost, Finding{Check: "slot kept", About: s.Name, Level: Warning, Found: ifElse(s.Lost, "the server has thrown away log that was not read", "wal_status "+s.Status), Wanted: "wal_status reserved",
		Why: "it is made anew, which is another stream: every node starts empty once", Mend: do("start %s; then see why it was away for so long, or raise max_slot_wal_keep_size", reader)})
	judgeReader(f, reader, &out)
	judgeSlotLag(f, reader, &out)
	judgeOtherSlots(f, &out)
	return out
}

func unfitSlot(f *Facts) string {
	switch s := &f.Database.Slot; {
	case !s.Logical:
		return "is a physical slot"
	case s.Plugin != "pgoutput":
		return "is one of the plugin " + s.Plugin
	case !s.Here:
		return "is of another database"
	case s.TwoPhase && !f.debezium():
		return "sends transactions that are only prepared (two_phase)"
	case s.Temporary:
		return "is temporary"
	}
	return ""
}

func judgeReader(f *Facts, reader string, out *findings) {
	s := &f.Database.Slot
	out.check(s.Active, Finding{Check: "slot read", About: s.Name, Level: Warning, Found: ifElse(s.Active, "by "+s.Reader, "nobody reads it"), Wanted: reader + ", all the time",
		Why: "the server keeps the log meanwhile, and the stream stands: reads go to the database", Mend: do("start %s, or see what it waits for", reader)})
	if s.Active && !f.debezium() {
		own := strings.Contains(s.Reader, "freshet relay")
		out.check(own, Finding{Check: "slot's reader", About: s.Name, Level: Error, Found: ifElse(own, "is a relay", "is "+s.Reader), Wanted: "freshet relay",
			Why: "whatever that reads, the relay does not get", Mend: setting("relay.slot", s.Name+"_freshet")})
	}
}

// muchLag is how much log, unread, is worth a warning: what a busy server
// writes in some seconds.
const muchLag = 256 << 20

func judgeSlotLag(f *Facts, reader string, out *findings) {
	s := &f.Database.Slot
	text := bytesText(s.LagBytes) + " of log not confirmed"
	lag := s.Lag
	for i := range f.Relays {
		if r := &f.Relays[i]; lag < 0 && r.Err == nil && !r.standsBy() {
			lag = r.Metrics.seconds("freshet_relay_postgres_slot_lag_seconds")
		}
	}
	if lag >= 0 {
		text += ", " + short(lag) + " behind"
	}
	out.check(s.LagBytes < muchLag && lag < time.Minute, Finding{Check: "slot lag", About: s.Name, Level: Warning, Found: text, Wanted: fmt.Sprintf("less than %s and a minute", bytesText(muchLag)),
		Why: "changes come late by that much, and reads go to the database", Mend: do("see what %s waits for: Kafka, or a transaction that is not visible yet", reader)})
	keep := f.Database.Server.KeepBytes
	if s.SafeBytes != math.MaxInt64 && keep > 0 {
		out.check(s.SafeBytes > keep/5, Finding{Check: "slot safe", About: s.Name, Level: Warning, Found: bytesText(s.SafeBytes) + " may still be written before it is lost", Wanted: "more than a fifth of max_slot_wal_keep_size, " + bytesText(keep),
			Why: "a slot that is lost is another stream: every node starts empty once", Mend: do("let %s catch up, or raise max_slot_wal_keep_size", reader)})
	}
}

// muchKept is how much log a slot that nobody reads may keep before somebody
// should know.
const muchKept = 1 << 30

func judgeOtherSlots(f *Facts, out *findings) {
	for i := range f.Database.OtherSlots {
		s := &f.Database.OtherSlots[i]
		if s.Retained > muchKept {
			out.tell(Finding{Check: "slot of others", About: s.Name, Level: Warning, Found: "nobody reads it, and it keeps " + bytesText(s.Retained) + " of log", Wanted: "no slot that is forgotten",
				Why: "it fills the server's disk", Mend: sql("its owner, if nobody needs it any more", "SELECT pg_drop_replication_slot('"+strings.ReplaceAll(s.Name, "'", "''")+"')")})
		}
	}
}

// judgeFailover tells what a promotion of a standby would mean.
func judgeFailover(f *Facts) (out findings) {
	if f.Database == nil {
		return nil
	}
	s, c := &f.Database.Server, &f.Config.Relay
	if s.Standbys > 0 || s.Synchronous != "" || len(f.Replicas) > 0 {
		out.tell(Finding{Check: "failover", Level: Note, Found: fmt.Sprintf("standbys that follow: %d; that are read: %d", s.Standbys, len(f.Replicas)), Wanted: "an old primary that is fenced when another is promoted",
			Why: "a promotion is another stream (every node starts empty once), and whoever still writes to the old primary writes rows that no longer count"})
	}
	if f.debezium() {
		return out
	}
	if c.FailoverSlot {
		out.check(s.Version >= 170000, Finding{Check: "failover slot", Level: Error, Found: fmt.Sprintf("relay.failover_slot with PostgreSQL %d", s.Version/10000), Wanted: "PostgreSQL 17 or later",
			Why: "earlier ones have no slots that standbys keep", Mend: setting("relay.failover_slot", "false")})
		if s.Version >= 170000 && f.Database.Slot.Found {
			out.check(f.Database.Slot.Failover, Finding{Check: "failover slot", About: f.Database.Slot.Name, Level: Warning, Found: ifElse(f.Database.Slot.Failover, "standbys keep it", "it is not marked for standbys"), Wanted: "failover",
				Why: "the new primary would not have it", Mend: do("restart the relay, which marks it")})
		}
	} else if s.Version >= 170000 && s.Standbys > 0 {
		out.tell(Finding{Check: "failover slot", Level: Note, Found: "standbys do not keep the slot", Wanted: "relay.failover_slot: true, and sync_replication_slots on the standby",
			Why: "after a promotion the relay waits for a slot of its own, which waits for all running transactions", Mend: setting("relay.failover_slot", "true")})
	}
	return out
}

// judgeReplicas judges the standbys that use cases read.
func judgeReplicas(f *Facts) (out findings) {
	for i := range f.Replicas {
		r, about := &f.Replicas[i], fmt.Sprintf("source.postgres.replicas[%d]", i)
		out.check(r.Err == nil, Finding{Check: "replica", About: about, Level: Warning, Found: found(r.Err, "answers"), Wanted: "a standby that answers",
			Why: "use cases with read_from: replica are served by the others, or not at all", Mend: do("start it, or correct its URL")})
		if r.Facts == nil {
			continue
		}
		out.check(r.Facts.Standby, Finding{Check: "replica", About: about, Level: Note, Found: ifElse(r.Facts.Standby, "is a standby", "is no standby"), Wanted: "a standby",
			Why: "reads of replicas are a load of that server, and keep nothing for longer than their bound"})
		if f.Config.Relay.FailoverSlot && !f.debezium() && r.Facts.Standby {
			out.check(r.Facts.SyncSlots && r.Facts.Feedback, Finding{Check: "replica's slots", About: about, Level: Note, Found: ifElse(r.Facts.SyncSlots && r.Facts.Feedback, "it keeps the slot", "it does not keep the slot"), Wanted: "sync_replication_slots, hot_standby_feedback and a primary_slot_name, if it is to be promoted",
				Why: "promoted, it would have no slot, and the relay would wait for one of its own", Mend: sql("a superuser, on the standby", "ALTER SYSTEM SET sync_replication_slots = on", "ALTER SYSTEM SET hot_standby_feedback = on", "SELECT pg_reload_conf()")})
		}
		age := r.Facts.Clock.Sub(r.Facts.Checkpoint)
		least := leastReplicaBound(f)
		known := r.Facts.Checkpoint != 0
		out.check(known && age <= least, Finding{Check: "replica's checkpoint", About: about, Level: Warning, Found: ifElse(known, short(age)+" old", "it shows none"), Wanted: "at most " + least.String() + ", the least bound of those that read replicas",
			Why: "what a replica cannot show to be within the bound is refused", Mend: do("start %s, which writes them to %s; or raise the bounds", f.writer(), postgres.CheckpointTable)})
	}
	return out
}

func leastReplicaBound(f *Facts) time.Duration {
	least := time.Duration(proxy.Forever)
	for _, u := range f.Config.UseCases {
		if u.ReadFrom == "replica" {
			least = min(least, time.Duration(u.Bound))
		}
	}
	return least
}
