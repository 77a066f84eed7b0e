package cache

import (
	"fmt"
	"strconv"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Watch counts the reads of a key from now on, and keeps what happens to it
// apart from what happens to others, for ten minutes.
func (c *Cache) Watch(key proxy.Key) {
	_, hi := c.clock.Bounds()
	c.trace.watch(hashOf(key.Text), hi)
}

// told is the time of a step: the source's, or before all others while nobody
// knows that.
func (c *Cache) told() proxy.Time {
	if _, hi := c.clock.Bounds(); hi != proxy.Forever {
		return hi
	}
	return proxy.Never
}

// Trace says what is remembered of a key: a line for each step, oldest first,
// with the source's time at which it was taken; then, if the key is watched, how
// often it was read, by how that ended. It tells no values.
func (c *Cache) Trace(key proxy.Key) []string {
	steps, w := c.trace.of(hashOf(key.Text), key.UseCase.ID)
	var lines []string
	for _, s := range merged(steps, c.trace.voids.of(key.UseCase.ID)) {
		lines = append(lines, proxy.TimeText(s.at)+" "+s.String())
	}
	if w == nil {
		return lines
	}
	for r := range reasons {
		if n := w.reads[r].n.Load(); n > 0 {
			lines = append(lines, fmt.Sprintf("%s last of %d reads since %s: %s",
				proxy.TimeText(proxy.Time(w.reads[r].last.Load())), n, proxy.TimeText(w.until.Add(-watchFor)), ending(r)))
		}
	}
	return lines
}

// ending is how a read ended that was judged so.
func ending(r reason) string {
	switch r {
	case reasonNone:
		return "hit"
	case reasonRefresh:
		return "hit, refreshed ahead"
	}
	return "waited for a fill: " + r.String()
}

// merged merges steps by their times; both are in order.
func merged(a, b []step) []step {
	out := make([]step, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if b[0].at < a[0].at {
			out, b = append(out, b[0]), b[1:]
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	return append(append(out, a...), b...)
}

func (s step) String() string {
	switch s.what {
	case stepSent:
		return fmt.Sprintf("fill sent: %s, as of %s", s.why, proxy.TimeText(s.asof))
	case stepInstalled:
		return fmt.Sprintf("fill answered and installed: %s, as of %s, position %s", content(s.bytes), proxy.TimeText(s.asof), place(s.position))
	case stepRefused:
		return fmt.Sprintf("fill answered and not kept, as a change had passed it: %s, position %s", content(s.bytes), place(s.position))
	case stepUnkept:
		return "fill answered and not kept, as another node keeps the key: " + content(s.bytes)
	case stepFailed:
		return "fill failed"
	case stepReplaced:
		return fmt.Sprintf("replaced by %s: %s", s.change(), content(s.bytes))
	case stepDropped:
		return "made void by " + s.change()
	case stepPassed:
		return "nothing held, passed by " + s.change()
	case stepWritten:
		return "made void by a write through this node"
	case stepInvalidated:
		return "made void by hand, or by a write through another node"
	case stepEvicted:
		return fmt.Sprintf("evicted: %s, as of %s", content(s.bytes), proxy.TimeText(s.asof))
	}
	return fmt.Sprintf("made void with all of its use case: epoch %d", s.epoch)
}

// change names the change of a step.
func (s step) change() string {
	text := fmt.Sprintf("a change, partition %d, offset %d", s.record.Partition, s.record.Offset)
	if s.position.Known() {
		text += ", position " + place(s.position)
	}
	return text
}

// bytesOf is the size of a row for a step; absent if there is none.
func bytesOf(r row.Row) int {
	if !r.Exists() {
		return absent
	}
	return r.Size()
}

const absent = -1

func content(bytes int) string {
	if bytes == absent {
		return "no such row"
	}
	return strconv.Itoa(bytes) + " bytes"
}

func place(p proxy.Position) string {
	return strconv.FormatUint(p.Commit, 10) + "/" + strconv.FormatUint(p.Seq, 10)
}
