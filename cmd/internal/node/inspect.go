package node

import (
	"fmt"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/proxy"
)

// inspector answers the FRESHET commands from all parts of a node.
type inspector struct{ n *Node }

func (i inspector) Explain(key proxy.Key) [][2]string {
	slot := hashring.SlotOf(key.Text)
	return append(i.n.cache.Explain(key),
		[2]string{"slot", strconv.Itoa(slot)},
		[2]string{"owner", i.n.ring.Owner(slot)},
	)
}

func (i inspector) Invalidate(key proxy.Key) { i.n.cache.Invalidate(key) }

func (i inspector) Void(u *proxy.UseCase) { i.n.cache.Void(u) }

// Lag tells how far the stream has come, and what is wrong. Ages are by the
// source's clock, at its upper end.
func (i inspector) Lag() [][2]string {
	lo, hi := i.n.clock.Bounds()
	s := i.n.applier.Status()
	facts := [][2]string{
		{"watermark age", ageText(hi, s.Watermark)},
		{"clock width", ageText(hi, lo)},
		{"held", strconv.FormatBool(s.Held)},
		{"gaps", strconv.FormatUint(s.Gaps, 10)},
	}
	for id, p := range s.Partitions {
		facts = append(facts, [2]string{"partition " + strconv.Itoa(id), fmt.Sprintf("offset %d, mark %d/%d, checkpoint age %s",
			p.Offset, p.Mark.Commit, p.Mark.Seq, ageText(hi, p.Checkpoint))})
	}
	for _, p := range i.n.problems() {
		facts = append(facts, [2]string{"problem", p})
	}
	return facts
}

func ageText(now, then proxy.Time) string {
	if now == proxy.Forever || then == proxy.Never {
		return "unknown"
	}
	return now.Sub(then).Round(time.Microsecond).String()
}
