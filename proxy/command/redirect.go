package command

import (
	"fmt"
	"net"
	"strings"
)

// redirects are of a connection that is told where keys are.
type redirects struct {
	cluster  Cluster   // nil: it is not told
	topology *Topology // within a Step
	readOnly bool      // READONLY: reads are served here
	asking   int8      // 1: the request at hand is served here; 2: the one behind it
	looked   bool
	losses   uint64 // that the client knows of
	single   bool   // the request at hand came by itself
}

// Redirect makes the session one of a client that looks for the owner of each
// key, as clients of Redis Cluster do, if there is a tier. It comes before the
// first Step.
func (s *Session) Redirect() { s.cluster = s.all.opts.Cluster }

// look takes the topology that holds for a Step.
func (r *redirects) look() {
	if r.cluster == nil {
		return
	}
	r.topology = r.cluster.Topology()
	if !r.looked {
		r.looked, r.losses = true, r.topology.Losses
	}
}

// begin is called for each request. single: nothing came with it.
func (r *redirects) begin(single bool) {
	r.single = single
	if r.asking > 0 {
		r.asking--
	}
}

// moved says where a command belongs, or nil: here. It belongs elsewhere if
// all its keys are with one other node. Keys of several owners are served
// here, as are those of several slots: a client is never told CROSSSLOT.
//
// The slot is that of the key's text as it was sent, options behind the key
// and all, since that is what clients compute it of.
func (s *Session) moved(cmd *command, args [][]byte) error {
	if s.topology == nil || cmd.keys == [3]int{} || s.asking == 1 || s.readOnly && cmd.right == reader || isUseCase(cmd, args) {
		return nil
	}
	slot, owner := -1, 0
	first, last, step := cmd.span(len(args))
	for i := first; i <= last; i += step {
		at := s.cluster.Slot(args[i])
		switch to := s.topology.elsewhere(at); {
		case to < 0 && i == first && s.stale(cmd):
			return s.movedHere(at)
		case to < 0 || slot >= 0 && to != owner:
			return nil
		case slot < 0:
			slot, owner = at, to
		}
	}
	m := &s.topology.members[owner]
	return refusal(fmt.Sprintf("MOVED %d %s:%d", slot, m.Host, m.Port))
}

// stale reports whether a client knows nothing of a member that is gone, and
// can be told so with the answer to a command: a read that came by itself, as
// some clients' pipelines do not follow a MOVED.
func (s *Session) stale(cmd *command) bool {
	return s.losses != s.topology.Losses && s.single && cmd.right == reader
}

// movedHere tells a client once that a slot is with the node that it asks. It
// asks again, and looks for the owners of all slots: clients do that when they
// are told MOVED, and some not for a minute when a node that they know is gone.
// Nil, if where this node is cannot be said.
func (s *Session) movedHere(slot int) error {
	s.losses = s.topology.Losses
	m := &s.topology.members[s.topology.self]
	host := s.hostOf(m)
	if host == "" {
		return nil
	}
	return refusal(fmt.Sprintf("MOVED %d %s:%d", slot, host, m.Port))
}

// hostOf is the host at which the client reaches a member. A node that listens
// everywhere is where the client has come to: some clients take an empty host
// for their own.
func (s *Session) hostOf(m *Member) string {
	if m.Host != "" || s.carrier == nil {
		return m.Host
	}
	_, local := s.carrier.Addresses()
	host, _, _ := net.SplitHostPort(local)
	return host
}

// isUseCase reports FRESHET.INVALIDATE USECASE name, which has no key.
func isUseCase(cmd *command, args [][]byte) bool {
	return cmd.kind == alone && len(args) > 2 && strings.EqualFold(string(args[1]), "usecase")
}

// turnAway answers a command with an error, in its turn among those that are
// gathered.
func (s *Session) turnAway(cmd *command, err error) {
	if cmd.kind == alone {
		s.refuse(err)
		return
	}
	s.call(cmd.kind, nil).err = err
}

func (s *Session) setReadOnly([][]byte) {
	s.readOnly = true
	s.w.Simple("OK")
}

func (s *Session) setReadWrite([][]byte) {
	s.readOnly = false
	s.w.Simple("OK")
}

func (s *Session) setAsking([][]byte) {
	s.asking = 2
	s.w.Simple("OK")
}
