package command

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// freshGet: FRESHET.GET key [MAXSTALE ms | STRONG | TOKEN t] [PROOF]. Options
// may be combined: all of them hold.
func (s *Session) freshGet(args [][]byte) {
	c := s.call(reads, (*Session).answerFreshGet)
	key, err := s.key(args[1])
	var f proxy.Freshness
	if err == nil {
		f, c.proof, err = freshness(args[2:])
	}
	if err != nil {
		s.drop(c, err)
		return
	}
	s.read(c, key, f)
}

func freshness(options [][]byte) (f proxy.Freshness, proof bool, err error) {
	for len(options) > 0 {
		word := strings.ToUpper(string(options[0]))
		options = options[1:]
		switch {
		case word == "STRONG":
			f.Strong = true
		case word == "PROOF":
			proof = true
		case len(options) == 0:
			return f, proof, errSyntax
		case word == "MAXSTALE":
			ms, err := strconv.ParseInt(string(options[0]), 10, 64)
			if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
				return f, proof, errMaxStale
			}
			f.MaxStale = time.Duration(ms) * time.Millisecond
			f.Strong = f.Strong || ms == 0 // no staleness at all is what STRONG says
			options = options[1:]
		case word == "TOKEN":
			t, err := strconv.ParseInt(string(options[0]), 10, 64)
			if err != nil || t < 0 {
				return f, proof, errToken
			}
			f.Token = proxy.Time(t)
			options = options[1:]
		default:
			return f, proof, errSyntax
		}
	}
	return f, proof, nil
}

func (s *Session) answerFreshGet(c *call) bool {
	r := s.result(c.first)
	if !c.proof || r.Err != nil {
		return s.answerGet(c)
	}
	s.w.Map(5)
	s.w.BulkString("value")
	s.value(s.pending.requests[c.first].Key.UseCase, r.Row)
	s.w.BulkString("version")
	if r.Position.Known() {
		s.w.BulkString(strconv.FormatUint(r.Position.Commit, 10) + "/" + strconv.FormatUint(r.Position.Seq, 10))
	} else {
		s.w.Null()
	}
	s.w.BulkString("as_of")
	s.time(r.AsOf, r.AsOf != proxy.Never)
	s.w.BulkString("bound_met")
	s.w.Bool(r.Origin != proxy.FromStale)
	s.w.BulkString("origin")
	s.w.BulkString(r.Origin.String())
	return true
}

// time writes a source time in decimal nanoseconds.
func (s *Session) time(t proxy.Time, known bool) {
	if !known {
		s.w.Null()
		return
	}
	s.w.BulkString(strconv.FormatInt(int64(t), 10))
}

func (s *Session) freshToken([][]byte) { s.time(s.token, s.token != 0) }

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
	s.all.inspector.Invalidate(key)
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
	s.all.inspector.Void(u)
	s.w.Simple("OK")
}

func (s *Session) freshLag([][]byte) { s.pairs(s.all.inspector.Lag()) }

func (s *Session) pairs(pairs [][2]string) {
	s.w.Map(len(pairs))
	for _, p := range pairs {
		s.w.BulkString(p[0])
		s.w.BulkString(p[1])
	}
}
