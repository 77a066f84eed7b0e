package kafka

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// The cost of one record of 200 bytes, from the bytes of an answer to the
// handler; and of the library's part of it.
func BenchmarkRecord(b *testing.B) {
	const n = 5000
	var records []protocol.Record
	for i := range n {
		records = append(records, protocol.Record{Value: protocol.NewBytes(fmt.Appendf(nil, "%0200d", i*7919))})
	}
	var wire bytes.Buffer
	err := protocol.WriteResponse(&wire, 11, 1, &fetch.Response{Topics: []fetch.ResponseTopic{{
		Topic: topic,
		Partitions: []fetch.ResponsePartition{{
			HighWatermark: n, LastStableOffset: n,
			RecordSet: protocol.RecordSet{Version: 2, Records: protocol.NewRecordReader(records...)},
		}},
	}}})
	if err != nil {
		b.Fatal(err)
	}
	for name, take := range map[string]bool{"decoded": false, "handed on": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			sum := 0
			for b.Loop() {
				r := bufio.NewReader(bytes.NewReader(wire.Bytes()))
				_, m, err := protocol.ReadResponse(r, protocol.Fetch, 11)
				if err != nil {
					b.Fatal(err)
				}
				p := &m.(*fetch.Response).Topics[0].Partitions[0]
				if !take {
					closeRecords(p.RecordSet.Records)
					continue
				}
				err = newPartition(0, 0, false).take(p, time.Time{}, time.Time{}, func(_ int, _ int64, _, value []byte) { sum += len(value) })
				if err != nil {
					b.Fatal(err)
				}
			}
			if take && sum == 0 {
				b.Fatal("nothing was handed on")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
		})
	}
}
