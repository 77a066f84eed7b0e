package command

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// What a connection asks of its reads, and what a read asks itself, meet.
func TestFreshnessOfAConnection(t *testing.T) {
	s := newFake()
	session := newSession(t, s)
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, c := range []struct {
		in   string
		want proxy.Freshness
	}{
		{"GET key:a%?maxstale=500", proxy.Freshness{MaxStale: ms(500)}},
		{"GET key:a%?maxstale=500&maxstale=20&maxstale=30", proxy.Freshness{MaxStale: ms(20)}},
		{"GET key:a%?strong", proxy.Freshness{Strong: true}},
		{"GET key:a%?maxstale=0", proxy.Freshness{Strong: true}},
		{"GET key:a%?token=12&maxstale=5", proxy.Freshness{Token: 12, MaxStale: ms(5)}},
		{"EXISTS key:a%?token=12", proxy.Freshness{Token: 12}},
		{"HGET users:42%?token=12 id", proxy.Freshness{Token: 12}},
		{"FRESHET.GET key:a%?token=12&maxstale=9 TOKEN 7 MAXSTALE 3", proxy.Freshness{Token: 12, MaxStale: ms(3)}},
		{"GET key:a%25?strong", proxy.Freshness{}}, // a '%' and a '?' of the key's own
		{"FRESHET.MAXSTALE 70\nGET key:a", proxy.Freshness{MaxStale: ms(70)}},
		{"GET key:a%?maxstale=500", proxy.Freshness{MaxStale: ms(500)}},
		{"GET key:a%?strong", proxy.Freshness{Strong: true}},
		{"GET key:a%?token=1", proxy.Freshness{Token: 1, MaxStale: ms(70)}},
		{"FRESHET.MAXSTALE 0\nGET key:a", proxy.Freshness{Strong: true}},
		{"GET key:a%?maxstale=500", proxy.Freshness{MaxStale: ms(500)}},
		{"FRESHET.MAXSTALE -1\nGET key:a", proxy.Freshness{}},
		{"FRESHET.TOKEN 40\nGET key:a", proxy.Freshness{Token: 40}},
		{"FRESHET.TOKEN 30\nGET key:a%?token=35", proxy.Freshness{Token: 40}},
		{"FRESHET.MAXSTALE 70\nFRESHET.MAXSTALE off\nGET key:a", proxy.Freshness{Token: 40}},
		{"CLIENT SETNAME app\nGET key:a", proxy.Freshness{Token: 40}},
		{"CLIENT SETNAME app%?maxstale=80\nGET key:a", proxy.Freshness{Token: 40, MaxStale: ms(80)}},
		{"HELLO 2 SETNAME app%?strong\nGET key:a", proxy.Freshness{Token: 40, Strong: true}},
		{"RESET\nGET key:a", proxy.Freshness{}},
		{"FRESHET.SESSION ON\nGET key:a", proxy.Freshness{}},
	} {
		do(session, c.in+"\r\n")
		if got := s.last[0].Freshness; got != c.want {
			t.Errorf("%q asks for %+v, want %+v", c.in, got, c.want)
		}
	}
	if got := string(s.last[0].Key.Text); got != "key:a" {
		t.Errorf("asked for %q", got)
	}
}

