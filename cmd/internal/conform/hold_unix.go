//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package conform

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// hold has a folder for this process alone, until the file is closed or the
// process ends, in whatever way.
func hold(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another run is writing to the folder %s", dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
