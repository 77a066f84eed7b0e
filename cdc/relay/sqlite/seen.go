package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// behind reports whether the snapshot does not go on from what was last seen
// of this file. Its sequence alone does not tell: once enough was changed
// after a backup was put back, it is past the one that was seen, and the
// changes up to there would pass for shipped. So each row of the outbox has a
// random mark, and the last row that was seen must have the one it had.
func (l *Log) behind(ctx context.Context, head sqlite.Head) (bool, error) {
	seen := l.head
	switch {
	case head.Identity.Precedes(seen.Identity):
		return true, nil
	case head.Identity != seen.Identity:
		return false, nil
	case head.Sequence < seen.Sequence:
		return true, nil
	}
	mark, err := l.markOf(ctx, seen.Sequence)
	return mark != 0 && l.mark != 0 && mark != l.mark, err
}

// markOf returns the mark of a row of the outbox; 0 if it is not there.
func (l *Log) markOf(ctx context.Context, sequence uint64) (mark int64, err error) {
	err = l.conn.Row(ctx, []any{&mark}, `SELECT mark FROM `+sqlite.OutboxTable+` WHERE seq = ?`, int64(sequence))
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return mark, err
}

// see takes down what the snapshot shows, before any of it is shipped.
func (l *Log) see(ctx context.Context, head sqlite.Head) error {
	if head.Identity != l.head.Identity || head.Sequence != l.head.Sequence || l.mark == 0 {
		mark, err := l.markOf(ctx, head.Sequence)
		if err != nil {
			return err
		}
		if err := l.keepSeen(head, mark); err != nil {
			return err
		}
		l.mark = mark
	}
	l.head = head
	return nil
}

// What was seen lies in the file with the lock, outside the database, so that
// it does not go back together with it: system, timeline, sequence and mark.
const seenSize = 4 * 8

func (l *Log) keepSeen(head sqlite.Head, mark int64) error {
	if l.lock == nil {
		return nil
	}
	b := make([]byte, 0, seenSize)
	for _, n := range []uint64{head.Identity.System, head.Identity.Timeline, head.Sequence, uint64(mark)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	if _, err := l.lock.WriteAt(b, 0); err != nil {
		return fmt.Errorf("take down what was seen of the outbox: %w", err)
	}
	return nil
}

// recallSeen reads what the last relay of this file took down.
func (l *Log) recallSeen() error {
	b := make([]byte, seenSize)
	_, err := l.lock.ReadAt(b, 0)
	if errors.Is(err, io.EOF) { // there was none
		return nil
	}
	if err != nil {
		return err
	}
	n := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	l.head = sqlite.Head{Identity: proxy.Identity{System: n(0), Timeline: n(1)}, Sequence: n(2)}
	l.mark = int64(n(3))
	return nil
}
