package kafka

import (
	"context"
	"fmt"
	"slices"
)

// layout is how the topics that are followed as one are spread: the partitions
// of the first topic, then those of the next. A partition's place in that order
// is its number towards the Handler.
type layout struct {
	topics  []string
	counts  []int   // partitions of each topic
	leaders []int32 // of each partition of all; -1: it has none
}

// layout asks for that of all topics. If one is not there, none is.
func (c *client) layout(ctx context.Context) (layout, error) {
	l := layout{topics: c.opts.topics()}
	for _, topic := range l.topics {
		leaders, err := c.leadersOf(ctx, topic)
		if err != nil {
			return layout{}, err
		}
		l.counts = append(l.counts, len(leaders))
		l.leaders = append(l.leaders, leaders...)
	}
	return l, nil
}

// place returns the topic of a partition, and its number there; no topic, if
// there is no such partition.
func (l *layout) place(partition int) (topic string, number int) {
	for i, n := range l.counts {
		if partition < n {
			return l.topics[i], partition
		}
		partition -= n
	}
	return "", 0
}

// differs returns the reason of a gap if the topics do not have the partitions
// any more that they had.
func (l *layout) differs(counts []int) (reason string) {
	if slices.Equal(l.counts, counts) {
		return ""
	}
	for i, n := range l.counts {
		if n < counts[i] {
			return partitionsFewer
		}
	}
	return partitionsAdded
}

// ends returns the first or the end offsets of all partitions.
func (c *client) ends(ctx context.Context, which int64, l *layout) ([]int64, error) {
	var all []int64
	for i, topic := range l.topics {
		offsets, err := c.offsetsOf(ctx, topic, which, l.counts[i])
		if err != nil {
			return nil, err
		}
		all = append(all, offsets...)
	}
	return all, nil
}

// compacted says of each topic whether it is compacted. Where that cannot be
// had, it counts as not.
func (c *client) compacted(ctx context.Context, l *layout) map[string]bool {
	is := map[string]bool{}
	for _, topic := range l.topics {
		policy, _ := c.policyOf(ctx, topic)
		is[topic] = policy.compacts()
	}
	return is
}

// Where returns the topic that a partition is of, and its number there, as of
// the last Attached.
func (t *Tail) Where(partition int) (topic string, number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.layout.place(partition)
}

func (p *partition) String() string {
	if p.topic == "" {
		return fmt.Sprint("partition ", p.number)
	}
	return fmt.Sprintf("topic %q, partition %d", p.topic, p.number)
}
