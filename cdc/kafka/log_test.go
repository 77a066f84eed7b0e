package kafka

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// batch is one batch of a log as a broker holds it.
type batch struct {
	base, last int64
	producer   int64
	kind       kind
	records    []int64 // offsets that compaction left
}

type kind uint8

const (
	plainBatch kind = iota
	inTransaction
	commit
	abort
)

// randomLog makes a log of plain and transactional batches of some producers,
// and compacts it. It returns the batches, the offsets a reader must see, and
// the transactions that were aborted, with their last offsets.
func randomLog(r *rand.Rand, compact bool) (log []batch, visible []int64, aborted map[fetch.ResponseTransaction]int64, end int64) {
	aborted = map[fetch.ResponseTransaction]int64{}
	first := map[int64]int64{}     // of open transactions
	pending := map[int64][]int64{} // their offsets
	marker := func(p int64) {
		b := batch{base: end, last: end, producer: p, kind: commit, records: []int64{end}}
		if r.IntN(2) == 0 {
			b.kind = abort
			aborted[fetch.ResponseTransaction{ProducerID: p, FirstOffset: first[p]}] = end
		} else {
			visible = append(visible, pending[p]...)
		}
		delete(first, p)
		delete(pending, p)
		log = append(log, b)
		end++
	}
	for range 5 + r.IntN(25) {
		p := int64(r.IntN(3))
		if _, open := first[p]; open && r.IntN(3) == 0 {
			marker(p)
			continue
		}
		b := batch{base: end, producer: p, kind: kind(r.IntN(2))}
		for range 1 + r.IntN(4) {
			b.records = append(b.records, end)
			end++
		}
		b.last = end - 1
		if b.kind == inTransaction {
			if _, open := first[p]; !open {
				first[p] = b.base
			}
			pending[p] = append(pending[p], b.records...)
		} else {
			b.producer = -1
			visible = append(visible, b.records...)
		}
		log = append(log, b)
	}
	for p := range int64(3) {
		if _, open := first[p]; open {
			marker(p)
		}
	}
	if compact {
		log, visible = compaction(r, log, visible)
	}
	slices.Sort(visible)
	return log, visible, aborted, end
}

// compaction takes records out, leaves some batches empty and drops others; a
// broker never drops the last of a log.
func compaction(r *rand.Rand, log []batch, visible []int64) ([]batch, []int64) {
	gone := map[int64]bool{}
	var out []batch
	for i, b := range log {
		if b.kind == plainBatch || b.kind == inTransaction {
			share := r.IntN(3) // none, half, all
			b.records = slices.DeleteFunc(b.records, func(o int64) bool {
				gone[o] = r.IntN(2) < share
				return gone[o]
			})
			if len(b.records) == 0 && i < len(log)-1 && r.IntN(2) == 0 {
				continue
			}
		}
		out = append(out, b)
	}
	return out, slices.DeleteFunc(visible, func(o int64) bool { return gone[o] })
}

// answer is what a broker says to a fetch: whole batches, from the one that
// holds the offset or follows it.
func answer(log []batch, aborted map[fetch.ResponseTransaction]int64, offset, end int64, batches int) *fetch.ResponsePartition {
	res := &fetch.ResponsePartition{HighWatermark: end, LastStableOffset: end}
	stream := &protocol.RecordStream{}
	upper := offset
	for _, b := range log {
		if b.last < offset || len(stream.Records) == batches {
			continue
		}
		stream.Records = append(stream.Records, b.reader())
		upper = b.last + 1
	}
	for tx, last := range aborted {
		if last >= offset && tx.FirstOffset < upper {
			res.AbortedTransactions = append(res.AbortedTransactions, tx)
		}
	}
	if len(stream.Records) > 0 {
		res.RecordSet = protocol.RecordSet{Version: 2, Records: stream}
	}
	return res
}

func (b batch) reader() protocol.RecordReader {
	var records []protocol.Record
	for _, o := range b.records {
		rec := protocol.Record{Offset: o, Value: protocol.NewBytes([]byte(fmt.Sprint(o)))}
		switch b.kind {
		case commit:
			rec.Key = protocol.NewBytes([]byte{0, 0, 0, 1})
		case abort:
			rec.Key = protocol.NewBytes([]byte{0, 0, 0, 0})
		}
		records = append(records, rec)
	}
	switch b.kind {
	case commit, abort:
		return &protocol.ControlBatch{
			Attributes: protocol.Control | protocol.Transactional, BaseOffset: b.base,
			ProducerID: b.producer, Records: protocol.NewRecordReader(records...),
		}
	case inTransaction:
		return &protocol.RecordBatch{
			Attributes: protocol.Transactional, BaseOffset: b.base,
			ProducerID: b.producer, Records: protocol.NewRecordReader(records...),
		}
	}
	return &protocol.RecordBatch{BaseOffset: b.base, ProducerID: -1, Records: protocol.NewRecordReader(records...)}
}

