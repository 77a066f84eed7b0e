package command

import (
	"bytes"
	"strings"
)

// isHelp reports what is for every command that has subcommands, CLIENT HELP
// say, as the words on an unknown one tell.
func isHelp(args [][]byte) bool { return len(args) == 2 && bytes.EqualFold(args[1], []byte("help")) }

// help lists the subcommands of top, as a Redis would.
func (s *Session) help(top *command) {
	switch {
	case s.rights == nil:
		s.refuse(errNoAuth)
		return
	case top.name == "cluster" && s.cluster == nil:
		s.refuse(errNoCluster)
		return
	}
	s.w.Array(1 + 2*len(top.subs))
	s.w.Simple(strings.ToUpper(top.name) + " <subcommand> [<arg> ...]. Subcommands are:")
	for _, sub := range top.subs {
		s.w.Simple(strings.ToUpper(sub.name))
		s.w.Simple("    " + sub.summary)
	}
}
