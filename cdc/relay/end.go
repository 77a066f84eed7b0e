package relay

import (
	"bytes"
	"context"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// end is what a partition ends with. Records that are not ours are nil.
type end struct {
	empty  bool
	record *event.Record // the last one
	check  *event.Record // the last one that is a checkpoint
}

func (r *Relay) ends(ctx context.Context, n int) ([]end, error) {
	var d event.Decoder
	isCheckpoint := func(value []byte) bool {
		r, err := d.Decode(value)
		return err == nil && r.Checkpoint != nil
	}
	ends := make([]end, n)
	for p := range ends {
		last, err := r.topic.Last(ctx, p, func([]byte) bool { return true })
		if err != nil {
			return nil, err
		}
		check := last
		if last != nil && !isCheckpoint(last) {
			if check, err = r.topic.Last(ctx, p, isCheckpoint); err != nil {
				return nil, err
			}
		}
		e := &ends[p]
		e.empty = last == nil
		e.record, _ = event.Decode(last)
		e.check, _ = event.Decode(check)
	}
	return ends, nil
}

// incarnation returns the topic's: the one kept in the log, or in the topic's
// own checkpoints, unless the topic is empty and so a new one.
//
// A relay that is killed leaves changes behind the last checkpoint, which do
// not tell it; so it is looked for in front of them.
func incarnation(kept uint64, ends []end) uint64 {
	empty := true
	for _, e := range ends {
		empty = empty && e.empty
		if kept == 0 && e.check != nil {
			kept = e.check.Checkpoint.Stream.Topic
		}
	}
	if empty || kept == 0 {
		return draw()
	}
	return kept
}

// continues reports whether the log goes on where this stream ends in the
// topic. A log forgets what is acknowledged, which a checkpoint in each of the
// partitions was in front of: so it begins no later than any newest one.
func (s *session) continues(ends []end, begin proxy.Position) bool {
	for _, e := range ends {
		if e.check == nil || e.check.Stream != s.hash || e.check.Position.Commit < begin.Commit {
			return false
		}
	}
	return true
}

// begun reports whether the topic holds anything of this stream.
func (s *session) begun(ends []end) bool {
	for _, e := range ends {
		if e.record != nil && e.record.Stream == s.hash || e.check != nil && e.check.Stream == s.hash {
			return true
		}
	}
	return false
}

// agreed returns the state that all newest checkpoints have; nil if they
// differ: the relay was stopped while it wrote another.
func agreed(ends []end) []byte {
	state := ends[0].check.Checkpoint.State
	for _, e := range ends {
		if !bytes.Equal(e.check.Checkpoint.State, state) {
			return nil
		}
	}
	return state
}
