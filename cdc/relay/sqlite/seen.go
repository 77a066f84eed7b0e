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

// missed reports whether the schema may have been changed and changed back
// since it was last seen, so that the catalog looks as if nothing had happened:
//
//  1. a column is added
//  2. a node reads a row, and keeps it with that column
//  3. the column is dropped; the relay, which was away, finds what it knows
//  4. its next checkpoint says that the row is as fresh as that
//
// Or a column is dropped and added again, in one transaction even, and its
// values are lost. No trigger fires, and nothing stays behind in the catalog
// but the schema's version. Each statement that changes the schema, of
// whichever table, raises it by one; so one more is no way there and back, and
// whatever that statement did is there to be seen.
func (l *Log) missed(version int64) bool {
	return !l.hasHead || uint32(version-l.head.SchemaVersion) > 1 // it has 32 bits, and may wrap
}

// see takes down what the snapshot shows, before any of it is shipped.
func (l *Log) see(ctx context.Context, head sqlite.Head) (err error) {
	mark := l.mark
	if head.Identity != l.head.Identity || head.Sequence != l.head.Sequence || mark == 0 {
		if mark, err = l.markOf(ctx, head.Sequence); err != nil {
			return err
		}
	}
	if err := l.keepSeen(head, mark); err != nil {
		return err
	}
	l.hasHead, l.head, l.mark = true, head, mark
	return nil
}

// What was seen lies in the file with the lock, outside the database, so that
// it does not go back together with it: system, timeline, sequence, mark and
// the schema's version.
const seenSize = 5 * 8

func (l *Log) keepSeen(head sqlite.Head, mark int64) error {
	var b [seenSize]byte
	for i, n := range []uint64{head.Identity.System, head.Identity.Timeline, head.Sequence, uint64(mark), uint64(head.SchemaVersion)} {
		binary.BigEndian.PutUint64(b[8*i:], n)
	}
	if l.lock == nil || b == l.kept {
		return nil
	}
	if _, err := l.lock.WriteAt(b[:], 0); err != nil {
		return fmt.Errorf("take down what was seen of the outbox: %w", err)
	}
	l.kept = b
	return nil
}

// recallSeen reads what the last relay of this file took down.
func (l *Log) recallSeen() error {
	var b [seenSize]byte
	_, err := l.lock.ReadAt(b[:], 0)
	l.kept = b
	if errors.Is(err, io.EOF) { // there was none
		return nil
	}
	if err != nil {
		return err
	}
	n := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	l.head = sqlite.Head{Identity: proxy.Identity{System: n(0), Timeline: n(1)}, Sequence: n(2), SchemaVersion: int64(n(4))}
	l.hasHead, l.mark = true, int64(n(3))
	return nil
}
