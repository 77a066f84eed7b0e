package doctor

import (
	"fmt"
	"strings"
)

func judgeSource(f *Facts) (out findings) {
	out.check(f.Reached == nil, Finding{Check: "source", Level: Error, Found: found(f.Reached, "answers"),
		Wanted: "a database that answers", Why: "nothing can be read, and nothing can be said of it", Mend: do("start it, or correct source in the configuration")})
	if f.File == nil {
		return out
	}
	out.check(f.File.Installed, Finding{Check: "outbox", Level: Note, Found: ifElse(f.File.Installed, "is installed", "is not installed yet"),
		Why: "the relay puts it into the file when it starts; until then nothing says what changes", Mend: do("start freshet relay")})
	out.check(f.File.Backlog < 100_000, Finding{Check: "outbox backlog", Level: Warning, Found: fmt.Sprintf("%d changes", f.File.Backlog),
		Wanted: "changes go to Kafka as they come", Why: "reads go to the database meanwhile, and the file grows", Mend: do("start freshet relay, or see what it waits for: /readyz on relay.admin")})
	return out
}

// judgeServer judges the settings of the server.
func judgeServer(f *Facts) (out findings) {
	if f.Database == nil {
		return nil
	}
	s := &f.Database.Server
	out.check(s.Version >= 150000, Finding{Check: "version", Level: Error, Found: fmt.Sprintf("PostgreSQL %d", s.Version/10000),
		Wanted: "PostgreSQL 15 or later", Why: "earlier ones do not tell what is needed", Mend: do("upgrade the server")})
	out.check(!s.Standby, Finding{Check: "primary", Level: Error, Found: ifElse(s.Standby, "the URL leads to a standby", "the URL leads to the primary"),
		Wanted: "the primary", Why: "a standby shows what was, and cannot prove how old that is", Mend: do("name the primary in source.postgres.url, or all servers of which one is it")})
	out.check(s.WALLevel == "logical", Finding{Check: "wal_level", Level: Error, Found: s.WALLevel, Wanted: "logical",
		Why:  "the log has no changes of rows otherwise, so nothing cached would ever be made void",
		Mend: &Mend{SQL: []string{"ALTER SYSTEM SET wal_level = 'logical'"}, By: "a superuser", Do: "restart the server"}})
	out.check(s.KeepBytes >= 0, Finding{Check: "max_slot_wal_keep_size", Level: Warning, Found: ifElse(s.KeepBytes < 0, "no limit", bytesText(s.KeepBytes)),
		Wanted: "what the server's disk can spare", Why: "while " + f.writer() + " or Kafka is away, the log that is kept for it fills the disk, and the database stops",
		Mend: sql("a superuser", "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'", "SELECT pg_reload_conf()")})
	judgeRoom(f, &out)
	judgeText(f, &out)
	return out
}

// judgeRoom judges whether a slot can be made, and read.
func judgeRoom(f *Facts, out *findings) {
	s := &f.Database.Server
	out.check(f.Database.Slot.Found || s.Slots < s.MaxSlots, Finding{Check: "max_replication_slots", Level: Error, Found: fmt.Sprintf("%d of %d are taken", s.Slots, s.MaxSlots),
		Wanted: "one that is free", Why: "the log is read through a slot", Mend: roomMend("max_replication_slots", s.MaxSlots+4)})
	out.check(f.Database.Slot.Active || s.Senders < s.MaxSenders, Finding{Check: "max_wal_senders", Level: Error, Found: fmt.Sprintf("%d of %d are taken", s.Senders, s.MaxSenders),
		Wanted: "one that is free", Why: "each reader of the log takes one", Mend: roomMend("max_wal_senders", s.MaxSenders+4)})
	if s.IdleTimeout > 0 {
		out.check(s.IdleTimeout >= f.Outage, Finding{Check: "idle_replication_slot_timeout", Level: Warning, Found: s.IdleTimeout.String(), Wanted: "at least " + f.Outage.String(),
			Why:  f.writer() + " finds its slot gone if it is away for longer: every node starts empty",
			Mend: sql("a superuser", fmt.Sprintf("ALTER SYSTEM SET idle_replication_slot_timeout = '%ds'", int(2*f.Outage.Seconds())), "SELECT pg_reload_conf()")})
	}
	if !f.Database.Slot.Found {
		out.check(s.Prepared == 0, Finding{Check: "prepared transactions", Level: Warning, Found: fmt.Sprintf("%d are prepared and not ended", s.Prepared), Wanted: "none",
			Why: "a slot that is new waits for all of them to end", Mend: do("see pg_prepared_xacts, and end those that were forgotten: ROLLBACK PREPARED")})
		out.check(s.OldestWriter < oldWriter, Finding{Check: "running transactions", Level: Warning, Found: fmt.Sprintf("the oldest has run for %v", s.OldestWriter), Wanted: "less than " + oldWriter.String(),
			Why: "a slot that is new waits for all of them to end", Mend: do("see pg_stat_activity for those with a backend_xid, and end what was forgotten")})
	}
}

func roomMend(name string, n int) *Mend {
	return &Mend{SQL: []string{fmt.Sprintf("ALTER SYSTEM SET %s = %d", name, n)}, By: "a superuser", Do: "restart the server"}
}

// judgeText judges what decides the text of values: byte for byte the same in
// a read and in a change.
func judgeText(f *Facts, out *findings) {
	s := &f.Database.Server
	out.check(s.Settled, Finding{Check: "text of values", Level: Error, Found: ifElse(s.Settled, "the settings that it depends on hold", "a session does not keep the settings that it depends on"),
		Wanted: "sessions that keep their settings", Why: "one value would have several texts, and one key several spellings",
		Mend: do("look for what changes settings in a session that has begun: a pooler, or its server_reset_query")})
	if len(s.Defaults) > 0 {
		out.tell(Finding{Check: "defaults of role and database", Level: Note, Found: strings.Join(s.Defaults, ", "),
			Why: "sessions of Freshet set their own instead; programs that compare their texts with Freshet's see others"})
	}
	if s.Pooled {
		out.tell(Finding{Check: "pooler", Level: Note, Found: "stands in front of the database",
			Why: "nodes may come through it in session and in transaction mode; " + f.writer() + " needs a URL of its own that leads past it"})
	}
}

// judgeAccepted adds what nodes and relays would refuse that nothing else has
// named.
func judgeAccepted(f *Facts) (out findings) {
	if f.Reached != nil {
		return nil
	}
	var named findings
	for _, judge := range []func(*Facts) findings{judgeServer, judgeRights, judgeTables, judgePublication, judgeSlot} {
		named = append(named, judge(f)...)
	}
	fine := named.worst() < Error
	if f.Accepted == nil || fine {
		out.check(f.Accepted == nil, Finding{Check: "use cases", Level: Error, Found: found(f.Accepted, "a node can serve them"), Wanted: "what freshet serve --check accepts",
			Why: "a node does not start", Mend: do("as it says")})
	}
	// A slot that a relay reads shows that one can; and another, to try it, may
	// be one too many for the server.
	reads := f.Database != nil && f.Database.Slot.Active
	if !f.debezium() && !reads && (f.Shippable == nil || fine && f.Accepted == nil) {
		out.check(f.Shippable == nil, Finding{Check: "changes", Level: Error, Found: found(f.Shippable, "a relay can ship them"), Wanted: "what freshet relay --check accepts",
			Why: "a relay does not ship", Mend: do("as it says")})
	}
	return out
}