// Whatever the log, wherever the tail begins and however the answers are cut:
// it hands on exactly the committed records that are there, in order, and
// comes to the end.
func TestEveryCommittedRecordOnceFromAnyOffset(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		compact := r.IntN(2) == 0
		log, visible, aborted, end := randomLog(r, compact)
		from := r.Int64N(end + 1)
		want := slices.DeleteFunc(slices.Clone(visible), func(o int64) bool { return o < from })
		p := newPartition(0, from, compact)
		var got []int64
		for range 10 * end {
			res := answer(log, aborted, p.next, end, 1+r.IntN(3))
			err := p.take(res, time.Time{}, time.Time{}, func(_ int, offset int64, _, value []byte) {
				if string(value) != fmt.Sprint(offset) {
					t.Fatalf("seed %d: offset %d has value %q", seed, offset, value)
				}
				got = append(got, offset)
			})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if p.next >= end {
				break
			}
		}
		if p.next != end || !slices.Equal(got, want) {
			t.Fatalf("seed %d, from %d: at %d of %d\ngot  %v\nwant %v\nlog  %+v", seed, from, p.next, end, got, want, log)
		}
	}
}

// The same logs, where the topic's policy does not explain missing offsets:
// nothing behind the first hole is handed on.
func TestMissingOffsetsAreAGapWithoutCompaction(t *testing.T) {
	gaps := 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		log, _, aborted, end := randomLog(r, true)
		hole := int64(0) // the first offset that is missing
		for _, b := range log {
			for _, o := range b.records {
				if o == hole {
					hole++
				}
			}
		}
		p := newPartition(0, 0, false)
		var err error
		for range 10 * end {
			if err = p.take(answer(log, aborted, p.next, end, 2), time.Time{}, time.Time{}, func(_ int, offset int64, _, _ []byte) {
				if offset > hole {
					t.Fatalf("seed %d: handed on %d behind the hole at %d", seed, offset, hole)
				}
			}); err != nil || p.next >= end {
				break
			}
		}
		switch {
		case hole == end && err != nil:
			t.Fatalf("seed %d: no hole, yet %v", seed, err)
		case hole < end && (classify(err) != lost || p.next != hole):
			t.Fatalf("seed %d: at %d, hole at %d: %v", seed, p.next, hole, err)
		case hole < end:
			gaps++
		}
	}
	if gaps < 300 {
		t.Errorf("only %d of 500 logs had a hole", gaps)
	}
}

func TestNothingStaysNothing(t *testing.T) {
	stream := &protocol.RecordStream{Records: []protocol.RecordReader{&protocol.RecordBatch{
		ProducerID: -1,
		Records: protocol.NewRecordReader(
			protocol.Record{Offset: 0, Value: protocol.NewBytes([]byte{})},
			protocol.Record{Offset: 1, Key: protocol.NewBytes([]byte("k"))},
		),
	}}}
	res := &fetch.ResponsePartition{HighWatermark: 2, LastStableOffset: 2, RecordSet: protocol.RecordSet{Records: stream}}
	n := 0
	err := newPartition(0, 0, false).take(res, time.Time{}, time.Time{}, func(_ int, offset int64, key, value []byte) {
		n++
		if offset == 1 && (string(key) != "k" || value != nil) {
			t.Errorf("a tombstone came as %q, %v", key, value)
		}
		if offset == 0 && (key != nil || value == nil || len(value) != 0) {
			t.Errorf("an empty value came as %v, %v", key, value)
		}
	})
	if err != nil || n != 2 {
		t.Error(n, err)
	}
}

// wire encodes a batch as it lies in a log, without its records' values.
func (b batch) wire() []byte {
	var records []byte
	for _, o := range b.records {
		value := fmt.Sprint(o)
		body := []byte{0, 0}                       // attributes, timestamp
		body = append(body, byte(2*(o-b.base)), 1) // offset; no key
		body = append(body, byte(2*len(value)))    // value
		body = append(append(body, value...), 0)   // no headers
		records = append(append(records, byte(2*len(body))), body...)
	}
	var tail []byte // what the CRC covers
	tail = be(tail, 2, 0)
	tail = be(tail, 4, b.last-b.base)
	tail = be(tail, 8, 0)
	tail = be(tail, 8, 0)
	tail = be(tail, 8, -1)
	tail = be(tail, 2, -1)
	tail = be(tail, 4, -1)
	tail = be(tail, 4, int64(len(b.records)))
	tail = append(tail, records...)
	out := be(nil, 8, b.base)
	out = be(out, 4, int64(len(tail)+9))
	out = be(out, 4, 0)
	out = append(out, 2)
	out = be(out, 4, int64(crc32.Checksum(tail, crc32.MakeTable(crc32.Castagnoli))))
	return append(out, tail...)
}

// be appends the low bytes of v, the highest first.
func be(dst []byte, bytes int, v int64) []byte {
	for i := bytes - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}
