package cdc

import (
	"fmt"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// Status is how far the stream has been applied.
type Status struct {
	Watermark  proxy.Time
	Held       bool           // a checkpoint lied: the watermark holds
	Lost       string         // why the position is not known; empty: it is
	Gaps       uint64         // since start
	Stream     event.StreamID // the current one; zero until a checkpoint told it
	Partitions []PartitionStatus
}

// PartitionStatus is how far one partition has been applied.
type PartitionStatus struct {
	Offset     int64          // of the last record; -1: none since attach
	Stream     uint64         // whose position Mark is
	Mark       proxy.Position // of the highest applied record
	Checkpoint proxy.Time     // the last that was believed; proxy.Never: none
	Heard      uint64         // the stream of the last checkpoint that counted since attach
}

// Status returns how far the stream has been applied.
func (a *Applier) Status() Status {
	_, id, held := a.wm.current()
	s := Status{Watermark: a.wm.Load(), Held: held, Lost: a.lostReason(), Gaps: a.gaps.Load(), Stream: id}
	for _, p := range *a.parts.Load() {
		s.Partitions = append(s.Partitions, p.status())
	}
	return s
}

func (p *partition) status() PartitionStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown
}

func (a *Applier) lostReason() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

// CaughtUp reports whether each partition of the current stream has had a
// checkpoint since the position was last established, or what is missing.
func (a *Applier) CaughtUp() (bool, string) {
	if lost := a.lostReason(); lost != "" {
		return false, "the position in the change stream is not known: " + lost
	}
	stream, id, _ := a.wm.current()
	if id.Partitions == 0 {
		return false, "no checkpoint has come yet"
	}
	parts := *a.parts.Load()
	for i := range id.Partitions {
		if i >= len(parts) {
			return false, fmt.Sprintf("partition %d of the change stream is not followed yet", i)
		}
		if parts[i].status().Heard != stream {
			return false, fmt.Sprintf("partition %d has had no checkpoint yet", i)
		}
	}
	return true, ""
}
