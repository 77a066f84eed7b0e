package command

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
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

func (s *Session) commandInfo(args [][]byte) {
	if len(args) == 2 {
		s.commandAll(nil)
		return
	}
	s.w.Array(len(args) - 2)
	for _, name := range args[2:] {
		if cmd := s.all.lookup(name); cmd != nil {
			s.commandRow(cmd, "")
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
	var found []*command
	if len(args) == 2 {
		for i := range s.all.rows {
			found = append(found, &s.all.rows[i])
		}
	}
	for _, name := range args[2:] {
		if cmd := s.all.lookup(name); cmd != nil {
			found = append(found, cmd)
		}
	}
	s.w.Map(len(found))
	for _, cmd := range found {
		s.commandDoc(cmd, "")
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

// configGet answers the two settings that redis-benchmark prints, and nothing
// for all others: Freshet's settings are not Redis's.
func (s *Session) configGet(args [][]byte) {
	var found [][2]string
	for _, setting := range [][2]string{{"save", ""}, {"appendonly", "no"}} {
		for _, pattern := range args[2:] {
			if p := strings.ToLower(string(pattern)); p == "*" || p == setting[0] {
				found = append(found, setting)
				break
			}
		}
	}
	s.pairs(found)
}

// info answers what clients look for before they call a server ready, and the
// little else that is true here.
func (s *Session) info(args [][]byte) {
	var b strings.Builder
	for _, section := range s.infoSections() {
		if !wanted(section[0], args[1:]) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + section[0] + "\r\n" + section[1])
	}
	s.w.Verbatim(b.String())
}

func wanted(section string, names [][]byte) bool {
	for _, name := range names {
		switch n := strings.ToLower(string(name)); n {
		case "all", "everything", "default", strings.ToLower(section):
			return true
		}
	}
	return len(names) == 0
}

func (s *Session) infoSections() [][2]string {
	calls := uint64(0)
	s.all.Counts(func(_ string, n uint64) { calls += n })
	return [][2]string{
		{"Server", fmt.Sprintf("redis_version:%s\r\nredis_mode:standalone\r\nfreshet_version:%s\r\nos:%s\r\narch_bits:64\r\nprocess_id:%d\r\nuptime_in_seconds:%d\r\n",
			redisVersion, s.all.opts.Version, runtime.GOOS, os.Getpid(), int64(time.Since(s.all.started).Seconds()))},
		{"Persistence", "loading:0\r\n"},
		{"Stats", fmt.Sprintf("total_commands_processed:%d\r\n", calls)},
		{"Replication", "role:master\r\nconnected_slaves:0\r\n"},
		{"Cluster", "cluster_enabled:0\r\n"},
	}
}

func (s *Session) role([][]byte) {
	s.w.Array(3)
	s.w.BulkString("master")
	s.w.Int(0)
	s.w.Array(0)
}

func (s *Session) cluster([][]byte) { s.refuse(errNoCluster) }
