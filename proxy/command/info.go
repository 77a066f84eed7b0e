package command

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// nothing is the Memory of a node that tells none.
type nothing struct{}

func (nothing) Entries() int64                   { return 0 }
func (nothing) EntryBytes(proxy.Key) (int, bool) { return 0, false }
func (nothing) Used() (used, bound int64)        { return 0, 0 }

// settings are what Redis' settings would be on any node.
func (s *Session) settings() [][2]string {
	return [][2]string{
		{"databases", "1"}, {"save", ""}, {"appendonly", "no"}, {"cluster-enabled", yesOrNo(s.cluster != nil)},
		{"maxmemory-policy", "allkeys-lfu"}, {"notify-keyspace-events", ""}, {"slowlog-log-slower-than", "-1"},
	}
}

// configGet: CONFIG GET pattern [pattern …]. Freshet's own settings are not
// Redis's, and not here.
func (s *Session) configGet(args [][]byte) {
	if len(args) > 2+maxNames {
		s.refuse(errNames)
		return
	}
	if slices.ContainsFunc(args[2:], func(pattern []byte) bool { return len(pattern) > maxPattern }) {
		s.refuse(errPattern)
		return
	}
	var found [][2]string
	for _, setting := range append(s.settings(), s.all.opts.Settings...) {
		for _, pattern := range args[2:] {
			if matches(lower(nil, pattern), []byte(setting[0])) {
				found = append(found, setting)
				break
			}
		}
	}
	s.pairs(found)
}

// dbSize answers about how many entries are held here: the rows are in the
// database, and how many those are it knows best.
func (s *Session) dbSize([][]byte) { s.w.Int(s.all.opts.Memory.Entries()) }

// memoryUsage: MEMORY USAGE key [SAMPLES count] answers what the key's entry
// takes here, if there is one.
func (s *Session) memoryUsage(args [][]byte) {
	key, err := s.key(args[2])
	if err == nil && len(args) > 3 {
		err = samples(args[3:])
	}
	if err != nil {
		s.refuse(err)
		return
	}
	if n, held := s.all.opts.Memory.EntryBytes(key); held {
		s.w.Int(int64(n))
	} else {
		s.w.Null()
	}
}

func samples(words [][]byte) error {
	if len(words) != 2 || !strings.EqualFold(string(words[0]), "samples") {
		return errSyntax
	}
	if n, err := integer(words[1]); err != nil {
		return errNoInteger
	} else if n < 0 {
		return errSyntax
	}
	return nil
}

// timeNow answers this node's clock: seconds, and microseconds of them.
func (s *Session) timeNow([][]byte) {
	now := time.Now()
	s.w.Array(2)
	s.w.BulkString(strconv.FormatInt(now.Unix(), 10))
	s.w.BulkString(strconv.Itoa(now.Nanosecond() / 1000))
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
	used, bound := s.all.opts.Memory.Used()
	keyspace := ""
	if n := s.all.opts.Memory.Entries(); n > 0 {
		keyspace = fmt.Sprintf("db0:keys=%d,expires=0,avg_ttl=0\r\n", n)
	}
	return [][2]string{
		{"Server", fmt.Sprintf("redis_version:%s\r\nredis_mode:%s\r\nfreshet_version:%s\r\nos:%s\r\narch_bits:64\r\nprocess_id:%d\r\nuptime_in_seconds:%d\r\n",
			redisVersion, s.mode(), s.all.opts.Version, runtime.GOOS, os.Getpid(), int64(time.Since(s.all.started).Seconds()))},
		{"Clients", fmt.Sprintf("connected_clients:%d\r\nblocked_clients:0\r\n", s.all.clients.count())},
		{"Memory", fmt.Sprintf("used_memory:%d\r\nmaxmemory:%d\r\nmaxmemory_policy:allkeys-lfu\r\n", used, bound)},
		{"Persistence", "loading:0\r\n"},
		{"Stats", fmt.Sprintf("total_connections_received:%d\r\ntotal_commands_processed:%d\r\n", s.all.lastID.Load(), calls) + s.infoReads()},
		{"Replication", "role:master\r\nconnected_slaves:0\r\n"},
		{"Cluster", fmt.Sprintf("cluster_enabled:%d\r\n", bit(s.cluster != nil))},
		{"Keyspace", keyspace},
	}
}

// infoReads is what a share of hits is made of.
func (s *Session) infoReads() string {
	if s.all.opts.Reads == nil {
		return ""
	}
	hits, misses := s.all.opts.Reads()
	return fmt.Sprintf("keyspace_hits:%d\r\nkeyspace_misses:%d\r\n", hits, misses)
}

func (s *Session) role([][]byte) {
	s.w.Array(3)
	s.w.BulkString("master")
	s.w.Int(0)
	s.w.Array(0)
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
