package e2e

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// late is a source that takes its time with the keys of the use case `slow`,
// and answers each with a value that names its key: whoever is answered with
// another's value sees it.
type late struct{ proxy.Source }

var lateSchema = &row.Schema{Columns: []string{"value"}}

func lateValue(key string) string { return "is " + key }

func (l late) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	l.Source.Load(ctx, reqs, results)
	wait := time.Duration(0)
	for i, r := range reqs {
		if r.Key.UseCase.Name != "slow" || results[i].Err != nil {
			continue
		}
		value := row.Field{Name: "value", Kind: row.Bytes, Value: []byte(lateValue(string(r.Key.Text)))}
		results[i].Row, _ = row.Encode(lateSchema, []row.Field{value})
		wait = lateBy()
	}
	time.Sleep(wait)
}

// lateBy is how long the source takes: mostly less than a client waits,
// sometimes more.
func lateBy() time.Duration {
	most := time.Millisecond
	switch n := rand.IntN(100); {
	case n < 3:
		most = 40 * time.Millisecond
	case n < 20:
		most = 8 * time.Millisecond
	}
	return rand.N(most)
}

// clientNode is a node that the clients of others are tried on. It can be
// started again where it was.
type clientNode struct {
	*shop
	address string
	stop    func()
}

func newClientNode(t *testing.T) *clientNode {
	t.Helper()
	slow := mapped("slow", "kv", 20*time.Millisecond)
	slow.Column = "value"
	n := &clientNode{shop: newStack(t, append(everyMapping(), slow)...)}
	t.Cleanup(n.broker().Close)
	n.relay()
	n.start()
	return n
}

func (n *clientNode) start() {
	n.t.Helper()
	own := *n.config
	running, err := node.Seams{Source: func(s proxy.Source) proxy.Source { return late{s} }}.Open(n.t.Context(), &own, n.log())
	if err != nil {
		n.t.Fatal(err)
	}
	n.stop = n.spawn("node", running.Run)
	n.await(running)
	n.address = running.Address()
	n.config.Node.Listen = n.address
}

func (n *clientNode) restart() {
	n.stop()
	n.start()
}
