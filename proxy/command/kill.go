package command

import (
	"strings"
)

// clientKill: CLIENT KILL address, or with what all must agree with:
// CLIENT KILL [ID id] [ADDR address] [LADDR address] [USER name] [TYPE type]
// [SKIPME yes|no].
func (s *Session) clientKill(args [][]byte) {
	if len(args) == 3 {
		if s.kill(address(string(args[2]), false)) == 0 {
			s.refuse(errNoClient)
			return
		}
		s.w.Simple("OK")
		return
	}
	keep, err := s.victims(args[2:])
	if err != nil {
		s.refuse(err)
		return
	}
	s.w.Int(s.kill(keep))
}

// kill ends the clients that are picked, this one after the reply.
func (s *Session) kill(picked func(*Session) bool) int64 {
	n := int64(0)
	for _, other := range s.all.clients.all() {
		if !picked(other) {
			continue
		}
		n++
		if other == s {
			s.next = Close
		} else {
			other.carrier.Kill()
		}
	}
	return n
}

func (s *Session) victims(words [][]byte) (func(*Session) bool, error) {
	skipMe := true
	var all []func(*Session) bool
	for ; len(words) > 0; words = words[2:] {
		if len(words) == 1 {
			return nil, errSyntax
		}
		value := string(words[1])
		switch strings.ToLower(string(words[0])) {
		case "id":
			id, err := clientNumber(words[1])
			if err != nil {
				return nil, err
			}
			all = append(all, func(s *Session) bool { return s.id == id })
		case "addr":
			all = append(all, address(value, false))
		case "laddr":
			all = append(all, address(value, true))
		case "user":
			all = append(all, func(s *Session) bool { return s.shown.Load().user == value })
		case "type":
			keep, err := ofType(words[1])
			if err != nil {
				return nil, err
			}
			all = append(all, keep)
		case "skipme":
			if skipMe = strings.EqualFold(value, "yes"); !skipMe && !strings.EqualFold(value, "no") {
				return nil, errSyntax
			}
		default:
			return nil, errSyntax
		}
	}
	return func(other *Session) bool {
		for _, keep := range all {
			if !keep(other) {
				return false
			}
		}
		return !skipMe || other != s
	}, nil
}

func address(want string, local bool) func(*Session) bool {
	return func(s *Session) bool {
		remote, here := s.carrier.Addresses()
		if local {
			return here == want
		}
		return remote == want
	}
}

func clientNumber(word []byte) (int64, error) {
	id, err := integer(word)
	if err != nil || id < 1 {
		return 0, errClientNumber
	}
	return id, nil
}