func TestOptionsThatAreNone(t *testing.T) {
	const key, name = "-" + string(errKeyOption) + "\r\n", "-" + string(errNameOption) + "\r\n"
	for in, want := range map[string]string{
		"GET key:a%?":                           key,
		"GET key:a%?fast":                       key,
		"GET key:a%?strong&":                    key,
		"GET key:a%?strong=1":                   key,
		"GET key:a%?STRONG":                     key,
		"GET key:a%?strong%?strong":             key,
		"GET key:a%?session":                    key,
		"GET key:a%?maxstale":                   "-ERR MAXSTALE is not a number of milliseconds\r\n",
		"GET key:a%?maxstale=-5":                "-ERR MAXSTALE is not a number of milliseconds\r\n",
		"MGET key:b key:a%?token=x":             "-ERR TOKEN is not a token of FRESHET.TOKEN\r\n",
		"GET nobody:a%?x":                       "-ERR no such use case: a key is spelled usecase:part\r\n",
		"GET users:x%?x":                        "-ERR bad key: part 1 (id): \"x\" is not an integer in its shortest decimal form\r\n",
		"GET key:a%":                            "-ERR bad key: part 1 (k): inside a part only \":\" and \"%\" are encoded, as %3A and %25\r\n",
		"SET key:a%?strong 1":                   "-" + string(errKeyWrite) + "\r\n",
		"DEL key:a%?strong":                     "-" + string(errKeyWrite) + "\r\n",
		"FRESHET.EXPLAIN key:a%?strong":         "-" + string(errKeyWrite) + "\r\n",
		"CLIENT SETNAME app%?":                  name,
		"CLIENT SETNAME app%?token=1":           name,
		"HELLO 3 SETNAME app%?session&x":        name,
		"CLIENT SETNAME app%?session&maxstale=": "-ERR MAXSTALE is not a number of milliseconds\r\n",
		"FRESHET.SESSION maybe":                 "-ERR syntax error\r\n",
		"FRESHET.PROOF 1":                       "-ERR syntax error\r\n",
		"FRESHET.PROOF ON":                      "-" + string(errProof) + "\r\n",
		"FRESHET.MAXSTALE soon":                 "-ERR MAXSTALE is not a number of milliseconds\r\n",
		"FRESHET.MAXSTALE -2":                   "-ERR MAXSTALE is not a number of milliseconds\r\n",
		"FRESHET.TOKEN x":                       "-ERR TOKEN is not a token of FRESHET.TOKEN\r\n",
		"FRESHET.TOKEN 1 2":                     "-ERR wrong number of arguments for 'freshet.token' command\r\n",
	} {
		s := newFake()
		session := newSession(t, s)
		if got := do(session, in+"\r\n"); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
		if len(s.log) > 0 || session.session || session.name != nil || session.guarantees != (guarantees{}) {
			t.Errorf("%s: it was carried out in part: %q, %q, %+v", in, s.log, session.name, session.guarantees)
		}
	}
}

