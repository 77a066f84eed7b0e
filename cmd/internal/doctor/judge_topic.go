package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cdc/kafka"
)

// judgeTopics judges how the brokers keep the topics.
func judgeTopics(f *Facts) (out findings) {
	for i := range f.Topics {
		t := &f.Topics[i]
		out.check(t.Err == nil, Finding{Check: "topic", About: t.Name, Level: Error, Found: found(t.Err, "the brokers answer"), Wanted: "brokers that answer",
			Why: "no change arrives, and reads go to the database", Mend: do("as it says: settings are those of stream.kafka")})
		switch {
		case t.Facts == nil:
		case !t.Facts.Found:
			judgeMissingTopic(f, t.Facts, &out)
		default:
			judgeTopic(f, t.Facts, &out)
			judgeRetention(f, t, &out)
		}
	}
	return out
}

func judgeMissingTopic(f *Facts, t *kafka.Facts, out *findings) {
	if f.debezium() {
		out.tell(Finding{Check: "topic", About: t.Topic, Level: Warning, Found: "is not there yet", Wanted: "the topic that the connector writes to",
			Why: "the connector makes it with its first record, in the way that the brokers make topics", Mend: do("start the connector, or make the topic with the partitions and replicas that it is to have")})
		return
	}
	c := &f.Config.Relay
	copies := c.Replication
	if copies == 0 {
		copies, _ = strconv.Atoi(t.Settings["default.replication.factor"])
	}
	out.tell(Finding{Check: "topic", About: t.Topic, Level: Note, Found: "is not there yet",
		Why: fmt.Sprintf("the relay makes it with %d partitions, %s and a retention of %v", c.Partitions, ifElse(copies == 0, "the brokers' number of replicas", plural(copies, "replica")), c.Retention)})
	out.check(copies <= t.Brokers, Finding{Check: "replication", About: t.Topic, Level: Error, Found: fmt.Sprintf("%d replicas, %d brokers", copies, t.Brokers), Wanted: "no more than there are brokers",
		Why: "the topic cannot be made", Mend: setting("relay.replication", strconv.Itoa(max(1, t.Brokers)))})
	out.check(copies > 1 || copies == 0 || t.Brokers < 2, Finding{Check: "replication", About: t.Topic, Level: Warning, Found: "1 replica", Wanted: "3",
		Why: "with its broker the stream stands, and is lost with that broker's disk", Mend: setting("relay.replication", strconv.Itoa(min(3, max(1, t.Brokers))))})
}

func judgeTopic(f *Facts, t *kafka.Facts, out *findings) {
	topic := func(name, value string) *Mend { return &Mend{Topic: map[string]string{name: value}} }
	out.check(len(t.Leaderless) == 0, Finding{Check: "leaders", About: t.Topic, Level: Error, Found: ifElse(len(t.Leaderless) == 0, fmt.Sprintf("%d partitions are served", t.Partitions), "nobody serves partition "+list(t.Leaderless)),
		Wanted: "a leader for each", Why: "the watermark stands, and reads go to the database", Mend: do("start the brokers that have it")})
	if !f.debezium() {
		out.check(t.Partitions == f.Config.Relay.Partitions, Finding{Check: "partitions", About: t.Topic, Level: Note, Found: fmt.Sprintf("%d, and relay.partitions is %d", t.Partitions, f.Config.Relay.Partitions),
			Why: "the setting counts only when the topic is made; whoever makes it anew by it makes another stream", Mend: setting("relay.partitions", strconv.Itoa(t.Partitions))})
	}
	judgeCleanup(f, t, out)
	if n, known := number(t, "max.message.bytes"); known && !f.debezium() {
		out.check(n >= batchBytes, Finding{Check: "max.message.bytes", About: t.Topic, Level: Error, Found: bytesText(n), Wanted: "at least " + bytesText(batchBytes),
			Why: "the brokers would refuse a batch of changes", Mend: topic("max.message.bytes", strconv.Itoa(2*batchBytes))})
	}
	judgeCopies(f, t, out)
	if value, known := t.Settings["unclean.leader.election.enable"]; known {
		out.check(value == "false", Finding{Check: "unclean election", About: t.Topic, Level: ifElse(f.debezium(), Error, Warning), Found: ifElse(value == "false", "is off", "is on"), Wanted: "off",
			Why:  ifElse(f.debezium(), "a leader that lacks changes may be elected, and nothing in a connector's records shows it", "a leader that lacks changes may be elected: each time every node starts empty"),
			Mend: topic("unclean.leader.election.enable", "false")})
	}
}

// batchBytes is what a relay puts into a batch, as kafka.Options has it by
// default.
const batchBytes = 512 << 10

