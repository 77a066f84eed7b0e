package command

import "strings"

// quiet is what a client does not want replies to.
type quiet struct {
	off  bool // nothing
	skip int8 // 1: the request at hand; 2: the one behind it
}

// begin is called for each request.
func (q *quiet) begin() {
	if q.skip > 0 {
		q.skip--
	}
}

// silent reports whether the request at hand gets no reply.
func (q *quiet) silent() bool { return q.off || q.skip == 1 }

// clientReply: CLIENT REPLY ON|OFF|SKIP.
func (s *Session) clientReply(args [][]byte) {
	switch strings.ToLower(string(args[2])) {
	case "on":
		s.quiet = quiet{}
		s.w.Simple("OK")
	case "off":
		s.quiet.off = true
	case "skip":
		if !s.quiet.off {
			s.quiet.skip = 2
		}
	default:
		s.refuse(errSyntax)
	}
}

// clientFlag accepts a switch of Redis that changes nothing here.
func (s *Session) clientFlag(args [][]byte) {
	if _, err := onOff(args[2]); err != nil {
		s.refuse(err)
		return
	}
	s.w.Simple("OK")
}
