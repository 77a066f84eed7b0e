package server

import (
	"context"
	"errors"
	"time"
)

// errGone is returned when the client has left while a command of its waited.
var errGone = errors.New("the client has gone")

// watchPause is how often the watch looks. A client that has closed its side
// is given up on after one to two of these, and not at once: one that sends
// its requests, closes that side and reads the replies has closed it, too.
const watchPause = 250 * time.Millisecond

// watch ends the waits of connections whose client has left: while a command
// waits for the source, nobody reads its connection. One goroutine looks after
// all of them, and asks the kernel only about those that have been in the same
// step since it last looked.
func (s *Server) watch(ctx context.Context) {
	ticker := time.NewTicker(s.watchPause)
	defer ticker.Stop()
	var waiting []*conn
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		waiting = s.waiting(waiting[:0])
		for i, c := range waiting {
			if c.killed.Load() || gone(c.net) {
				c.giveUp(errGone)
			}
			waiting[i] = nil
		}
	}
}

// waiting appends the connections that have been in one step since the last
// call.
func (s *Server) waiting(to []*conn) []*conn {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		step := c.steps.Load()
		switch {
		case step != c.watched:
			c.watched, c.active = step, now
		case step%2 == 1:
			to = append(to, c)
		}
	}
	return to
}
