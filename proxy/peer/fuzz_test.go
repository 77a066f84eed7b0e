package peer

import (
	"bytes"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// What a client may send: whatever is taken is written again as it came.
func FuzzRequest(f *testing.F) {
	catalog := catalogOf(f, "users", "orders")
	head := request{id: 1, hops: 1, ring: ring{2, 3}, remain: 1000, caller: proxy.Caller{Name: "web", Low: true}}
	reqs := reads(f, catalog, "users:1", "orders:2")
	reqs[1].Freshness = proxy.Freshness{MaxStale: 5, Strong: true, Token: 9}
	f.Add(uint8(2), appendReads(head.append(nil, 2), reqs))
	f.Add(uint8(1), appendReads(head.append(nil, 1), reqs))
	f.Add(uint8(2), appendKeys(head.append(nil, 2), [][]byte{[]byte("users:3")}))
	f.Fuzz(func(t *testing.T, version uint8, body []byte) {
		var r request
		c := cursor{rest: body}
		r.caller.Name = string(r.decode(&c, uint64(version)))
		if c.bad {
			return
		}
		keys := c
		if reqs, err := decodeReads(&c, catalog, nil); err == nil {
			again, err := decodeReads(&cursor{rest: appendReads(nil, reqs)}, catalog, nil)
			if err != nil || len(again) != len(reqs) {
				t.Errorf("%d reads came back as %d, %v", len(reqs), len(again), err)
			}
			for i := range again {
				if !bytes.Equal(again[i].Key.Text, reqs[i].Key.Text) || again[i].Freshness != reqs[i].Freshness {
					t.Errorf("%+v came back as %+v", reqs[i], again[i])
				}
			}
		}
		decodeKeys(&keys, maxKeys)
	})
}

// What a server may send: whatever is taken can be read without a panic.
func FuzzReply(f *testing.F) {
	s := newSchemas(f)
	s.id(oneColumn)
	results := []proxy.Result{
		{Row: rowOf(oneColumn, "x"), AsOf: 1, Upper: 2, Position: proxy.Position{Commit: 3}, Horizon: 4, Pinned: true},
		{Err: proxy.ErrNotPrimary}, {},
	}
	f.Add(uint8(3), appendResults(nil, results, maxReply, s.id))
	f.Add(uint8(1), appendResults(nil, []proxy.Result{{Err: &proxy.RejectedError{Reason: "no"}}}, maxReply, s.id))
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		results := make([]proxy.Result, n)
		if decodeResults(&cursor{rest: body}, results, s.known.schemas) != nil {
			return
		}
		for _, r := range results {
			r.Row.AppendJSON(nil)
			_ = r.Origin.String()
			if r.Err != nil {
				_ = r.Err.Error()
			}
		}
	})
}

// What is said before anybody knows who is there, and what ends have in tables.
func FuzzHandshake(f *testing.F) {
	catalog := catalogOf(f, "users", "orders")
	h := hello{lowest: 1, highest: 2, name: "a", keyed: true}
	f.Add(h.append(nil))
	f.Add(appendTable(nil, catalog, []uint64{1, 2}))
	f.Add(appendColumns(nil, &row.Schema{Columns: []string{"id", "name"}}))
	f.Fuzz(func(t *testing.T, body []byte) {
		var h, again hello
		if h.decode(body) == nil {
			if err := again.decode(h.append(nil)); err != nil || again != h {
				t.Errorf("%+v came back as %+v, %v", h, again, err)
			}
		}
		decodeTable(body, catalog, []uint64{1, 2})
		var d dictionary
		if d.learn(body) == nil && len(d.schemas[0].Columns) > len(body) {
			t.Errorf("%d columns out of %d bytes", len(d.schemas[0].Columns), len(body))
		}
	})
}
