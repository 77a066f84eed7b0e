package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// judgeNodes judges what running nodes say of themselves.
func judgeNodes(f *Facts) (out findings) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		out.check(n.Err == nil, Finding{Check: "node", About: n.Address, Level: Note, Found: found(n.Err, "answers"), Wanted: "a node that runs", Why: "what it would tell of itself is not checked", Mend: do("start freshet serve, or name the admin ports of the nodes with --node")})
		if n.Err == nil {
			judgeNode(f, n, &out)
		}
	}
	return out
}

func judgeNode(f *Facts, n *Endpoint, out *findings) {
	m := n.Metrics
	fine := n.Ready && len(n.Problems) == 0
	out.check(fine, Finding{Check: "ready", About: n.Address, Level: ifElse(n.Ready, Warning, Error), Found: ifElse(fine, "ready", strings.Join(append([]string{ifElse(n.Ready, "ready, degraded", "not ready")}, n.Problems...), "; ")), Wanted: "ready",
		Why: ifElse(n.Ready, "it serves, and reads go to the database", "it serves nobody"), Mend: do("mend what it names")})
	if age := m.seconds("freshet_watermark_age_seconds"); fine {
		limit := standstill(f)
		out.check(age >= 0 && age <= limit, Finding{Check: "watermark", About: n.Address, Level: Warning, Found: short(age) + " old", Wanted: "at most " + short(limit), Why: "the stream stands, and reads go to the database", Mend: do("see what %s waits for, and whether Kafka is slow", f.writer())})
	}
	gaps := m.sum("freshet_cdc_gaps_total", `reason="start"`)
	out.check(gaps == 0, Finding{Check: "gaps", About: n.Address, Level: Note, Found: fmt.Sprintf("%.0f since it started, beside the start itself", gaps), Wanted: "none", Why: "each has emptied the cache", Mend: do("see the reasons in freshet_cdc_gaps_total, and freshet's manual of package cdc/kafka")})
	broken := m.sum("freshet_cdc_undecodable_total", "")
	out.check(broken == 0, Finding{Check: "undecodable", About: n.Address, Level: Error, Found: fmt.Sprintf("%.0f records", broken), Wanted: "none", Why: "each has made a table void, or all", Mend: do("FRESHET.LAG names the last one: partition, offset and reason")})
	lies := m.sum("freshet_cdc_lies_total", "")
	out.check(lies == 0, Finding{Check: "lies", About: n.Address, Level: Error, Found: fmt.Sprintf("%.0f changes and checkpoints", lies), Wanted: "none", Why: "somebody else than " + f.writer() + " writes into the topic or the log, or a clock was set back", Mend: do("find who; until then the watermark is held")})
	stale := m.sum("freshet_cache_stale_reads_total", "")
	out.check(stale == 0, Finding{Check: "answers outside the bound", About: n.Address, Level: Note, Found: fmt.Sprintf("%.0f", stale), Wanted: "none", Why: "on_unavailable: stale allows them while the database is away"})
}

// judgeRelays judges what running relays say of themselves: one ships, and the
// others stand by.
func judgeRelays(f *Facts) (out findings) {
	answering, standingBy := 0, 0
	for i := range f.Relays {
		r := &f.Relays[i]
		out.check(r.Err == nil, Finding{Check: "relay", About: r.Address, Level: Note, Found: found(r.Err, "answers"), Wanted: "a relay that runs", Why: "what it would tell of itself is not checked", Mend: do("start freshet relay, or name the admin ports of the relays with --relay")})
		if r.Err != nil {
			continue
		}
		answering++
		if r.standsBy() {
			standingBy++
			continue
		}
		judgeRelay(f, r, &out)
	}
	// A file has its relay beside it, and is away whenever that machine is.
	if answering > 0 && f.postgres() {
		out.check(standingBy > 0, Finding{Check: "relay that stands by", Level: Note, Found: ifElse(standingBy > 0, plural(standingBy, "relay"), "none is known"), Wanted: "one more, on another machine",
			Why: "while the only one is away the stream stands, and reads go to the database", Mend: do("start freshet relay with the same configuration, which waits for its turn; name all admin ports with --relay")})
	}
	return out
}

// standsBy reports whether a relay waits for another one to end.
func (e *Endpoint) standsBy() bool {
	return !e.Ready && slices.ContainsFunc(e.Problems, func(p string) bool { return strings.Contains(p, "stands by") })
}

func judgeRelay(f *Facts, r *Endpoint, out *findings) {
	fine := r.Ready && len(r.Problems) == 0
	out.check(fine, Finding{Check: "relay ready", About: r.Address, Level: Warning, Found: ifElse(fine, "ready", strings.Join(append([]string{"not ready"}, r.Problems...), "; ")), Wanted: "ready", Why: "changes do not go to Kafka, unless another relay ships them", Mend: do("mend what it names")})
	if !fine {
		return
	}
	limit := standstill(f)
	lag := r.Metrics.seconds("freshet_relay_lag_seconds")
	out.check(lag >= 0 && lag < limit, Finding{Check: "relay lag", About: r.Address, Level: Warning, Found: short(lag), Wanted: "less than " + short(limit), Why: "the stream carries no bound below it", Mend: do("see freshet_relay_backlog_changes, and whether Kafka or the database is slow")})
	lost := r.Metrics.sum("freshet_relay_postgres_slots_lost_total", "")
	out.check(lost == 0, Finding{Check: "slots lost", About: r.Address, Level: Warning, Found: fmt.Sprintf("%.0f since it started", lost), Wanted: "none", Why: "each was another stream: every node started empty", Mend: do("raise max_slot_wal_keep_size, or see why the relay was away")})
}

// standstill is from when on a stream is late, and not only between two
// checkpoints.
func standstill(f *Facts) time.Duration {
	return max(10*time.Duration(f.Config.Relay.CheckpointInterval), time.Second)
}
