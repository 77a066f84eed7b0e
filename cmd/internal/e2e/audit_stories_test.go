package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/proxy"
)

// stories are what a rule of the contract is there for: with the rule, the
// audit finds nothing; without it, the entry of the key that each returns.
var stories = []struct {
	name string
	tell func(a *auditedNode) (key string)
}{
	{"a change is lost on its way", func(a *auditedNode) string {
		a.topic.lose.Store(true)
		a.setCredit(1, 100)
		eventually(a.t, "it is lost", func() bool { return !a.topic.lose.Load() })
		return "users:1"
	}},
	{"a primary key changes and its second half is lost", func(a *auditedNode) string { // B24
		a.client.do("GET", "users:9002")
		a.topic.lose.Store(true)
		a.sql("UPDATE users SET id = 9002 WHERE id = 5")
		eventually(a.t, "it is lost", func() bool { return !a.topic.lose.Load() })
		return "users:9002"
	}},
	{"a partition falls silent", func(a *auditedNode) string {
		a.topic.silence.Store(true)
		a.setCredit(1, 100)
		eventually(a.t, "it is silent", func() bool { return !a.topic.silence.Load() })
		return "users:1"
	}},
	{"a change passes a fill", func(a *auditedNode) string {
		a.source.hold.Store(true)
		changes := a.metric(a.node, "freshet_cdc_changes_total", `outcome="applied"`)
		reply := make(chan error, 1)
		go func() {
			_, err := a.client.Do("GET", "users:30")
			reply <- err
		}()
		<-a.source.holds
		a.setCredit(30, 100)
		eventually(a.t, "the change is applied", func() bool {
			return a.metric(a.node, "freshet_cdc_changes_total", `outcome="applied"`) > changes
		})
		a.source.release <- struct{}{}
		if err := <-reply; err != nil {
			a.t.Fatal(err)
		}
		return "users:30"
	}},
	{"a row comes where none was", func(a *auditedNode) string {
		a.client.do("GET", "users:9001")
		a.sql("INSERT INTO users (id, name, email) VALUES (9001, 'New', 'new@shop.example')")
		return "users:9001"
	}},
	{"a column is added", func(a *auditedNode) string {
		a.sql("ALTER TABLE users ADD COLUMN colour TEXT DEFAULT 'red'")
		return "users:1"
	}},
}

// auditedNode is a node that audits, with what a story needs around it.
type auditedNode struct {
	*shop
	node   *node.Node
	client *client
	topic  *badTopic
	source *heldReads
}

// audits starts a node that follows one change in so many, and reads some keys.
func audits(t *testing.T, oneIn int) *auditedNode {
	t.Helper()
	a := &auditedNode{shop: newStack(t, mapped("users", "users", time.Hour)), topic: &badTopic{}, source: newHeldReads()}
	a.audited(oneIn)
	t.Cleanup(a.broker().Close)
	seams := node.Seams{
		Topic:  func(topic relay.Topic) relay.Topic { a.topic.Topic = topic; return a.topic },
		Source: func(source proxy.Source) proxy.Source { a.source.Source = source; return a.source },
	}
	r, err := seams.OpenRelay(t.Context(), a.config, a.log())
	if err != nil {
		t.Fatal(err)
	}
	a.spawn("relay", r.Run)
	if a.node, err = seams.Open(t.Context(), a.config, a.log()); err != nil {
		t.Fatal(err)
	}
	a.spawn("node", a.node.Run)
	a.await(a.node)
	a.client = a.shop.client(a.node.Address())
	a.readSome()
	return a
}

func (a *auditedNode) readSome() {
	a.t.Helper()
	for id := 1; id <= 20; id++ {
		a.client.do("GET", fmt.Sprintf("users:%d", id))
	}
}

// badTopic loses what it is told to lose, and says that all went well.
type badTopic struct {
	relay.Topic
	lose    atomic.Bool // the next change that leaves a row behind
	silence atomic.Bool // all of the partition that the next such change is in

	mu     sync.Mutex
	silent map[int]bool
}

func (b *badTopic) Append(ctx context.Context, partition int, values [][]byte) error {
	var kept [][]byte
	for _, v := range values {
		if !b.loses(partition, v) {
			kept = append(kept, v)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return b.Topic.Append(ctx, partition, kept)
}

func (b *badTopic) loses(partition int, value []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, err := event.Decode(value)
	row := err == nil && r.Change != nil && len(r.Change.After) > 0
	if row && b.silence.CompareAndSwap(true, false) {
		b.silent = map[int]bool{partition: true}
	}
	return b.silent[partition] || row && b.lose.CompareAndSwap(true, false)
}

// heldReads holds the answer of one read of the source.
type heldReads struct {
	proxy.Source
	hold           atomic.Bool
	holds, release chan struct{}
}

func newHeldReads() *heldReads {
	return &heldReads{holds: make(chan struct{}), release: make(chan struct{})}
}

func (h *heldReads) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	h.Source.Load(ctx, reqs, results)
	if len(reqs) == 1 && strings.HasSuffix(string(reqs[0].Key.Text), ":30") && h.hold.CompareAndSwap(true, false) {
		h.holds <- struct{}{}
		<-h.release
	}
}

// With every rule in place, none of the stories leaves an entry behind that the
// audit takes for wrong.
func TestAuditorIsSilentWhereTheRulesHold(t *testing.T) {
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			a := audits(t, 1)
			key := story.tell(a)
			reads := a.metric(a.node, "freshet_audit_source_reads_total")
			eventually(t, "what is held is looked at", func() bool {
				a.client.do("GET", key)
				a.readSome()                                                             // what a gap has made void is held again
				return a.metric(a.node, "freshet_audit_source_reads_total") > reads+1000 // a second of it at least
			})
			if v := a.violations(a.node); len(v) > 0 {
				t.Errorf("got %+v", v)
			}
		})
	}
}
