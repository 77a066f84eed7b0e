package command

import (
	"bytes"
	"fmt"
	"strconv"
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

// hello: HELLO [2|3 [AUTH user password] [SETNAME name]].
func (s *Session) hello(args [][]byte) {
	version := 2
	if s.w.V3 {
		version = 3
	}
	if len(args) > 1 {
		var err error
		if version, err = strconv.Atoi(string(args[1])); err != nil {
			s.w.Error("ERR Protocol version is not an integer or out of range")
			return
		}
		if version != 2 && version != 3 {
			s.w.Error("NOPROTO unsupported protocol version")
			return
		}
		name, err := s.helloOptions(args[2:])
		if err != nil {
			s.refuse(err)
			return
		}
		s.name = name
	}
	s.w.V3 = version == 3
	s.helloReply(version)
}

// helloOptions checks all options before any takes effect.
func (s *Session) helloOptions(options [][]byte) (name []byte, err error) {
	name = s.name
	for len(options) > 0 {
		switch word := strings.ToUpper(string(options[0])); {
		case word == "AUTH" && len(options) > 2:
			if string(options[1]) != "default" {
				return nil, errWrongPass
			}
			options = options[3:]
		case word == "SETNAME" && len(options) > 1:
			if !isName(options[1]) {
				return nil, errName
			}
			name = bytes.Clone(options[1])
			options = options[2:]
		default:
			return nil, refusal(fmt.Sprintf("ERR Syntax error in HELLO option '%s'", cString(options[0], 128)))
		}
	}
	return name, nil
}

func (s *Session) helloReply(version int) {
	s.w.Map(7)
	for _, f := range [][2]string{{"server", "redis"}, {"version", redisVersion}} {
		s.w.BulkString(f[0])
		s.w.BulkString(f[1])
	}
	s.w.BulkString("proto")
	s.w.Int(int64(version))
	s.w.BulkString("id")
	s.w.Int(s.id)
	for _, f := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		s.w.BulkString(f[0])
		s.w.BulkString(f[1])
	}
	s.w.BulkString("modules")
	s.w.Array(0)
}

// auth knows one user, "default", who needs no password: as a Redis without
// passwords does.
func (s *Session) auth(args [][]byte) {
	switch {
	case len(args) > 3:
		s.refuse(errSyntax)
	case len(args) == 2:
		s.refuse(errNoPassword)
	case string(args[1]) != "default":
		s.refuse(errWrongPass)
	default:
		s.w.Simple("OK")
	}
}

func (s *Session) selectDB(args [][]byte) {
	n, err := strconv.Atoi(string(args[1]))
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
	s.w.V3, s.name, s.token, s.multiState = false, nil, 0, multiState{}
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
	if !isName(args[2]) {
		s.refuse(errName)
		return
	}
	s.name = bytes.Clone(args[2])
	s.w.Simple("OK")
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
	switch strings.ToLower(string(args[2])) {
	case "lib-name", "lib-ver":
		s.w.Simple("OK")
	default:
		s.w.Error(fmt.Sprintf("ERR Unrecognized option '%s'", cString(args[2], 128)))
	}
}
