package cache

import (
	"slices"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// modelLog is the topic, in which an offset is an index, and the end of the
// relay's chain in each of its partitions.
type modelLog struct {
	stream  event.StreamID
	logs    [][][]byte
	last    []proxy.Position
	doubled bool // each record is appended twice
	lies    bool // the relay ships again what it shipped, as what comes next
}

// newStream makes the relay begin another stream, in all partitions that there
// are by now.
func (s *modelSource) newStream() {
	s.stream = event.StreamID{Source: s.identity, Slot: "model", Topic: s.stream.Topic + 1, Partitions: len(s.logs)}
	s.last = make([]proxy.Position, len(s.logs))
	s.check, s.lies = nil, false
}

// write appends a record to a partition, unless it is there already: a relay
// that begins anew is offered again what it may not have shipped.
func (s *modelSource) write(p int, pos proxy.Position, ch *event.Change, cp *event.Checkpoint) {
	if !s.lies && pos.Compare(s.last[p]) <= 0 {
		return
	}
	r := &event.Record{Stream: s.stream.Hash(), Prev: s.last[p], Position: pos, Change: ch, Checkpoint: cp}
	value := event.Append(nil, r)
	s.logs[p] = append(s.logs[p], value)
	if s.doubled {
		s.logs[p] = append(s.logs[p], value)
	}
	s.w.note("log p%d #%d: prev %v pos %v change %+v checkpoint %+v", p, len(s.logs[p]), r.Prev, r.Position, ch, cp)
	s.last[p] = pos
}

// resend makes a relay ship again what it shipped, as what comes next: it
// lies. Ours does not, whatever it is offered again.
func (s *modelSource) resend() {
	back := s.w.rng.IntN(3)
	s.shipped = max(0, s.shipped-back)
	s.check, s.lies = nil, true
}

// restartRelay makes a relay begin anew, as after a crash: it looks at what
// the topic ends with, and ships what no checkpoint in each of the partitions
// was in front of: that much its log still has. As long as anything tells the
// stream, it goes on with that, also where a partition is empty; ours would make
// sure first that its log goes back far enough for that one too, but a node must
// not rely on it.
func (s *modelSource) restartRelay() {
	s.w.note("the relay restarts")
	s.check, s.lies = nil, false
	last, told, forgotten := make([]proxy.Position, len(s.logs)), false, s.pos
	for p, log := range s.logs {
		record, check := s.lastOf(p)
		if record == nil && (len(log) > 0 || s.zombie != nil) {
			s.newStream() // the chain cannot go on behind what is another's
			return
		}
		if record == nil {
			continue
		}
		last[p], told = record.Position, true
		if check == nil {
			forgotten = 0
		} else {
			forgotten = min(forgotten, check.Position.Commit)
		}
	}
	if !told || len(last) != s.stream.Partitions {
		s.newStream()
		return
	}
	s.last = last
	for s.shipped > 0 && s.txs[s.shipped-1].pos > forgotten {
		s.shipped--
	}
}

// lastOf is a partition's last record of the current stream, and the last of
// them that is a checkpoint; nil if there is none.
func (s *modelSource) lastOf(p int) (record, check *event.Record) {
	for _, value := range slices.Backward(s.logs[p]) {
		r, err := event.Decode(value)
		if err != nil || r.Stream != s.stream.Hash() {
			continue
		}
		if record == nil {
			record = r
		}
		if r.Checkpoint != nil {
			return record, r
		}
	}
	return record, nil
}

// lose takes a record out of the log that the node has not read yet: a hole.
func (s *modelSource) lose() {
	p := s.w.rng.IntN(len(s.logs))
	if from := s.w.node.at(p); from < len(s.logs[p]) {
		s.logs[p] = slices.Delete(slices.Clone(s.logs[p]), from, from+1)
	}
}

// remake makes the topic anew, empty, under a relay and a node that have not
// noticed.
func (s *modelSource) remake() {
	s.w.note("the topic is made anew")
	for p := range s.logs {
		s.logs[p] = nil
	}
}

// replay appends the last records of a partition once more.
func (s *modelSource) replay() {
	p := s.w.rng.IntN(len(s.logs))
	n := len(s.logs[p])
	s.logs[p] = append(s.logs[p], s.logs[p][max(0, n-1-s.w.rng.IntN(8)):n]...)
	s.w.note("p%d replayed", p)
}

// widen adds a partition. Relay and node see it when they look.
func (s *modelSource) widen() {
	const most = modelPartitions + 2
	if len(s.logs) < most {
		s.w.note("a partition is added")
		s.logs = append(s.logs, nil)
	}
}

// recount is the relay looking for new partitions.
func (s *modelSource) recount() {
	if len(s.logs) != s.stream.Partitions {
		s.newStream()
	}
}
