package node

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cdc"
	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/peer"
)

// inspector answers the FRESHET commands from all parts of a node.
type inspector struct{ n *Node }

func (i inspector) Explain(key proxy.Key) [][2]string {
	facts := append(i.n.cache.Explain(key), violationsOf(i.n.auditor, key)...)
	return append(facts, i.n.owner(key)...)
}

// owner tells who owns a key, and why.
func (n *Node) owner(key proxy.Key) [][2]string {
	if n.tier == nil {
		return [][2]string{{"slot", strconv.Itoa(hashring.SlotOf(key.Text))}, {"owner", "this node, which is alone"}}
	}
	place := n.tier.explain(key.Text, time.Now())
	return [][2]string{{"slot", strconv.Itoa(place.Slot)}, {"owner", place.Owner}, {"why", place.Why}}
}

// Invalidate drops a key everywhere: whoever it is hot at keeps it, too.
func (i inspector) Invalidate(key proxy.Key) (untold []string) {
	i.n.cache.Invalidate(key)
	return i.n.tier.tell(func(ctx context.Context, to *peer.Peer) error { return to.Forget(ctx, []proxy.Key{key}) })
}

// Void drops a use case everywhere.
func (i inspector) Void(u *proxy.UseCase) (untold []string) {
	i.n.cache.Void(u)
	return i.n.tier.tell(func(ctx context.Context, to *peer.Peer) error { return to.Void(ctx, u) })
}

// Lag tells how far the stream has come, and what is wrong. Ages are by the
// source's clock, at its upper end.
func (i inspector) Lag() [][2]string {
	lo, hi := i.n.clock.Bounds()
	s := i.n.applier.Status()
	facts := [][2]string{
		{"watermark age", proxy.AgeText(hi, s.Watermark)},
		{"clock width", proxy.AgeText(hi, lo)},
		{"held", strconv.FormatBool(s.Held)},
		{"gaps", strconv.FormatUint(s.Gaps, 10)},
	}
	if d := i.n.connector; d != nil {
		facts = append(facts, [2]string{"held records", strconv.Itoa(d.stream.Held())})
	}
	for id, p := range s.Partitions {
		facts = append(facts, [2]string{i.n.partition(id), fmt.Sprintf("offset %d, mark %d/%d, checkpoint age %s",
			p.Offset, p.Mark.Commit, p.Mark.Seq, proxy.AgeText(hi, p.Checkpoint))})
	}
	// One pair each: in RESP3 they are a map, in which names stand once.
	if kept := i.n.applier.Kept(); len(kept) > 0 {
		facts = append(facts, [2]string{"undecodable", keptText(kept[len(kept)-1])})
	}
	if problems := append(i.n.problems(), i.n.tier.problems()...); len(problems) > 0 {
		facts = append(facts, [2]string{"problem", strings.Join(problems, "; ")})
	}
	return facts
}

// keptText says where a record lies that could not be understood, and why; not
// what it holds, which may be anybody's row.
func keptText(k cdc.Kept) string {
	return fmt.Sprintf("partition %d, offset %d, table %q: %s", k.Partition, k.Offset, k.Table, k.Reason)
}
