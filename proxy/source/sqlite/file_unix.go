//go:build unix

package sqlite

import (
	"fmt"
	"os"
	"syscall"
)

func fileName(info os.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	}
	return ""
}
