package doctor

import (
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/doctor/pipeline"
	"github.com/freshet-cache/freshet/proxy"
)

// judgeStreams judges what came by while the topics were watched.
func judgeStreams(f *Facts) (out findings) {
	if lag := f.Config.Stream.Debezium.VisibilityLag; f.debezium() && lag > 0 {
		out.tell(Finding{Check: "visibility lag", Level: Note, Found: lag.String() + ", as is declared", Wanted: "the longest time from a commit's record until its rows can be read",
			Why: "the source is not asked what is visible: each change waits for as long, and what takes longer is taken for fresh"})
	}
	for i := range f.Topics {
		if t := &f.Topics[i]; t.Stream != nil && t.Facts != nil {
			judgeFollowed(t, &out)
			judgeCheckpoints(f, t, &out)
			judgeIdentityOf(f, t, &out)
		}
	}
	return out
}

func judgeFollowed(t *Topic, out *findings) {
	s := t.Stream
	out.check(s.Waiting == "", Finding{Check: "stream", About: t.Name, Level: Error, Found: ifElse(s.Waiting == "", fmt.Sprintf("%d records in %s", s.Records, short(s.Watched)), "is not followed: "+s.Waiting), Wanted: "a topic that can be read",
		Why: "no change arrives, and reads go to the database", Mend: do("start the brokers, and let the user of stream.kafka read the topic")})
	if s.Gap != "" {
		out.tell(Finding{Check: "gap", About: t.Name, Level: Warning, Found: "the stream had to be taken up anew: " + s.Gap, Wanted: "a log that goes on", Why: "each time every node starts empty", Mend: do("see what deletes records or the topic: retention, or a tool")})
	}
	out.check(s.Undecodable == 0, Finding{Check: "records", About: t.Name, Level: Error, Found: ifElse(s.Undecodable == 0, "are understood", fmt.Sprintf("%d of %d cannot be decoded: %s", s.Undecodable, s.Records, s.Reason)), Wanted: "records of one format, that of stream.format",
		Why: "each makes a table void, or all", Mend: do("correct stream.format or the topic's name, or find who else writes there")})
}

func judgeCheckpoints(f *Facts, t *Topic, out *findings) {
	s := t.Stream
	if s.Waiting != "" {
		return
	}
	if s.Checkpoints == 0 {
		out.tell(Finding{Check: "checkpoints", About: t.Name, Level: Warning, Found: "none in " + short(s.Watched), Wanted: "some in every partition, all the time", Why: "without them the stream proves nothing: entries live on their own, and most reads go to the database",
			Mend: do("start %s, or see what it waits for%s", f.writer(), ifElse(f.debezium(), "; freshet doctor --debezium prints what makes it write them", ""))})
		return
	}
	missing := Finding{Check: "checkpoints", About: t.Name, Level: Error, Found: ifElse(len(s.Silent) == 0, fmt.Sprintf("%d, in all %d partitions", s.Checkpoints, s.Partitions), "none in partition "+list(s.Silent)), Wanted: "some in every partition",
		Why: "the watermark is that of the partition that has none", Mend: do("see what holds the relay up")}
	if f.debezium() {
		missing.Mend = do("insert more rows into the table of checkpoints, until each partition gets some: freshet doctor --debezium prints the SQL")
	}
	if s.Checkpoints < 3*(s.Partitions-len(s.Silent)) {
		missing.Level, missing.Why, missing.Mend = Note, "the others have had hardly any, so it may still come", do("look for longer, with --watch")
	}
	out.check(len(s.Silent) == 0, missing)
	out.check(s.Future == 0, Finding{Check: "checkpoints' time", About: t.Name, Level: Error, Found: ifElse(s.Future == 0, "lies in the past", fmt.Sprintf("%d were of a time that was still to come", s.Future)), Wanted: "the source's own clock, read before",
		Why: "nodes take them for lies, and hold the watermark", Mend: do("see who else writes into the topic, and whether the database's clock was set back")})
}

