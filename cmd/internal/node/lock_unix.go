//go:build unix

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock takes a file for this process alone, until unlock or the process's end.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return func() {}, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return func() {}, fmt.Errorf("%s is used by another freshet dev: end it, or name another folder with --dir", filepath.Dir(path))
	}
	return func() { f.Close() }, nil
}
