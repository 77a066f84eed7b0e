package command

import (
	"bytes"
	"strings"
)

func (s *Session) commandAll([][]byte) {
	s.w.Array(len(s.all.rows))
	for i := range s.all.rows {
		s.commandRow(&s.all.rows[i], "")
	}
}

func (s *Session) commandCount([][]byte) { s.w.Int(int64(len(s.all.rows))) }

func (s *Session) commandList([][]byte) {
	s.w.Array(len(s.all.rows))
	for i := range s.all.rows {
		s.w.BulkString(s.all.rows[i].name)
	}
}

// maxNames bounds the names that one request may ask about: what is said of
// each is many times as long.
const maxNames = 1000

func (s *Session) commandInfo(args [][]byte) {
	switch {
	case len(args) == 2:
		s.commandAll(nil)
		return
	case len(args) > 2+maxNames:
		s.refuse(errNames)
		return
	}
	s.w.Array(len(args) - 2)
	for _, name := range args[2:] {
		if prefix, cmd := s.all.named(name); cmd != nil {
			s.commandRow(cmd, prefix)
		} else {
			s.w.Null()
		}
	}
}

// commandRow writes the ten elements of one command: those Freshet has no
// notion of (ACL categories, tips, key specifications) are empty.
func (s *Session) commandRow(cmd *command, prefix string) {
	s.w.Array(10)
	s.w.BulkString(prefix + cmd.name)
	s.w.Int(int64(cmd.arity))
	flags := strings.Fields(cmd.flags)
	s.w.Set(len(flags))
	for _, f := range flags {
		s.w.Simple(f)
	}
	for _, k := range cmd.keys {
		s.w.Int(int64(k))
	}
	s.w.Set(0)
	s.w.Array(0)
	s.w.Array(0)
	s.w.Array(len(cmd.subs))
	for i := range cmd.subs {
		s.commandRow(&cmd.subs[i], cmd.name+"|")
	}
}

func (s *Session) commandDocs(args [][]byte) {
	type doc struct {
		prefix string
		cmd    *command
	}
	if len(args) > 2+maxNames {
		s.refuse(errNames)
		return
	}
	var found []doc
	if len(args) == 2 {
		for i := range s.all.rows {
			found = append(found, doc{cmd: &s.all.rows[i]})
		}
	}
	for _, name := range args[2:] {
		if prefix, cmd := s.all.named(name); cmd != nil {
			found = append(found, doc{prefix, cmd})
		}
	}
	s.w.Map(len(found))
	for _, d := range found {
		s.commandDoc(d.cmd, d.prefix)
	}
}

func (s *Session) commandDoc(cmd *command, prefix string) {
	s.w.BulkString(prefix + cmd.name)
	n := 2
	if len(cmd.subs) > 0 {
		n++
	}
	s.w.Map(n)
	s.pair("summary", cmd.summary)
	s.pair("group", cmd.group)
	if len(cmd.subs) == 0 {
		return
	}
	s.w.BulkString("subcommands")
	s.w.Map(len(cmd.subs))
	for i := range cmd.subs {
		s.commandDoc(&cmd.subs[i], cmd.name+"|")
	}
}

func (s *Session) pair(name, value string) {
	s.w.BulkString(name)
	s.w.BulkString(value)
}

// named finds a command by its full name: "client|id" is a subcommand, whose
// prefix is "client|".
func (c *Commands) named(name []byte) (prefix string, cmd *command) {
	first, second, isSub := bytes.Cut(name, []byte("|"))
	cmd = c.lookup(first)
	if cmd == nil || !isSub {
		return "", cmd
	}
	return cmd.name + "|", cmd.sub(second)
}

// commandGetKeys: COMMAND GETKEYS command [argument …].
func (s *Session) commandGetKeys(args [][]byte) {
	request := args[2:]
	cmd := s.all.lookup(request[0])
	if cmd != nil && cmd.subs != nil && len(request) > 1 {
		cmd = cmd.sub(request[1])
	}
	switch {
	case cmd == nil:
		s.refuse(errNoCommand)
		return
	case cmd.keys == [3]int{}:
		s.refuse(errNoKeys)
		return
	case !cmd.fits(len(request)):
		s.refuse(errKeysArity)
		return
	}
	var keys [][]byte
	first, last, step := cmd.span(len(request))
	for i := first; i <= last; i += step {
		keys = append(keys, request[i])
	}
	s.w.Array(len(keys))
	for _, k := range keys {
		s.w.Bulk(k)
	}
}
