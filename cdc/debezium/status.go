package debezium

import "time"

// longWait is after which a wait is told as a problem: no commit takes so long
// but one that waits for a standby.
const longWait = 5 * time.Second

// status is what Run lets others see.
type status struct {
	held  int
	since time.Time // nothing was applied since, though something is held; zero: nothing is
	err   error     // why the primary could not be asked
}

// tell shows how the stream stands, after a step in which something was applied
// or not.
func (s *Stream) tell(applied bool) {
	now := status{held: s.held, err: s.look.err}
	was := s.status.Load()
	switch {
	case s.held == 0:
	case applied || was.since.IsZero():
		now.since = time.Now()
	default:
		now.since = was.since
	}
	if now.err == nil && !s.look.asked {
		now.err = was.err // nobody was asked
	}
	s.status.Store(&now)
	switch {
	case now.err != nil && was.err == nil:
		s.log.Warn("the primary cannot be asked what is visible: changes wait", "error", now.err)
	case now.err == nil && was.err != nil:
		s.log.Info("the primary says again what is visible")
	}
}

// Held returns how many records wait to be visible.
func (s *Stream) Held() int { return s.status.Load().held }

// Problem says what the stream has been waiting for, or nothing. It may be
// called at any time.
func (s *Stream) Problem() string {
	now := s.status.Load()
	waits := !now.since.IsZero() && time.Since(now.since) >= longWait
	switch {
	case now.err != nil:
		return "the primary cannot be asked what is visible: " + now.err.Error()
	case waits:
		return "changes wait until they are visible in the database: a synchronous standby is away, or stream.debezium.visibility_lag is long"
	case s.barrier.pins(time.Now()) >= max(longWait, 2*s.barrier.lag):
		return "fills are pinned: transactions that began before the topics were followed have not ended, or changes are missing again and again"
	}
	return ""
}
