package stacked

import (
	"context"
	"errors"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// unseen is nodes that lose their place in the topic while commits are in it
// that nobody can see yet. Only the barrier keeps what they read then from being
// lifted, and only if it waits for these commits:
//
//  1. the nodes are away from their broker
//  2. a heartbeat begins, and has the number n
//  3. the standby freezes: transactions with numbers above n commit, are in the log
//     and then in the topic, and nobody sees them
//  4. no transaction ends that has a number above theirs: so a snapshot does not
//     list them among those that run, as it ends before them
//  5. the topic is cut at its end: the nodes have lost their place, and follow it
//     from behind these commits
//  6. the heartbeat ends, and is the first checkpoint that comes. All is void once
//     more, as the catalog may be another one, and they ask for the barrier's
//     number: what ended last is n, and the snapshot ends there
//  7. they read rows as they were; other heartbeats come
//  8. the standby goes on: the commits are visible, and nothing tells of them
//  9. the next heartbeats lift what was read in 7
//
// A heartbeat waits for no standby, so one of the connector's would end in 4.
// Between 2 and 6 they find the table locked, and fail; meanwhile the connector
// ships what it has. With one that begins after 3 the commits would be listed
// in 6. And a topic that is made anew would not do in 5: its first records are
// gaps.
type unseen struct {
	*Deployment
	beat func(context.Context) error // ends the heartbeat; nil: none is under way
}

func (d *Deployment) unseen() fault.Fault {
	u := &unseen{Deployment: d}
	f := onDatabase("place lost amid unseen commits", readFor, readFor, u.begin, u.end)
	f.Parts = append(f.Parts, connector, broker)
	for _, n := range d.Members {
		f.Parts = append(f.Parts, n.Name())
	}
	return f
}

// readFor is how long rows are read while the commits cannot be seen, and again
// when they can: it is by luck that the same one is.
const readFor = 3 * part.Delta

// attempts are made to have commits that no snapshot lists. One fails where a
// writer undoes a transaction behind them: one in sixteen does.
const attempts = 10

func (u *unseen) begin(ctx context.Context) error {
	if err := u.ways((*stack.Forwarder).Cut); err != nil {
		return err
	}
	for range attempts {
		unlisted, err := u.unlisted(ctx)
		if err != nil {
			return err
		}
		if unlisted {
			break
		}
		if err := u.visible(ctx); err != nil {
			return err
		}
		pause.For(ctx, part.Delta/4) // writers go on
	}
	if err := errors.Join(u.kafka.Forget(ctx, topic), u.ways((*stack.Forwarder).Pass)); err != nil {
		return err
	}
	pause.For(ctx, part.Delta) // they find their place
	return u.beaten(ctx)
}

// unlisted begins a heartbeat and freezes the standby, and reports whether commits
// wait that no snapshot lists.
func (u *unseen) unlisted(ctx context.Context) (bool, error) {
	const (
		lock = "LOCK TABLE " + checkpoints + " IN SHARE ROW EXCLUSIVE MODE"
		none = `SELECT coalesce(min(backend_xid::text::int8) >= pg_snapshot_xmax(pg_current_snapshot())::text::int8, false)
			FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
	)
	beat, err := heartbeat()
	if err != nil {
		return false, err
	}
	if u.beat, err = u.database.primary.Begin(ctx, lock, beat); err != nil {
		return false, err
	}
	if err := u.database.standby.Pause(); err != nil {
		return false, err
	}
	pause.For(ctx, part.Delta/2) // all writers come to wait, and what is shipped is in the topic
	answer, err := u.database.primary.Query(ctx, none)
	return answer == "t", err
}

// beaten ends the heartbeat.
func (u *unseen) beaten(ctx context.Context) error {
	if u.beat == nil {
		return nil
	}
	beat := u.beat
	u.beat = nil
	return beat(ctx)
}

// visible ends all that waits.
func (u *unseen) visible(ctx context.Context) error {
	return errors.Join(u.database.standby.Resume(), u.beaten(ctx))
}

// end leaves time for what was read to be lifted, and to be read again.
func (u *unseen) end(ctx context.Context) error {
	err := errors.Join(u.ways((*stack.Forwarder).Pass), u.visible(ctx))
	pause.For(ctx, readFor)
	return err
}

// ways does something to the ways from the nodes to the broker.
func (u *unseen) ways(do func(*stack.Forwarder)) error {
	for _, n := range u.Members {
		w, err := u.Front.Way(n.Name())
		if err != nil {
			return err
		}
		do(w)
	}
	return nil
}
