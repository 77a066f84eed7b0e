package command

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

// Users knows who may say who they are.
type Users interface {
	// Login returns the rights of a user. Its errors are
	// proxy.ErrWrongPassword, also if there is no such user, and
	// proxy.ErrShed.
	Login(name, password []byte) (*proxy.Rights, error)
}

// everybody is Users where nobody need say who they are: as in a Redis without
// passwords there is one user, and any password is theirs.
type everybody struct{ rights *proxy.Rights }

func (e everybody) Login(name, _ []byte) (*proxy.Rights, error) {
	if string(name) != defaultUser {
		return nil, proxy.ErrWrongPassword
	}
	return e.rights, nil
}

// defaultUser is who says a password alone.
const defaultUser = "default"

// enter gives the connection a user's rights.
func (s *Session) enter(rights *proxy.Rights) {
	s.rights = rights
	s.parser.Restrict(rights == nil)
}

// auth: AUTH [user] password. After a wrong one, who they were before they
// still are.
func (s *Session) auth(args [][]byte) {
	name, password := []byte(defaultUser), args[len(args)-1]
	switch {
	case len(args) > 3:
		s.refuse(errSyntax)
		return
	case len(args) == 3:
		name = args[1]
	case s.all.first != nil:
		s.refuse(errNoPassword)
		return
	}
	rights, err := s.all.users.Login(name, password)
	if err != nil {
		s.refuse(err)
		return
	}
	s.enter(rights)
	s.user = string(name)
	s.w.Simple("OK")
}

// greeting is what a HELLO asks for.
type greeting struct {
	v3             bool
	user, password []byte // no user: stay who they are
	name           []byte
	guarantees     guarantees
}

// hello: HELLO [2|3 [AUTH user password] [SETNAME name]]. All of it takes
// effect, or nothing.
func (s *Session) hello(args [][]byte) {
	g, err := s.greeting(args[1:])
	rights := s.rights
	switch {
	case err != nil:
	case g.user != nil:
		rights, err = s.all.users.Login(g.user, g.password)
	case rights == nil:
		err = errHelloNoAuth
	}
	if err != nil {
		s.refuse(err)
		return
	}
	s.enter(rights)
	if g.user != nil {
		s.user = string(g.user)
	}
	s.w.V3, s.name = g.v3, g.name
	s.guarantee(g.guarantees)
	s.helloReply()
}

func (s *Session) greeting(args [][]byte) (greeting, error) {
	g := greeting{v3: s.w.V3, name: s.name, guarantees: s.guarantees}
	if len(args) == 0 {
		return g, nil
	}
	version, err := integer(args[0])
	switch {
	case err != nil:
		return g, errVersion
	case version != 2 && version != 3:
		return g, errNoProto
	}
	g.v3 = version == 3
	for options := args[1:]; len(options) > 0; {
		switch word := strings.ToUpper(string(options[0])); {
		case word == "AUTH" && len(options) > 2:
			g.user, g.password = options[1], options[2]
			options = options[3:]
		case word == "SETNAME" && len(options) > 1:
			if g.guarantees, err = s.naming(options[1]); err != nil {
				return g, err
			}
			g.name = bytes.Clone(options[1])
			options = options[2:]
		default:
			return g, refusal(fmt.Sprintf("ERR Syntax error in HELLO option '%s'", cString(options[0], 128)))
		}
	}
	return g, nil
}

func (s *Session) helloReply() {
	version := int64(2)
	if s.w.V3 {
		version = 3
	}
	s.w.Map(7)
	s.pair("server", "redis")
	s.pair("version", redisVersion)
	s.w.BulkString("proto")
	s.w.Int(version)
	s.w.BulkString("id")
	s.w.Int(s.id)
	s.pair("mode", s.mode())
	s.pair("role", "master")
	s.w.BulkString("modules")
	s.w.Array(0)
}