// A plain name stays what it is, and one with options is told as it was given.
func TestNamesAreKept(t *testing.T) {
	for _, name := range []string{"app", "app;x=1", "a%b", "100%", "redis-py(v5?x)", "app%?session&maxstale=5"} {
		want := fmt.Sprintf("+OK\r\n$%d\r\n%s\r\n", len(name), name)
		if got := do(newSession(t, newFake()), "CLIENT SETNAME "+name+"\nCLIENT GETNAME\n"); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// checkSession reads and writes in a session, and looks at the tokens of its
// reads.
func checkSession(t testing.TB) error {
	t.Helper()
	s := newFake()
	session := newSession(t, s)
	s.upper = 1_800_000_000_000_000_000
	for _, c := range []struct {
		in    string
		upper proxy.Time // of what it reads
		want  proxy.Time // which its last read carries
	}{
		{"SET key:a 1\nGET key:a", 5, 0},
		{"FRESHET.SESSION ON\nGET key:a", 1_800_000_000_000_000_007, 1}, // the write was before
		{"GET key:b", 1_800_000_000_000_000_003, 1_800_000_000_000_000_007},
		{"MGET key:a key:c", 0, 1_800_000_000_000_000_007}, // nothing is known of these
		{"GET key:a", 1_900_000_000_000_000_000, 1_800_000_000_000_000_007},
		{"GET key:b%?token=5", 1, 1_900_000_000_000_000_000},
		{"GET key:b%?token=1950000000000000000", 1, 1_950_000_000_000_000_000},
		{"GET key:b", 1, 1_900_000_000_000_000_000},
		{"FRESHET.TOKEN 1990000000000000000\nGET key:b", 1, 1_990_000_000_000_000_000},
		{"FRESHET.SESSION OFF\nGET key:b", 1, 1_990_000_000_000_000_000},
		{"RESET\nGET key:b", 1, 0},
		{"CLIENT SETNAME me%?session\nGET key:a", 8, 0},
		{"GET key:a", 1, 8},
		{"FRESHET.SESSION OFF\nGET key:b", 1, 0},
	} {
		s.upper = c.upper
		do(session, c.in+"\r\n")
		if got := s.last[len(s.last)-1].Token; got != c.want {
			return fmt.Errorf("%q carries %d, want %d", c.in, got, c.want)
		}
	}
	return nil
}

func TestSession(t *testing.T) {
	if err := checkSession(t); err != nil {
		t.Error(err)
	}
}

// A read that failed has seen nothing; the token is told.
func TestTokenOfASession(t *testing.T) {
	s := newFake()
	session := newSession(t, s)
	s.upper = 77
	if got := do(session, "FRESHET.SESSION ON\nGET key:a\nFRESHET.TOKEN\n"); got != "+OK\r\n$-1\r\n$2\r\n77\r\n" {
		t.Errorf("got %q", got)
	}
	if got := do(session, "FRESHET.TOKEN 90\nFRESHET.TOKEN 80\n"); got != "$2\r\n90\r\n$2\r\n90\r\n" {
		t.Errorf("got %q", got)
	}
	s.errs["key:a"], s.upper = errors.New("lost"), 0
	if got := do(session, "GET key:a\nFRESHET.TOKEN\n"); got != "-ERR lost\r\n$2\r\n90\r\n" {
		t.Errorf("got %q", got)
	}
}

// Once the source's clock is known again, a session does not go on to ask for
// what nothing but a read of the source can be.
func TestASessionOutlivesAnUnknownClock(t *testing.T) {
	s := newFake()
	session := newSession(t, s)
	do(session, "FRESHET.SESSION ON\n")
	for _, c := range []struct{ upper, want proxy.Time }{
		{50, 0}, {proxy.Forever, 50}, {proxy.Forever, proxy.Forever}, {0, proxy.Forever}, {90, proxy.Forever}, {70, 90}, {0, 90},
	} {
		s.upper = c.upper
		do(session, "GET key:a\n")
		if got := s.last[0].Token; got != c.want {
			t.Errorf("token %d, want %d", got, c.want)
		}
	}
}

// Replicas keep no token, and who asks for one is told.
func TestNoTokensOfReplicas(t *testing.T) {
	s := newFake()
	c := catalog(t)
	c.Named("key").Mapping.Replica = true
	session := New(c, s, s, Options{}).NewSession()
	const no = "-" + string(errReplica) + "\r\n"
	for _, c := range [][2]string{
		{"GET key:a", "$-1\r\n"}, {"GET key:a%?strong&maxstale=5", "$-1\r\n"}, {"GET key:a%?token=1", no}, {"FRESHET.GET key:a TOKEN 1", no},
		{"SET key:a 1", "+OK\r\n"}, {"GET key:a", "$1\r\n1\r\n"},
		{"FRESHET.SESSION ON", "+OK\r\n"}, {"GET key:a", no}, {"MGET column:a key:a", no}, {"GET column:a", "$-1\r\n"},
		{"FRESHET.SESSION OFF", "+OK\r\n"}, {"GET key:a", "$1\r\n1\r\n"},
		{"FRESHET.TOKEN 5", "$1\r\n5\r\n"}, {"GET key:a", no}, {"HGET users:42 id", "$2\r\n42\r\n"},
	} {
		if got := do(session, c[0]+"\n"); got != c[1] {
			t.Errorf("%s: got %q, want %q", c[0], got, c[1])
		}
	}
}

// In a session no key is asked for twice in one call of the source, and what
// is asked later carries what the calls before have raised.
func TestReadsOfAKeyAreApartInASession(t *testing.T) {
	s := newFake()
	session := newSession(t, s)
	do(session, "FRESHET.SESSION ON\nMGET key:a key:b key:a key:b key:c\nGET key:d\nGET key:c%?strong\n")
	want := []string{"load key:a key:b", "load key:a key:b key:c key:d", "load key:c"}
	for i := range s.log {
		if i >= len(want) || s.log[i] != want[i] {
			t.Fatalf("in one pipeline of whole lines: %q, want %q", s.log, want)
		}
	}
	s.log = nil
	do(session, "GET key:a\nMGET key:b key:x key:bad%?no\nGET key:b\nGET key:a\n")
	if want := []string{"load key:a", "load key:b", "load key:a"}; !reflect.DeepEqual(s.log, want) && !reflect.DeepEqual(s.log, []string{"load key:a", "load key:b key:a"}) {
		t.Errorf("around a command that was refused: %q", s.log)
	}
	s.log = nil
	many := strings.Repeat(" key:x", 3)
	for i := range 2 * piece {
		many += fmt.Sprintf(" key:%d", i)
	}
	do(session, "MGET"+many+"\r\n")
	for _, asked := range s.log {
		keys := strings.Fields(asked)[1:]
		seen := map[string]bool{}
		for _, k := range keys {
			if seen[k] {
				t.Fatalf("%s is asked for twice in one call", k)
			}
			seen[k] = true
		}
		if len(keys) > piece {
			t.Errorf("%d keys in one call", len(keys))
		}
	}
	if n := len(s.log); n != 5 {
		t.Errorf("%d calls", n)
	}
}

// Proofs are in front of what they are about, and only where asked for.
func TestAttributes(t *testing.T) {
	const proof = "|5\r\n$7\r\nversion\r\n$3\r\n7/2\r\n$5\r\nas_of\r\n$19\r\n1700000000000000001\r\n$5\r\nupper\r\n_\r\n$9\r\nbound_met\r\n#t\r\n$6\r\norigin\r\n$3\r\nhit\r\n"
	s := newFake()
	s.errs["key:bad"] = proxy.ErrUnavailable
	session := newSession(t, s)
	do(session, "HELLO 3\r\n")
	for _, c := range [][2]string{
		{"GET key:a", "_\r\n"},
		{"FRESHET.PROOF ON", "+OK\r\n"},
		{"GET key:a", proof + "_\r\n"},
		{"MGET key:a", proof + "*1\r\n_\r\n"},
		{"MGET key:a key:b", "*2\r\n" + proof + "_\r\n" + proof + "_\r\n"},
		{"HGET users:42 id", proof + "$2\r\n42\r\n"},
		{"GET key:bad", "-UNAVAILABLE the source did not answer in time, and nothing within the bound is at hand\r\n"},
		{"GET nobody", "-ERR no such use case: a key is spelled usecase:part\r\n"},
		{"SET key:a 1", "+OK\r\n"},
		{"PING", "+PONG\r\n"},
		{"FRESHET.PROOF off", "+OK\r\n"},
		{"GET key:b", "_\r\n"},
		{"FRESHET.PROOF ON\nRESET", "+OK\r\n+RESET\r\n"},
		{"GET key:b", "$-1\r\n"},
	} {
		if got := do(session, c[0]+"\r\n"); got != c[1] {
			t.Errorf("%s: got %q, want %q", c[0], got, c[1])
		}
	}
	session = newSession(t, s)
	if got := do(session, "HELLO 3\nFRESHET.PROOF ON\nHELLO 2\nGET key:b\n"); !strings.HasSuffix(got, "*0\r\n$-1\r\n") {
		t.Errorf("in RESP2 again: %q", got)
	}
}

// What a hit costs is no allocation, whoever asks and however.
func TestHitsOfUsersAndSessionsAllocateNothing(t *testing.T) {
	for name, setup := range map[string]string{
		"nothing asked": "AUTH ann pw\n",
		"a session":     "AUTH ann pw\nFRESHET.SESSION ON\n",
		"a bound":       "AUTH ann pw\nFRESHET.MAXSTALE 50\n",
		"all of it":     "AUTH ann pw\nCLIENT SETNAME a%?session&maxstale=50\nFRESHET.TOKEN 5\n",
	} {
		for _, key := range []string{"users:42", "users:42%?maxstale=500&token=1700000000000000000"} {
			source := &still{}
			source.result[2] = proxy.Result{Row: encode(user, "42", "Ann", "true", ""), Upper: 9}
			users := someUsers(t)
			users["ann pw"].Caller = &proxy.Caller{Name: "ann"}
			session := New(catalog(t), source, nil, Options{Users: users}).NewSession()
			do(session, setup)
			in := []byte(multibulk("HGET", key, "id"))
			allocated := testing.AllocsPerRun(200, func() { session.Step(t.Context(), in) })
			if got := string(session.Replies()); got != "$2\r\n42\r\n" || allocated != 0 {
				t.Errorf("%s, %s: %v allocations for %q", name, key, allocated, got)
			}
		}
	}
}
