package kafka

import (
	"slices"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// header is what take needs of a batch beside its records.
type header struct {
	base          int64
	epoch         int32 // of the leader that wrote it; -1: the format has none
	producer      int64
	transactional bool
	control       bool
}

func headerOf(b protocol.RecordReader) header {
	switch b := b.(type) {
	case *protocol.RecordBatch:
		return header{
			base: b.BaseOffset, epoch: b.PartitionLeaderEpoch, producer: b.ProducerID,
			transactional: b.Attributes.Transactional(),
		}
	case *protocol.ControlBatch:
		return header{
			base: b.BaseOffset, epoch: b.PartitionLeaderEpoch, producer: b.ProducerID,
			transactional: b.Attributes.Transactional(), control: true,
		}
	}
	// Formats before transactions: the records themselves tell the offsets.
	return header{base: -1, epoch: -1, producer: -1}
}

// batchesOf returns the complete batches of an answer; a last one that was cut
// off by the byte limit is not among them.
func batchesOf(r protocol.RecordReader) []protocol.RecordReader {
	if s, ok := r.(*protocol.RecordStream); ok {
		return s.Records
	}
	return nil
}

// closeRecords gives the pages of records that were not read back to the pool.
func closeRecords(r protocol.RecordReader) {
	for _, b := range batchesOf(r) {
		for {
			rec, err := b.ReadRecord()
			if err != nil {
				break
			}
			closeBytes(rec.Key)
			closeBytes(rec.Value)
		}
	}
}

// aborted knows, while one answer is read in offset order, which transactions
// around the batch in hand were aborted. A broker sends the list afresh with
// every answer; the Java consumer reads it the same way.
type aborted struct {
	ahead []fetch.ResponseTransaction // not begun yet, by first offset
	open  map[int64]bool              // producers inside an aborted transaction
}

func newAborted(list []fetch.ResponseTransaction) *aborted {
	if len(list) == 0 {
		return &aborted{}
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b fetch.ResponseTransaction) int {
		return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1))
	})
	return &aborted{ahead: list, open: make(map[int64]bool, len(list))}
}

// covers reports whether the records of a batch were aborted. It must see
// control batches too: a reader that starts at an abort marker would otherwise
// begin that transaction behind its end, and drop the producer's next,
// committed, one.
func (a *aborted) covers(h header) bool {
	for len(a.ahead) > 0 && a.ahead[0].FirstOffset <= h.base {
		a.open[a.ahead[0].ProducerID] = true
		a.ahead = a.ahead[1:]
	}
	return h.transactional && !h.control && a.open[h.producer]
}

const abortMarker = 0

// marker takes in a control record.
func (a *aborted) marker(h header, rec *protocol.Record) {
	if len(a.open) == 0 {
		return
	}
	c, err := protocol.ReadControlRecord(rec)
	if err == nil && c.Type == abortMarker {
		delete(a.open, h.producer)
	}
}
