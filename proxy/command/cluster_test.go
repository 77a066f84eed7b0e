package command

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/hashring"
)

// fakeTier is a Cluster of three nodes, of which a is this one.
type fakeTier struct {
	now   *Topology
	asked int
}

func (f *fakeTier) Topology() *Topology {
	f.asked++
	return f.now
}

func (f *fakeTier) Slot(key []byte) int { return hashring.SlotOf(key) }

var threeNodes = []Member{{Name: "a", Host: "10.0.0.1", Port: 6401}, {Name: "b", Host: "b.shop.example", Port: 6402}, {Name: "c", Host: "::1", Port: 6403, Away: true}}

// thirds gives slots to a and b in turn, and the last hundred to c; those of c
// that end in 0 are new there.
func thirds(slot int) Placed {
	if slot >= Slots-100 {
		return Placed{Owner: 2, New: slot%10 == 0}
	}
	return Placed{Owner: slot / 1000 % 2}
}

func newTier() *fakeTier { return &fakeTier{now: NewTopology(7, threeNodes, 0, thirds)} }

// redirecting is a session of a client of Redis Cluster.
func redirecting(t testing.TB, s *fake, c Cluster) *Session {
	session := New(catalog(t), s, s, Options{Cluster: c}).NewSession()
	session.Redirect()
	return session
}

// keyOf returns a key of the use case whose slot belongs to a member.
func keyOf(useCase string, owner int, but ...string) string {
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s:%d", useCase, i)
		if p := thirds(hashring.SlotOf([]byte(key))); p.Owner == owner && !p.New && !strings.Contains(strings.Join(but, " "), key) {
			return key
		}
	}
}

func movedTo(key string, owner int) string {
	m := threeNodes[owner]
	return fmt.Sprintf("-MOVED %d %s:%d\r\n", hashring.SlotOf([]byte(key)), m.Host, m.Port)
}