func number(t *kafka.Facts, name string) (n int64, known bool) {
	n, err := strconv.ParseInt(t.Settings[name], 10, 64)
	return n, err == nil
}

func judgeCleanup(f *Facts, t *kafka.Facts, out *findings) {
	policy, known := t.Settings["cleanup.policy"]
	if !known {
		out.tell(Finding{Check: "topic's settings", About: t.Topic, Level: Note, Found: "this user may not read them", Wanted: "DescribeConfigs on the topic", Why: "retention, cleanup and in-sync replicas are not checked", Mend: do("grant it to the user of stream.kafka.sasl")})
		return
	}
	compacts := strings.Contains(policy, "compact")
	out.check(!compacts, Finding{Check: "cleanup.policy", About: t.Topic, Level: ifElse(f.debezium(), Warning, Error), Found: policy, Wanted: "delete",
		Why:  ifElse(f.debezium(), "a node that was held up for long misses the deletes that are compacted away", "every change names the one before it, and compaction takes that away"),
		Mend: &Mend{Topic: map[string]string{"cleanup.policy": "delete"}}})
}

// judgeCopies judges whether what is acknowledged is kept.
func judgeCopies(f *Facts, t *kafka.Facts, out *findings) {
	least, known := number(t, "min.insync.replicas")
	if t.Replicas == 1 {
		out.check(false, Finding{Check: "replication", About: t.Topic, Level: ifElse(t.Brokers > 1, Warning, Note), Found: "1 replica", Wanted: "3, on as many brokers",
			Why: "with its broker the stream stands, and is lost with that broker's disk", Mend: do("reassign its partitions to three brokers (kafka-reassign-partitions)")})
	} else {
		out.check(true, Finding{Check: "replication", About: t.Topic, Found: fmt.Sprintf("%d replicas", t.Replicas)})
	}
	if !known {
		return
	}
	mend := &Mend{Topic: map[string]string{"min.insync.replicas": strconv.Itoa(min(2, t.Replicas))}}
	switch {
	case int(least) > t.Replicas:
		out.tell(Finding{Check: "min.insync.replicas", About: t.Topic, Level: Error, Found: fmt.Sprintf("%d, of %d replicas", least, t.Replicas), Wanted: "no more than there are", Why: "nothing is ever acknowledged", Mend: mend})
	case int(least) > t.InSync:
		out.tell(Finding{Check: "min.insync.replicas", About: t.Topic, Level: Error, Found: fmt.Sprintf("%d, and %d are in sync", least, t.InSync), Wanted: "as many in sync", Why: "nothing is acknowledged until they are", Mend: do("start the brokers that are away")})
	default:
		out.check(least > 1 || t.Replicas == 1, Finding{Check: "min.insync.replicas", About: t.Topic, Level: ifElse(f.debezium(), Error, Warning), Found: fmt.Sprintf("%d, of %d replicas", least, t.Replicas), Wanted: "2",
			Why: "what one broker has acknowledged alone is lost with it", Mend: mend})
	}
}

// leastRetention is what the relay asks of a topic.
const leastRetention = 10 * time.Minute

func judgeRetention(f *Facts, t *Topic, out *findings) {
	const why = "a node that is held for longer misses changes, and starts empty"
	if n, known := number(t.Facts, "retention.ms"); known {
		kept := time.Duration(n) * time.Millisecond
		forever := n < 0 || kept/time.Millisecond != time.Duration(n)
		level := ifElse(kept < leastRetention && !f.debezium(), Error, Warning)
		out.check(forever || kept >= max(f.Outage, leastRetention), Finding{Check: "retention.ms", About: t.Name, Level: level, Found: ifElse(forever, "for ever", kept.String()), Wanted: "at least " + max(f.Outage, leastRetention).String() + ", the longest outage",
			Why: why, Mend: &Mend{Topic: map[string]string{"retention.ms": strconv.FormatInt((24 * time.Hour).Milliseconds(), 10)}}})
	}
	n, known := number(t.Facts, "retention.bytes")
	if !known || n < 0 {
		return
	}
	finding := Finding{Check: "retention.bytes", About: t.Name, Level: Note, Found: bytesText(n) + " for each partition", Wanted: "-1, or what the longest outage needs", Why: why,
		Mend: &Mend{Topic: map[string]string{"retention.bytes": "-1"}}}
	s := t.Stream
	if s == nil || s.Bytes == 0 || s.Watched <= 0 {
		out.tell(finding)
		return
	}
	lasts := time.Duration(float64(n) / float64(s.Bytes) * float64(s.Watched))
	finding.Found += fmt.Sprintf(", which last %s as they come now", short(lasts))
	finding.Level = Warning
	out.check(lasts >= f.Outage, finding)
}
