//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// claim takes the lock that lets one relay of this host have the outbox. It
// lies on a file of its own: SQLite's own locks on the database would be lost
// with any descriptor of it that this process closes.
func (l *Log) claim() error {
	if l.lock != nil {
		return nil
	}
	f, err := os.OpenFile(l.opts.Path+"-relay", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		l.lock = f
		return l.recallSeen()
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another relay has it; this one stands by")
	}
	return fmt.Errorf("lock %s: %w", f.Name(), err)
}

func (l *Log) unlock() error {
	if l.lock == nil {
		return nil
	}
	err := l.lock.Close()
	l.lock = nil
	return err
}
