package e2e

import (
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// What people reported of systems of this kind, with the reporters' input. The
// names in the comments are those of testdata/scenarios.md.

// silence is a listener of a broker whose connections stay open, and bring no
// answer while their lock is held.
type silence struct {
	net.Listener
	mu    sync.Mutex
	group *sync.RWMutex // of those who connect from now on
}

type silentConn struct {
	net.Conn
	group *sync.RWMutex
}

func (l *silence) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return silentConn{c, l.group}, nil
}

// apart puts those who connect from now on into a group of their own, and
// returns its lock.
func (l *silence) apart() *sync.RWMutex {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group = new(sync.RWMutex)
	return l.group
}

func (c silentConn) Write(b []byte) (int, error) {
	c.group.RLock()
	defer c.group.RUnlock()
	return c.Conn.Write(b)
}

// silentBroker starts a broker that can fall silent.
func (s *shop) silentBroker() *silence {
	s.t.Helper()
	l := &silence{group: new(sync.RWMutex)}
	c, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.SeedTopics(int32(s.config.Relay.Partitions), s.config.Stream.Kafka.Topic),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			var err error
			l.Listener, err = net.Listen(network, anyPort)
			return l, err
		}))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	s.config.Stream.Kafka.Brokers = c.ListenAddrs()
	return l
}

// B51, B52, B58: one of two nodes hears nothing from Kafka any more, and no
// connection breaks. It serves nothing outside the bound, shows any write to
// who has its token, tells of it, harms no other, and comes back by itself
// without a gap.
func TestOneNodeHearsNothingFromKafka(t *testing.T) {
	const session = "key:000000000001"
	kv := mapped("key", "kv", time.Hour)
	kv.Column = "value"
	s := newStack(t, append(shortAndLong(), kv)...)
	broker := s.silentBroker()
	s.relay()
	well := s.node()
	s.await(well)
	deaf := broker.apart()
	other := s.node()
	s.await(other)
	a, b := s.client(well.Address()), s.client(other.Address())
	b.do("HGET", "long:1", "credit")
	b.do("GET", session)
	gaps := s.metric(other, "freshet_cdc_gaps_total")

	deaf.Lock()
	b.do("HGET", "short:1", "credit")
	b.becomes(short, s.setCredit(1, 1001), "HGET", "short:1", "credit")
	a.becomes(lag, "1001", "HGET", "long:1", "credit")
	a.do("SET", session, "v5")
	if got := b.do("GET", session); got != "xxx" {
		t.Errorf("the node still hears of changes: %s", got)
	}
	if got := b.do("FRESHET.GET", session, "TOKEN", a.do("FRESHET.TOKEN")); got != "v5" {
		t.Errorf("with the token of v5, the answer is %s", got)
	}
	eventually(t, "it tells of it", func() bool {
		_, why := s.ready(other)
		return strings.Contains(why, "stream:")
	})
	b.becomes(short, s.setCredit(1, 1002), "HGET", "short:1", "credit")
	if _, why := s.ready(well); why != "ready\n" {
		t.Errorf("the other node is %s", why)
	}

	deaf.Unlock()
	b.becomes(lag, "1002", "HGET", "long:1", "credit")
	eventually(t, "all is well", func() bool {
		_, why := s.ready(other)
		return why == "ready\n"
	})
	if after := s.metric(other, "freshet_cdc_gaps_total"); after != gaps {
		t.Errorf("%v gaps", after-gaps)
	}
}

// B41: nothing brings checkpoints any more. The node tells of it, and once they
// come again all is well without a gap.
func TestCheckpointsStop(t *testing.T) {
	s := newStack(t, everyMapping()...)
	t.Cleanup(s.broker().Close)
	stop := s.relay()
	n := s.node()
	s.await(n)
	gaps := s.metric(n, "freshet_cdc_gaps_total")
	stop()
	eventually(t, "it tells of it", func() bool {
		ok, why := s.ready(n)
		return ok && strings.Contains(why, "stream: the watermark is ")
	})
	s.relay()
	eventually(t, "all is well", func() bool {
		_, why := s.ready(n)
		return why == "ready\n"
	})
	if after := s.metric(n, "freshet_cdc_gaps_total"); after != gaps {
		t.Errorf("%v gaps", after-gaps)
	}
}

