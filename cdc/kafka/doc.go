// Package kafka follows a topic and appends to one. It is the only place that
// knows the client library, kafka-go, and it knows nothing of what the records
// mean.
//
// # Following
//
// A [Tail] reads every partition of one topic, or of several as if they were
// one ([Tail.Where] tells them apart), without a consumer group, from the last
// record of the log on, and drives a [Handler]:
//
//	Lost(reason)   something may have been missed: nothing counts as fresh
//	Attached(n)    positions in all n partitions are established
//	Record(…)      the last record before them, and the committed ones from
//	               there on, in order per partition
//
// always in this order, at the start as after every gap. Lost comes before the
// positions are asked for, and Attached after: whoever empties a cache in
// Attached can miss nothing, as every later change is behind a position.
// Positions are never stored. A connection that breaks, a leader that moves
// and a broker that restarts are no gaps: the tail goes on where it was.
//
// A Tail waits for Kafka and for the topic as long as it takes, saying once in
// the log what it waits for. [Tail.CaughtUp] and [Tail.Positions] say how far
// it is; a Tail is also a prometheus.Collector.
//
// # What is a gap, and who finds it
//
// The tail finds what the log shows, and names it in one word:
//
//	started           nothing was followed before
//	topic_gone        the brokers no longer know the topic
//	partitions_added  changes may be where nobody read
//	partitions_fewer  another topic of that name
//	out_of_range      the broker has no such offset
//	log_cut           the log begins behind the position
//	log_short         it ends before it, for longer than an election explains
//	log_start_back    it begins earlier than it did, so it is another log
//	epoch_back        a batch has an older leader epoch than the one before it: likewise
//	jump              offsets are missing, and the topic is not compacted
//
// Control records, aborted records and compaction holes are no gaps.
//
// What no answer of a broker shows, the applier finds through the stream id in
// the records and the position each names as its predecessor's:
//
//   - The topic was deleted and made again, and its new log reached the old
//     position before the tail looked. If it holds fewer records, or none, the
//     log is too short and the tail finds it, unless the position was zero: the
//     record at offset zero of a log follows none, so one that does gives it
//     away; if the old log had seen an election and the new one has not, the
//     leader epoch does.
//   - A leader that lacked acknowledged records was elected and its log
//     outgrew the position before the tail looked.
//   - A producer's batch that claims more records than it holds.
//
// A topic written by others has no stream ids: there these are assumptions of
// the contract.
//
// # Appending
//
// A [Producer] makes the topic, reads the last record of a partition, and
// appends with the acknowledgement of all in-sync replicas. It tries again by
// itself until its context ends. Records may be written twice and late, never
// ahead of one that was to come before.
//
// # Errors
//
// classify decides what an error means: ask again, a gap, or hopeless. [ErrNoTopic]
// is returned when the brokers know no such topic; [*UnfitTopicError] when a
// topic exists that the relay cannot use. Run and the Producer's methods return
// other errors only where no waiting helps.
//
// # What is not obvious
//
//   - No request without a deadline: a cancelled one would leave the library's
//     goroutine reading for ever. The library signs in without a deadline;
//     conn.SetDeadline therefore never lifts one.
//   - Close breaks the sockets. The library only forgets connections in use,
//     and their goroutines would outlive Run.
//   - Offsets are read committed, the end in an attach too: a transaction that
//     is open at the start lies behind the position, and comes if it commits.
//     Starting at the high watermark would skip its records.
//   - The library hides where a batch ends. An answer whose batches hold
//     nothing at or behind the position, with more in the log, can only be a
//     batch whose last records were compacted away: the position moves by one.
//     Consecutive emptied batches are passed that way.
//   - Missing offsets are holes only where cleanup.policy compacts; it is read
//     at each attach. Where it may not be read, it counts as not compacting: a
//     gap too many costs fills, one too few costs the promise.
//   - A high watermark behind the position is normal for the moment after an
//     election: a follower learns the mark a fetch later than the records. As
//     a gap it would empty every cache at each failover. It becomes one after
//     a second; meanwhile nothing arrives, so nothing is called fresh.
//   - The first partition of a request alone is promised a batch larger than
//     its limit, and the last ones get nothing while others fill the answer:
//     so the order rotates. Partitions that an answer does not mention (kfake)
//     or mentions empty (Kafka) prove nothing.
//   - A batch that cannot be decoded fails the answer for all partitions of its
//     leader. After three failures each is asked for by itself, and only the
//     broken one stands still. Its watermark then stands too, which is safe.
//   - The library asks only the address it was given for the layout of the
//     cluster. The client adds the brokers it learns of, or one configured
//     broker that goes away would freeze the layout for good.
//   - A broker that throttles stops reading from the connection: the tail waits
//     that long before it asks again, or it would take the silence for death.
//   - The library's layout of the cluster is at most MetadataTTL old while
//     brokers answer and anything older while none does. It is looked at every
//     second, and at once when a fetch fails.
//   - The library checks the CRC of a batch, but trusts what a batch with a
//     good CRC says of its own sizes, and does not bound what it decompresses
//     to: who may write to the topic is trusted.
//
// # Reading the code
//
// tail.go: the order of a gap. layout.go: several topics as one. follow.go:
// fetchers and moving leaders. fetch.go: one leader. partition.go and batch.go:
// what an answer means for one partition.
// errors.go: reasons and classes. news.go: what the log says, once. client.go,
// conns.go and answers.go: the library, tamed.
// producer.go, last.go, topic.go and policy.go: the relay's side. inspect.go: what
// the brokers say of the topic, for who checks a deployment.
package kafka
