package command

import (
	"fmt"
	"strconv"
	"strings"
)

// This file holds CLUSTER: what clients of Redis Cluster ask for, in the
// shapes of Redis 7.0. They are for connections that are told where keys are;
// to others this is a Redis without a cluster.

// inCluster makes a handler of one that needs a topology.
func inCluster(answer func(s *Session, args [][]byte)) func(s *Session, args [][]byte) {
	return func(s *Session, args [][]byte) {
		if s.topology == nil {
			s.refuse(errNoCluster)
			return
		}
		answer(s, args)
	}
}

// clusterSlots: an entry for each range of slots, with the node that has it.
func (s *Session) clusterSlots([][]byte) {
	t := s.topology
	s.w.Array(len(t.ranges))
	for _, r := range t.ranges {
		m := &t.members[r.owner]
		s.w.Array(3)
		s.w.Int(int64(r.from))
		s.w.Int(int64(r.to))
		s.w.Array(4)
		s.w.BulkString(s.hostOf(m))
		s.w.Int(int64(m.Port))
		s.w.BulkString(t.ids[r.owner])
		s.w.Map(0)
	}
}

// clusterShards: a node with all its slots is a shard.
func (s *Session) clusterShards([][]byte) {
	t := s.topology
	s.w.Array(len(t.members))
	for i, ranges := range t.rangesOf() {
		s.w.Map(2)
		s.w.BulkString("slots")
		s.w.Array(2 * len(ranges))
		for _, r := range ranges {
			s.w.Int(int64(r.from))
			s.w.Int(int64(r.to))
		}
		s.w.BulkString("nodes")
		s.w.Array(1)
		s.shard(i)
	}
}

func (s *Session) shard(member int) {
	m, health := &s.topology.members[member], "online"
	if m.Away {
		health = "failed"
	}
	s.w.Map(7)
	s.pair("id", s.topology.ids[member])
	s.w.BulkString("port")
	s.w.Int(int64(m.Port))
	s.pair("ip", s.hostOf(m))
	s.pair("endpoint", s.hostOf(m))
	s.pair("role", "master")
	s.w.BulkString("replication-offset")
	s.w.Int(0)
	s.pair("health", health)
}

// clusterNodes: a line for each node. There is no bus between them, so its
// port is 0, and so are the times of its pings.
func (s *Session) clusterNodes([][]byte) {
	t := s.topology
	var b strings.Builder
	for i, ranges := range t.rangesOf() {
		m, flags := &t.members[i], "master"
		if i == t.self {
			flags = "myself,master"
		}
		if m.Away {
			flags += ",fail"
		}
		fmt.Fprintf(&b, "%s %s:%d@0 %s - 0 0 %d connected", t.ids[i], s.hostOf(m), m.Port, flags, t.version)
		for _, r := range ranges {
			b.WriteString(" " + r.String())
		}
		b.WriteString("\n")
	}
	s.w.Verbatim(b.String())
}

func (r slotRange) String() string {
	if r.from == r.to {
		return strconv.Itoa(r.from)
	}
	return strconv.Itoa(r.from) + "-" + strconv.Itoa(r.to)
}

// clusterInfo: the state is always ok, as any node answers for any slot.
func (s *Session) clusterInfo([][]byte) {
	t := s.topology
	s.w.Verbatim(fmt.Sprintf("cluster_state:ok\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n"+
		"cluster_known_nodes:%d\r\ncluster_size:%d\r\ncluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n"+
		"cluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\ntotal_cluster_links_buffer_limit_exceeded:0\r\n",
		Slots, Slots, len(t.members), len(t.owners()), t.version, t.version))
}

func (s *Session) clusterMyID([][]byte) { s.w.BulkString(s.topology.ids[s.topology.self]) }

func (s *Session) clusterKeySlot(args [][]byte) { s.w.Int(int64(s.cluster.Slot(args[2]))) }

// mode is Redis' word for what this connection sees.
func (s *Session) mode() string {
	if s.cluster != nil {
		return "cluster"
	}
	return "standalone"
}