// B23, B24: a primary key changes, with both keys cached, also as the last
// statement of a transaction.
func TestAPrimaryKeyChanges(t *testing.T) {
	s := newStack(t, everyMapping()...)
	_, c := s.start()
	for i, statement := range []string{
		"UPDATE users SET id = 9001 WHERE id = 1",
		"BEGIN; UPDATE users SET credit = 1 WHERE id = 3; UPDATE users SET id = 9002 WHERE id = 2; COMMIT",
	} {
		from, to := "users:"+strconv.Itoa(i+1), "users:"+strconv.Itoa(9001+i)
		if old, none := c.do("EXISTS", from), c.do("EXISTS", to); old != "1" || none != "0" {
			t.Fatalf("before: %s, %s", old, none)
		}
		s.sql(statement)
		c.becomes(lag, "0", "EXISTS", from)
		c.becomes(lag, "1", "EXISTS", to)
	}
}

// B15: a thousand clients ask for a key that nobody ever asked for.
func TestAThousandClientsOfANewKey(t *testing.T) {
	s := newStack(t, everyMapping()...)
	n, _ := s.start()
	replies := herd(t, n.Address(), 1000, 1, "HGET", "users:1", "credit")
	if len(replies) != 1 || replies["37"] != 1000 {
		t.Errorf("replies: %v", replies)
	}
	if fills := s.metric(n, "freshet_cache_fills_total", `use_case="users"`); fills != 1 {
		t.Errorf("%v reads of the source", fills)
	}
}

// Reported of the store: what was just set is not found, or is the value
// before. New keys, then the same again, each read right behind its write.
func TestReadsBehindTheirWrites(t *testing.T) {
	const keys, depth = 400, 100
	s := newStack(t, everyMapping()...)
	_, c := s.start()
	for round := range 2 {
		for i := 0; i < keys; i += depth {
			var commands [][]string
			for j := i; j < i+depth; j++ {
				key, value := "key:new"+strconv.Itoa(j), strconv.Itoa(round)+"/"+strconv.Itoa(j)
				commands = append(commands, []string{"SET", key, value}, []string{"GET", key})
			}
			if err := c.Send(commands...); err != nil {
				t.Fatal(err)
			}
			for j, command := range commands {
				want := "OK"
				if j%2 == 1 {
					want = commands[j-1][2]
				}
				if got, err := c.Receive(); got != want || err != nil {
					t.Fatalf("%v: got %q, %v, want %q", command, got, err, want)
				}
			}
		}
	}
}

// Reported of the store: what uses it while it is closed makes the process
// crash. A node is told to end under load, many times over.
func TestEndsUnderLoad(t *testing.T) {
	const rounds, clients = 25, 4                                   // a hundred take the race detector a minute
	s := newStack(t, mapped("users", "users", 10*time.Millisecond)) // so that most reads are fills or refreshes
	s.config.Memory.Budget = 32 << 20                               // less to make each time
	s.start()
	for range rounds {
		n, err := node.Open(t.Context(), s.config, s.log())
		if err != nil {
			t.Fatal(err)
		}
		stop := s.spawn("node", n.Run)
		var load sync.WaitGroup
		served := make(chan struct{}, clients)
		for i := range clients {
			c, err := Dial(n.Address())
			if err != nil {
				t.Fatal(err)
			}
			load.Go(func() {
				defer c.Close()
				for j := 0; ; j++ {
					commands := [][]string{{"GET", "users:" + strconv.Itoa(j%2000)}, {"FRESHET.GET", "users:" + strconv.Itoa(i), "STRONG"}}
					if c.Send(commands...) != nil {
						return
					}
					for range commands {
						if _, err := c.Receive(); err != nil {
							return
						}
					}
					if j == 10 {
						served <- struct{}{}
					}
				}
			})
		}
		for range clients {
			select {
			case <-served:
			case <-time.NewTimer(patience).C:
				t.Fatal("a client is not served")
			}
		}
		stop()
		load.Wait()
	}
}
