package kafka

import (
	"errors"
	"io"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// Position is how far one partition is followed.
type Position struct {
	Partition int
	Next      int64     // offset of the next record; everything before it was handed on
	End       int64     // where the committed records ended when the broker last answered
	Answered  time.Time // when the last fetch was sent that the broker answered; zero: none yet
	Fresh     time.Time // when the last fetch was sent whose answer reached the end; zero: none yet
}

// settle is how long a state of the cluster may last that a leader election
// explains, before it is taken for a gap.
const settle = time.Second

// partition follows the log of one partition through the answers to its
// fetches. One goroutine uses it at a time; position may be called by any.
type partition struct {
	id        int32  // its number among all that are followed
	topic     string // empty: the only one
	number    int32  // there
	next      int64
	logStart  int64     // -1: not known yet
	epoch     int32     // leader epoch of the last batch; -1: none yet
	compacted bool      // the topic's policy lets offsets be missing
	short     time.Time // since when the log is shorter than the position

	bytes int // of the answer in hand
	count int
	buf   []byte

	mu  sync.Mutex
	pos Position
}

func newPartition(id int, end int64, compacted bool) *partition {
	return &partition{
		id: int32(id), number: int32(id), next: end, logStart: -1, epoch: -1, compacted: compacted,
		pos: Position{Partition: id, Next: end, End: end},
	}
}

func (p *partition) position() Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pos
}

// record is what a partition hands records to: Handler.Record.
type record func(partition int, offset int64, key, value []byte)

// take hands on what the answer to a fetch that was sent at sent holds, and
// moves the position behind it. What was handed on before an error stays
// handed on.
func (p *partition) take(res *fetch.ResponsePartition, sent, now time.Time, to record) error {
	p.bytes, p.count = 0, 0
	defer closeRecords(res.RecordSet.Records)
	if res.ErrorCode != 0 {
		// Offsets and marks of such an answer are −1 and mean nothing.
		err := kafkago.Error(res.ErrorCode)
		if err == kafkago.OffsetOutOfRange {
			return p.gap(outOfRange, -1)
		}
		return err
	}
	if err := p.checkLog(res, now); err != nil {
		return err
	}
	end := res.LastStableOffset
	if end < 0 { // a broker older than transactions
		end = res.HighWatermark
	}
	before := p.next
	batches := batchesOf(res.RecordSet.Records)
	err := p.takeBatches(batches, newAborted(res.AbortedTransactions), to)
	if err == nil && p.next == before && end > before {
		err = p.stuck(len(batches))
	}
	p.publish(end, sent)
	return err
}

// checkLog finds what only the marks of an answer tell.
func (p *partition) checkLog(res *fetch.ResponsePartition, now time.Time) error {
	if start := res.LogStartOffset; start >= 0 {
		if start > p.next {
			return p.gap(logCut, start)
		}
		if start < p.logStart {
			return p.gap(logStartBack, start)
		}
		p.logStart = start
	}
	if res.HighWatermark >= p.next {
		p.short = time.Time{}
		return nil
	}
	// The mark of a leader just elected lies behind the old one's until its
	// followers have fetched, on a healthy cluster. Only a log that stays
	// short is another log. Nothing arrives meanwhile, so no watermark moves.
	if p.short.IsZero() {
		p.short = now
	}
	if now.Sub(p.short) >= settle {
		return p.gap(logShort, res.HighWatermark)
	}
	return errShort
}

// errShort and errNothing are no failures of a broker: ask again soon.
var (
	errShort   = errors.New("kafka: the log ends before the position")
	errNothing = errors.New("kafka: the broker brings nothing, and says there is more")
)

// stuck makes progress where an answer brought nothing although there is more.
func (p *partition) stuck(batches int) error {
	if batches == 0 {
		// The first batch is larger than the limit, or other partitions
		// filled the answer. A turn at the front of the request mends both.
		return errNothing
	}
	// The batch at the position has lost its last records, or all of them,
	// to compaction, and the library does not tell where it ends.
	return p.hole(p.next + 1)
}

// takeBatches hands on the records of whole batches.
func (p *partition) takeBatches(batches []protocol.RecordReader, aborted *aborted, to record) error {
	for _, b := range batches {
		h := headerOf(b)
		if h.epoch >= 0 {
			// In one log epochs never fall. (They may: a log that was made
			// anew under the same name starts again at zero.)
			if h.epoch < p.epoch {
				return p.gap(epochBack, h.base)
			}
			p.epoch = h.epoch
		}
		if h.base > p.next {
			if err := p.hole(h.base); err != nil {
				return err
			}
		}
		if err := p.takeBatch(b, h, aborted.covers(h), aborted, to); err != nil {
			return err
		}
	}
	return nil
}

func (p *partition) takeBatch(b protocol.RecordReader, h header, skip bool, aborted *aborted, to record) error {
	for {
		rec, err := b.ReadRecord()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = p.takeRecord(rec, h, skip, aborted, to)
		closeBytes(rec.Key)
		closeBytes(rec.Value)
		if err != nil {
			return err
		}
	}
}

func (p *partition) takeRecord(rec *protocol.Record, h header, skip bool, aborted *aborted, to record) error {
	if rec.Offset < p.next {
		return nil // the batch began before the position
	}
	if rec.Offset > p.next {
		if err := p.hole(rec.Offset); err != nil {
			return err
		}
	}
	switch {
	case h.control:
		aborted.marker(h, rec)
	case !skip:
		key, value, err := p.read(rec)
		if err != nil {
			return err
		}
		to(int(p.id), rec.Offset, key, value)
		p.count++
		p.bytes += len(key) + len(value)
	}
	p.next = rec.Offset + 1
	return nil
}

// hole moves over offsets nothing accounts for: compaction, where the topic's
// policy has it, and a gap where it has not.
func (p *partition) hole(found int64) error {
	if !p.compacted {
		return p.gap(jump, found)
	}
	p.next = found
	return nil
}

func (p *partition) gap(reason string, found int64) error {
	return &gap{reason: reason, topic: p.topic, partition: p.number, next: p.next, found: found}
}

func (p *partition) publish(end int64, sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pos.Next, p.pos.End, p.pos.Answered = p.next, end, sent
	if p.next >= end {
		p.pos.Fresh = sent
	}
}

// read copies key and value into the partition's own buffer: records lie in
// pages that go back to a pool. Nothing stays nothing.
func (p *partition) read(rec *protocol.Record) (key, value []byte, err error) {
	nk, nv := length(rec.Key), length(rec.Value)
	if cap(p.buf) < nk+nv || p.buf == nil { // a slice of nil would say: nothing
		p.buf = make([]byte, max(nk+nv, 2*cap(p.buf)))
	}
	buf := p.buf[:nk+nv]
	if key, err = readInto(buf[:nk:nk], rec.Key); err != nil {
		return nil, nil, err
	}
	value, err = readInto(buf[nk:nk+nv:nk+nv], rec.Value)
	return key, value, err
}

func length(b protocol.Bytes) int {
	if b == nil {
		return 0
	}
	return b.Len()
}

func readInto(dst []byte, b protocol.Bytes) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	_, err := io.ReadFull(b, dst)
	return dst, err
}

func closeBytes(b protocol.Bytes) {
	if b != nil {
		b.Close()
	}
}