// judgeIdentityOf judges whose stream the topic has.
func judgeIdentityOf(f *Facts, t *Topic, out *findings) {
	s := t.Stream
	if s.Last == nil || f.debezium() {
		return
	}
	out.check(s.Turns < 2, Finding{Check: "writers", About: t.Name, Level: Error, Found: ifElse(s.Turns < 2, "one stream", fmt.Sprintf("%d streams by turns", s.Streams)), Wanted: "one relay for each topic",
		Why: "each turn is a gap, and nothing stays cached", Mend: do("end one of the relays, or give it a topic of its own (stream.kafka.topic)")})
	out.check(s.Last.Partitions == t.Facts.Partitions, Finding{Check: "partitions of the stream", About: t.Name, Level: Error, Found: fmt.Sprintf("%d, and the topic has %d", s.Last.Partitions, t.Facts.Partitions), Wanted: "as many as the topic has",
		Why: "partitions were added: the watermark stands until the relay begins a stream over all of them", Mend: do("restart the relay")})
	out.check(s.Last.Slot == f.Config.Relay.Slot, Finding{Check: "slot of the stream", About: t.Name, Level: Error, Found: s.Last.Slot, Wanted: f.Config.Relay.Slot + ", as relay.slot says",
		Why: "a relay of another configuration writes there", Mend: do("give each relay a topic of its own, or correct relay.slot")})
	if id := f.Clock.Source; id.Known() {
		same := s.Last.Source == id
		out.check(same, Finding{Check: "source of the stream", About: t.Name, Level: ifElse(s.Checkpoints > 0, Error, Note), Found: ifElse(same, "this database", "another database, or an earlier life of this one"), Wanted: "the database that nodes read",
			Why: "its checkpoints prove nothing of what is read here", Mend: do("let relay and nodes have the same source; a relay that was away begins a new stream when it starts")})
	}
}

// judgeClock judges how well the source's clock is known.
func judgeClock(f *Facts) (out findings) {
	c := &f.Clock
	if !c.Known {
		if f.Reached == nil && c.Err != nil {
			out.tell(Finding{Check: "clock", Level: ifElse(f.postgres(), Error, Note), Found: found(c.Err, ""), Wanted: "a source whose clock can be read", Why: "without it nothing is known to be fresh", Mend: do("as it says")})
		}
		return out
	}
	least := leastBound(f)
	out.check(c.Width <= least/4, Finding{Check: "clock", Level: Warning, Found: fmt.Sprintf("known to within %s, %s from this machine's", short(c.Width), short(c.Offset)), Wanted: "a quarter of the smallest bound, " + short(least),
		Why: "what the clock is not known by is taken from each bound", Mend: do("put nodes nearer to the database, or raise the bound")})
	out.check(max(c.Offset, -c.Offset) < 10*time.Second, Finding{Check: "clock of this machine", Level: Note, Found: short(c.Offset) + " from the database's", Wanted: "both set by one time server",
		Why: "no bound depends on it; but logs cannot be compared", Mend: do("set both by NTP")})
	return out
}

// leastBound is the smallest bound of a use case that is more than nothing.
func leastBound(f *Facts) time.Duration {
	least := time.Duration(proxy.Forever)
	for _, u := range f.Config.UseCases {
		if u.Bound > 0 {
			least = min(least, time.Duration(u.Bound))
		}
	}
	return least
}

// Measured is how the deployment's pipeline was found: the worst of its topics
// and the widest clock of its nodes. Without a measurement it is what is
// configured, and measured is false.
func Measured(f *Facts) (p pipeline.Pipeline, measured bool) {
	p.Interval, p.Width = time.Duration(f.Config.Relay.CheckpointInterval), f.Clock.Width
	if f.debezium() {
		p.Interval = 0
		for i := range f.Connectors {
			p.Interval = max(p.Interval, settingMillis(&f.Connectors[i], "heartbeat.interval.ms", 0))
		}
	}
	for i := range f.Topics {
		if s := f.Topics[i].Stream; s != nil && s.Samples > 0 {
			measured = true
			p.Interval, p.Delay = max(p.Interval, s.Pipeline.Interval), max(p.Delay, s.Pipeline.Delay)
		}
	}
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Err == nil {
			p.Width = max(p.Width, n.Metrics.seconds("freshet_clock_width_seconds"))
		}
	}
	return p, measured
}

// judgeBounds judges each use case's bound by what the stream can carry.
func judgeBounds(f *Facts) (out findings) {
	p, measured := Measured(f)
	smallest := p.SmallestBound()
	carries := "the stream carries " + short(smallest)
	switch {
	case !measured && p.Interval == 0:
		carries = "the stream was not measured"
	case !measured:
		carries = "the stream was not measured, and carries " + short(smallest) + " at best"
	}
	for _, u := range f.Config.UseCases {
		bound := time.Duration(u.Bound)
		if bound == 0 {
			out.tell(Finding{Check: "bound", About: u.Name, Level: Note, Found: "0s", Why: "every read goes to the database, as is asked for"})
			continue
		}
		out.check(u.ReadFrom == "replica" || bound >= smallest, Finding{Check: "bound", About: u.Name, Level: Warning, Found: bound.String() + "; " + carries, Wanted: "at least " + short(roundUp(smallest)),
			Why: "below it the promise holds all the same, and most reads go to the database", Mend: &Mend{Do: "raise the bound, or lower what it is made of", Config: map[string]string{"use_cases[" + u.Name + "].bound": short(roundUp(smallest))}}})
	}
	return out
}

// roundUp leaves room above what was measured once: half of it, in tens of
// milliseconds.
func roundUp(d time.Duration) time.Duration {
	const step = 10 * time.Millisecond
	return (d*3/2 + step - 1) / step * step
}
