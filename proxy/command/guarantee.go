package command

import (
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

// This file holds the commands that say what a connection asks of its reads.

// freshSession: FRESHET.SESSION ON|OFF.
func (s *Session) freshSession(args [][]byte) {
	on, err := onOff(args[1])
	if err != nil {
		s.refuse(err)
		return
	}
	g := s.guarantees
	g.session = on
	s.guarantee(g)
	s.w.Simple("OK")
}

// guarantee changes what the connection asks of its reads.
func (s *Session) guarantee(g guarantees) {
	if g.session && s.pending.apart == nil {
		s.pending.apart = &apart{seed: maphash.MakeSeed()}
	}
	s.guarantees = g
}

// freshMaxStale: FRESHET.MAXSTALE ms|OFF. −1 is OFF for clients that send
// nothing but numbers.
func (s *Session) freshMaxStale(args [][]byte) {
	var bound proxy.Freshness
	if word := string(args[1]); !strings.EqualFold(word, "off") && word != "-1" {
		var err error
		if bound, err = maxStale(args[1]); err != nil {
			s.refuse(err)
			return
		}
	}
	s.bound = bound
	s.w.Simple("OK")
}

// freshToken: FRESHET.TOKEN [t]. It answers the token, which t raises first.
func (s *Session) freshToken(args [][]byte) {
	switch len(args) {
	case 1:
	case 2:
		f, err := atToken(args[1])
		if err != nil {
			s.refuse(err)
			return
		}
		s.floor = max(s.floor, f.Token)
		s.token = max(s.token, f.Token)
	default:
		s.refuse(refusal(wrongArity("freshet.token")))
		return
	}
	s.time(s.token, s.token != 0)
}

// freshProof: FRESHET.PROOF ON|OFF.
func (s *Session) freshProof(args [][]byte) {
	on, err := onOff(args[1])
	if err == nil && on && !s.w.V3 {
		err = errProof
	}
	if err != nil {
		s.refuse(err)
		return
	}
	s.proof = on
	s.w.Simple("OK")
}

func onOff(word []byte) (bool, error) {
	switch strings.ToLower(string(word)) {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, errSyntax
}

// attribute writes the proof of a result in front of its reply. Only for a
// connection that has asked for it: many clients would take it for the reply.
func (s *Session) attribute(r *proxy.Result) {
	if !s.w.V3 || r.Err != nil {
		return
	}
	s.w.Attribute(proofPairs)
	s.proofOf(r)
}

// proofPairs is how many names and values proofOf writes.
const proofPairs = 5

func (s *Session) proofOf(r *proxy.Result) {
	s.w.BulkString("version")
	if r.Position.Known() {
		s.w.BulkString(strconv.FormatUint(r.Position.Commit, 10) + "/" + strconv.FormatUint(r.Position.Seq, 10))
	} else {
		s.w.Null()
	}
	s.w.BulkString("as_of")
	s.time(r.AsOf, r.AsOf != proxy.Never)
	s.w.BulkString("upper")
	s.time(r.Upper, r.Upper != 0 && r.Upper != proxy.Forever)
	s.w.BulkString("bound_met")
	s.w.Bool(r.Origin != proxy.FromStale)
	s.w.BulkString("origin")
	s.w.BulkString(r.Origin.String())
}

// time writes a source time in decimal nanoseconds.
func (s *Session) time(t proxy.Time, known bool) {
	if !known {
		s.w.Null()
		return
	}
	s.w.BulkString(strconv.FormatInt(int64(t), 10))
}
