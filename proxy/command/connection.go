package command

import (
	"bytes"
	"fmt"
	"strings"
)

func (s *Session) ping(args [][]byte) {
	switch len(args) {
	case 1:
		s.w.Simple("PONG")
	case 2:
		s.w.Bulk(args[1])
	default:
		s.w.Error(wrongArity("ping"))
	}
}

func (s *Session) echo(args [][]byte) { s.w.Bulk(args[1]) }

func (s *Session) selectDB(args [][]byte) {
	n, err := integer(args[1])
	switch {
	case err != nil:
		s.refuse(errNoInteger)
	case n != 0:
		s.refuse(errDatabase)
	default:
		s.w.Simple("OK")
	}
}

func (s *Session) quit([][]byte) {
	s.w.Simple("OK")
	s.next = Close
}

func (s *Session) resetConn([][]byte) {
	s.w.V3, s.name, s.guarantees, s.multiState = false, nil, guarantees{}, multiState{}
	s.quiet, s.user = quiet{}, defaultUser
	s.readOnly, s.asking = false, 0
	s.enter(s.all.first)
	s.w.Simple("RESET")
}

func (s *Session) clientID([][]byte) { s.w.Int(s.id) }

func (s *Session) clientGetName([][]byte) {
	if len(s.name) == 0 {
		s.w.Null()
		return
	}
	s.w.Bulk(s.name)
}

func (s *Session) clientSetName(args [][]byte) {
	g, err := s.naming(args[2])
	if err != nil {
		s.refuse(err)
		return
	}
	s.guarantee(g)
	s.name = bytes.Clone(args[2])
	s.w.Simple("OK")
}

// naming is what the connection asks for with that name, options and all.
func (s *Session) naming(name []byte) (guarantees, error) {
	if !isName(name) {
		return guarantees{}, errName
	}
	return s.guarantees.named(name)
}

// isName accepts what Redis does: printable and without spaces.
func isName(b []byte) bool {
	for _, c := range b {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

func (s *Session) clientSetInfo(args [][]byte) {
	into := &s.libName
	switch strings.ToLower(string(args[2])) {
	case "lib-name":
	case "lib-ver":
		into = &s.libVer
	default:
		s.w.Error(fmt.Sprintf("ERR Unrecognized option '%s'", cString(args[2], 128)))
		return
	}
	if !isName(args[3]) {
		s.w.Error(fmt.Sprintf("ERR %s cannot contain spaces, newlines or special characters.", strings.ToLower(string(args[2]))))
		return
	}
	*into = string(args[3])
	s.w.Simple("OK")
}