func TestKeysOfOneOtherNodeAreMoved(t *testing.T) {
	here, there, there2, third := keyOf("key", 0), keyOf("key", 1), keyOf("key", 1, keyOf("key", 1)), keyOf("key", 2)
	user, userThere := keyOf("users", 0), keyOf("users", 1)
	withOptions := there + "%?maxstale=500"
	if thirds(hashring.SlotOf([]byte(withOptions))).Owner == 1 {
		t.Fatal("the slot of a key with options is to be another's")
	}
	for _, c := range []struct{ in, want string }{
		{"GET " + here, "$-1\r\n"},
		{"GET " + there, movedTo(there, 1)},
		{"get " + third, movedTo(third, 2)},
		{"SET " + there + " 1", movedTo(there, 1)},
		{"HGETALL " + userThere, movedTo(userThere, 1)},
		{"HSET " + userThere + " name x", movedTo(userThere, 1)},
		{"MGET " + there + " " + there2, movedTo(there, 1)}, // of two slots
		{"MGET " + here + " " + there, "*2\r\n$-1\r\n$-1\r\n"},
		{"MGET " + there + " " + third, "*2\r\n$-1\r\n$-1\r\n"},
		{"EXISTS " + user + " " + here, ":0\r\n"},
		{"MSET " + there + " 1 " + there2 + " 2", movedTo(there, 1)},
		{"MSET " + there + " 1 " + here + " 2", "+OK\r\n"},
		{"DEL " + there + " " + third, ":0\r\n"},
		{"FRESHET.GET " + there + " STRONG", movedTo(there, 1)},
		{"FRESHET.EXPLAIN " + there, movedTo(there, 1)},
		{"FRESHET.INVALIDATE " + there, movedTo(there, 1)},
		{"FRESHET.INVALIDATE USECASE key", "+OK\r\n"},
		{"MEMORY USAGE " + there, movedTo(there, 1)},
		{"GET " + withOptions, "$-1\r\n"}, // clients look for the slot of what they send
		{"GET", "-ERR wrong number of arguments for 'get' command\r\n"},
		{"MGET " + keyOf("nobody", 0), "-ERR no such use case: a key is spelled usecase:part\r\n"},
		{"PING", "+PONG\r\n"},
		{"READONLY\nGET " + there, "+OK\r\n$-1\r\n"},
		{"READONLY\nSET " + there + " 1", "+OK\r\n" + movedTo(there, 1)},
		{"READONLY\nREADWRITE\nGET " + there, "+OK\r\n+OK\r\n" + movedTo(there, 1)},
		{"READONLY\nRESET\nGET " + there, "+OK\r\n+RESET\r\n" + movedTo(there, 1)},
		{"ASKING\nGET " + there + "\nGET " + there, "+OK\r\n$-1\r\n" + movedTo(there, 1)},
		{"ASKING\nSET " + there + " 1\nSET " + there + " 2", "+OK\r\n+OK\r\n" + movedTo(there, 1)},
		{"ASKING\nPING\nGET " + there, "+OK\r\n+PONG\r\n" + movedTo(there, 1)},
		{"CLIENT REPLY SKIP\nGET " + there + "\nGET " + here, "$-1\r\n"},
		{"MULTI\nGET " + there, "+OK\r\n-ERR transactions are not offered: the command is not carried out\r\n"},
		{"CLUSTER KEYSLOT " + there, fmt.Sprintf(":%d\r\n", hashring.SlotOf([]byte(there)))},
	} {
		if got := do(redirecting(t, newFake(), newTier()), c.in+"\r\n"); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

// A slot whose new owner may not know yet is told of, and served here: two
// nodes that do not agree yet must not send a client to and fro.
func TestNobodyIsSentToANewOwner(t *testing.T) {
	place := func(isNew bool) *fakeTier {
		return &fakeTier{now: NewTopology(1, threeNodes, 0, func(int) Placed { return Placed{Owner: 1, New: isNew} })}
	}
	if got := do(redirecting(t, newFake(), place(true)), "GET key:1\nSET key:1 x\n"); got != "$-1\r\n+OK\r\n" {
		t.Errorf("while it is new: %q", got)
	}
	if got := do(redirecting(t, newFake(), place(true)), "CLUSTER SLOTS\n"); !strings.Contains(got, "b.shop.example") {
		t.Errorf("it is not told of: %q", got)
	}
	if got := do(redirecting(t, newFake(), place(false)), "GET key:1\n"); got != movedTo("key:1", 1) {
		t.Errorf("later: %q", got)
	}
}

// A client that was there when a node left or was lost is told so once, by a MOVED to
// where it is: with a read that it sent by itself, of a slot that is this node's.
func TestClientsLearnOfALoss(t *testing.T) {
	tier := newTier()
	here, there := keyOf("key", 0), keyOf("key", 1)
	s := redirecting(t, newFake(), tier)
	do(s, "PING\n")
	tier.now = NewTopology(8, threeNodes, 0, thirds)
	tier.now.Losses = 1
	if got := do(redirecting(t, newFake(), tier), "GET "+here+"\n"); got != "$-1\r\n" {
		t.Errorf("one that comes later: %q", got)
	}
	for _, c := range []struct{ in, want string }{
		{"SET " + here + " 1", "+OK\r\n"},
		{"PING", "+PONG\r\n"},
		{"GET " + there, movedTo(there, 1)},
		{"GET " + here + "\nGET " + here, "$1\r\n1\r\n$1\r\n1\r\n"},
		{"GET " + here, movedTo(here, 0)},
		{"GET " + here, "$1\r\n1\r\n"},
	} {
		if got := do(s, c.in+"\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.in, got, c.want)
		}
	}
	nowhere := []Member{{Name: "a", Port: 6401}} // where its clients are
	tier.now = NewTopology(9, nowhere, 0, func(int) Placed { return Placed{} })
	tier.now.Losses = 2
	if got := do(s, "GET "+here+"\n"); got != "$1\r\n1\r\n" {
		t.Errorf("without an address: %q", got)
	}
	tier.now.Losses = 3
	s.Attach(&wire{})
	if got, want := do(s, "GET "+here+"\n"), movedTo(here, 0); got != want {
		t.Errorf("by the connection's address: got %q, want %q", got, want)
	}
}

// A node that listens everywhere is where each client has come to: some take an
// empty host for their own.
func TestClientsAreToldAHost(t *testing.T) {
	nowhere := []Member{{Name: "a", Port: 6401}}
	s := redirecting(t, newFake(), &fakeTier{now: NewTopology(1, nowhere, 0, func(int) Placed { return Placed{} })})
	s.Attach(&wire{})
	for in, want := range map[string]string{
		"SLOTS":  "\r\n:16383\r\n*4\r\n$8\r\n10.0.0.1\r\n:6401\r\n",
		"SHARDS": "$2\r\nip\r\n$8\r\n10.0.0.1\r\n$8\r\nendpoint\r\n$8\r\n10.0.0.1\r\n",
		"NODES":  " 10.0.0.1:6401@0 myself,master ",
	} {
		if got := do(s, "CLUSTER "+in+"\n"); !strings.Contains(got, want) {
			t.Errorf("CLUSTER %s: %q", in, got)
		}
	}
}

// A user learns where keys are only with who they are, and from a session that
// does not redirect nobody learns it.
func TestWhoIsToldWhereKeysAre(t *testing.T) {
	there := keyOf("key", 1)
	s := newFake()
	commands := New(catalog(t), s, s, Options{Cluster: newTier(), Users: someUsers(t)})
	session := commands.NewSession()
	session.Redirect()
	if got, want := do(session, "GET "+there+"\nCLUSTER SLOTS\nREADONLY\n"), strings.Repeat(noAuth, 3); got != want {
		t.Errorf("a stranger: %q", got)
	}
	if got, want := do(session, "AUTH ann pw\nGET "+there+"\n"), "+OK\r\n"+movedTo(there, 1); got != want {
		t.Errorf("ann: %q", got)
	}
	const disabled = "-ERR This instance has cluster support disabled\r\n"
	plain := commands.NewSession()
	if got, want := do(plain, "AUTH ann pw\nGET "+there+"\n"), "+OK\r\n$-1\r\n"; got != want {
		t.Errorf("at a listener that forwards: %q", got)
	}
	for _, in := range []string{"CLUSTER SLOTS", "CLUSTER INFO", "CLUSTER HELP", "CLUSTER MEET a 1", "READONLY", "READWRITE", "ASKING"} {
		if got := do(plain, in+"\n"); got != disabled {
			t.Errorf("%s at a listener that forwards: %q", in, got)
		}
	}
	if got := do(plain, "INFO cluster\nHELLO\n"); !strings.Contains(got, "cluster_enabled:0") || !strings.Contains(got, "standalone") {
		t.Errorf("a listener that forwards says %q", got)
	}
	if got := do(session, "INFO cluster\nHELLO\nCONFIG GET cluster-enabled\n"); !strings.Contains(got, "cluster_enabled:1") || !strings.Contains(got, "$4\r\nmode\r\n$7\r\ncluster") || !strings.Contains(got, "yes") {
		t.Errorf("a listener that redirects says %q", got)
	}
}

// Random pipelines are answered as by a session that forwards, but for the
// commands that belong elsewhere, each in its turn.
func TestMovedInItsTurn(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func() string { return keyOf("key", random.IntN(3)) }
	for range 300 {
		var stream, want strings.Builder
		model := newSession(t, newFake())
		for range 1 + random.IntN(40) {
			keys := []string{pick()}
			for range random.IntN(3) {
				keys = append(keys, pick())
			}
			words, of := []string{"GET", keys[0]}, keys[:1]
			switch random.IntN(6) {
			case 0:
				words = []string{"SET", keys[0], fmt.Sprint(random.IntN(100))}
			case 1:
				words, of = append([]string{"MGET"}, keys...), keys
			case 2:
				words, of = append([]string{"DEL"}, keys...), keys
			case 3:
				words, of = []string{"PING"}, nil
			case 4:
				words, of = []string{"CLUSTER", "KEYSLOT"}, nil // called wrongly
			}
			stream.WriteString(multibulk(words...))
			if owner := onlyOwner(of); owner > 0 {
				want.WriteString(movedTo(keys[0], owner))
			} else {
				want.WriteString(do(model, multibulk(words...)))
			}
		}
		got, _ := drive(redirecting(t, newFake(), newTier()), stream.String(), 1+random.IntN(300), 1+random.IntN(30))
		if got != want.String() {
			t.Fatalf("seed %d: %q:\n got %q\nwant %q", seed, stream.String(), got, want.String())
		}
	}
}

// onlyOwner returns the owner of all keys, or −1.
func onlyOwner(keys []string) int {
	owner := -1
	for i, key := range keys {
		of := thirds(hashring.SlotOf([]byte(key))).Owner
		if i > 0 && of != owner {
			return -1
		}
		owner = of
	}
	return owner
}

// The topology is looked at once for a batch, however many commands it has,
// and a hit costs no allocation.
func TestHitsThatMayBeMovedAllocateNothing(t *testing.T) {
	source, tier := &still{}, newTier()
	source.result[0].Row = encode(value, "1")
	session := New(catalog(t), source, nil, Options{Cluster: tier}).NewSession()
	session.Redirect()
	in := []byte(strings.Repeat(multibulk("GET", keyOf("key", 0)), 16) + multibulk("MGET", keyOf("key", 0), keyOf("key", 1)))
	if n := testing.AllocsPerRun(200, func() { session.Step(t.Context(), in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	tier.asked = 0
	session.Step(t.Context(), in)
	if tier.asked != 1 {
		t.Errorf("the topology was asked for %d times", tier.asked)
	}
}

// BenchmarkGetWhereKeysMayMove is BenchmarkGet on a connection that redirects.
func BenchmarkGetWhereKeysMayMove(b *testing.B) {
	for _, depth := range []int{1, 64} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			source := &still{}
			source.result[0].Row = encode(value, strings.Repeat("x", 100))
			here := &fakeTier{now: NewTopology(1, threeNodes, 0, func(int) Placed { return Placed{} })}
			session := New(catalog(b), source, nil, Options{Cluster: here}).NewSession()
			session.Redirect()
			var in []byte
			for i := range depth {
				in = append(in, multibulk("GET", fmt.Sprintf("key:%06d", i))...)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				session.Step(b.Context(), in)
				n += depth
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/hit")
		})
	}
}
