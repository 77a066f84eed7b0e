package command

// multiState is a transaction that is being refused. MULTI is answered OK, as
// only then do all clients go on to EXEC or DISCARD, which take the connection
// back to its ordinary state.
type multiState struct {
	open    bool // MULTI has come, and no EXEC or DISCARD
	refused bool // a command has come since
}

// endsMulti reports whether a command is carried out in a transaction.
func (c *command) endsMulti() bool {
	return c.group == transactions || c.name == "reset" || c.name == "quit"
}

func (s *Session) multi([][]byte) {
	if s.open {
		s.refuse(errNested)
		return
	}
	s.open = true
	s.w.Simple("OK")
}

func (s *Session) refuseInMulti() {
	s.refused = true
	s.refuse(errInMulti)
}

func (s *Session) exec([][]byte) {
	was := s.multiState
	s.multiState = multiState{}
	switch {
	case !was.open:
		s.refuse(errNoMulti)
	case was.refused:
		s.refuse(errExecAbort)
	default:
		s.w.Array(0)
	}
}

func (s *Session) discard([][]byte) {
	if !s.open {
		s.refuse(errNoDiscard)
		return
	}
	s.multiState = multiState{}
	s.w.Simple("OK")
}
