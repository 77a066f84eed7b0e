package debezium

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// counted is an applier that counts.
type counted struct {
	n    atomic.Int64
	want int64
	done chan struct{}
}

func (c *counted) Change(int, int64, *event.Change, []byte) {
	if c.n.Add(1) == c.want {
		close(c.done)
	}
}
func (c *counted) CheckpointRow(int, int64, *event.CheckpointRow) {}
func (c *counted) Anew(int, int64)                                {}
func (c *counted) Undecodable(int, int64, string, string, []byte) {}
func (c *counted) Lost(string)                                    {}
func (c *counted) Attached(int)                                   {}

// A record from the topic through decoder and gate to the applier, with a
// primary that answers at once.
func BenchmarkStream(b *testing.B) {
	m := &row.Mapping{Spec: row.Spec{Name: "users", Table: "users"}, Primary: true, Columns: []row.KeyColumn{{Name: "id", Kind: row.KeyInt}}}
	catalog, err := proxy.NewCatalog(m)
	if err != nil {
		b.Fatal(err)
	}
	d := newDatabase(1)
	d.next += 7
	key := []byte(`{"id":4711}`)
	value := fmt.Appendf(nil, `{"before":null,"after":{"id":4711,"v":"a value of some length, as rows have them"},"source":{"connector":"postgresql","schema":"public","table":"users","txId":%d,"ts_us":1,"snapshot":"false"},"op":"u"}`, uint32(d.next))
	c := &counted{want: int64(b.N), done: make(chan struct{})}
	s := NewStream(d, NewBarrier(0), c, StreamOptions{Decoder: Options{Catalog: catalog}, Where: func(int) (string, int) { return "t", 0 }}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	s.Attached(1)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N { // not b.Loop: the last record has to be known
		s.Record(0, int64(i), key, value)
	}
	<-c.done
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
