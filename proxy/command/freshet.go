package command

import (
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

// freshGet: FRESHET.GET key [MAXSTALE ms | STRONG | TOKEN t] [PROOF]. Options
// may be combined, with those behind the key, too: all of them hold.
func (s *Session) freshGet(args [][]byte) {
	c := s.call(reads, (*Session).answerFreshGet)
	key, f, err := s.wish(args[1])
	if err == nil {
		f, err = c.options(f, args[2:])
	}
	if err == nil {
		err = s.read(c, key, f)
	}
	if err != nil {
		s.drop(c, err)
	}
}

func (c *call) options(f proxy.Freshness, options [][]byte) (proxy.Freshness, error) {
	for len(options) > 0 {
		var wish proxy.Freshness
		var err error
		word := strings.ToUpper(string(options[0]))
		options = options[1:]
		switch {
		case word == "STRONG":
			wish.Strong = true
		case word == "PROOF":
			c.proof = true
		case len(options) == 0:
			return f, errSyntax
		case word == "MAXSTALE":
			wish, err = maxStale(options[0])
			options = options[1:]
		case word == "TOKEN":
			wish, err = atToken(options[0])
			options = options[1:]
		default:
			return f, errSyntax
		}
		if err != nil {
			return f, err
		}
		f = both(f, wish)
	}
	return f, nil
}

func (s *Session) answerFreshGet(c *call) bool {
	r := s.result(c.first)
	if !c.proof || r.Err != nil {
		return s.answerGet(c)
	}
	s.w.Map(1 + proofPairs)
	s.w.BulkString("value")
	s.value(s.pending.requests[c.first].Key.UseCase, r.Row)
	s.proofOf(r)
	return true
}

func (s *Session) freshExplain(args [][]byte) {
	key, err := s.key(args[1])
	if err != nil {
		s.refuse(err)
		return
	}
	s.pairs(s.all.inspector.Explain(key))
}

func (s *Session) freshInvalidate(args [][]byte) {
	if strings.EqualFold(string(args[1]), "usecase") {
		s.invalidateUseCase(args[2:])
		return
	}
	key, err := s.key(args[1])
	if err == nil && len(args) > 2 {
		err = errSyntax
	}
	if err != nil {
		s.refuse(err)
		return
	}
	s.dropped(s.all.inspector.Invalidate(key))
}

// dropped answers a client who had something dropped at all nodes.
func (s *Session) dropped(untold []string) {
	if len(untold) > 0 {
		s.refuse(notToldOf(untold))
		return
	}
	s.w.Simple("OK")
}

func (s *Session) invalidateUseCase(names [][]byte) {
	if len(names) != 1 {
		s.refuse(errSyntax)
		return
	}
	u, err := s.useCase(names[0])
	if err != nil {
		s.refuse(err)
		return
	}
	s.dropped(s.all.inspector.Void(u))
}

func (s *Session) freshLag([][]byte) { s.pairs(s.all.inspector.Lag()) }

func (s *Session) pairs(pairs [][2]string) {
	s.w.Map(len(pairs))
	for _, p := range pairs {
		s.w.BulkString(p[0])
		s.w.BulkString(p[1])
	}
}
