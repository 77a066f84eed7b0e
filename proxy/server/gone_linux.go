package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// gone reports whether a connection's peer has closed its side or was lost,
// though bytes that came before that may not be read yet.
func gone(nc net.Conn) (closed bool) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		ask := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(ask, 0)
		closed = err == nil && n > 0
	})
	return closed
}
