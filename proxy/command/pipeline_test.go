package command

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/resp"
)

// checkOrder sends many reads with values of their own in one pipeline.
func checkOrder(t testing.TB) error {
	t.Helper()
	s := newFake()
	var in, want strings.Builder
	for i := range 50 {
		key := fmt.Sprintf("key:%d", i)
		s.rows[key] = encode(value, fmt.Sprintf("value-%d", i))
		in.WriteString(multibulk("GET", key))
		fmt.Fprintf(&want, "$%d\r\nvalue-%d\r\n", len(fmt.Sprintf("value-%d", i)), i)
	}
	if got := do(newSession(t, s), in.String()); got != want.String() {
		return fmt.Errorf("got %q", got)
	}
	return nil
}

func TestOrder(t *testing.T) {
	if err := checkOrder(t); err != nil {
		t.Error(err)
	}
}

// Consecutive reads are one Load, consecutive writes one Apply, and what comes
// later in a pipeline sees what was written before.
func TestReadsRunTogetherBetweenWrites(t *testing.T) {
	s := newFake()
	got := do(newSession(t, s), strings.Join([]string{
		"GET key:a", "MGET key:b key:a", "EXISTS key:c", "HGET users:42 id",
		"SET key:a 1", "SET key:b 2",
		"GET key:a", "GET bad", "GET key:b",
		"DEL key:a",
		"GET key:a", "PING", "GET key:b", "",
	}, "\r\n"))
	wantLog := []string{
		"load key:a key:b key:a key:c users:42",
		"apply key:a key:b",
		"load key:a key:b",
		"apply key:a",
		"load key:a",
		"load key:b",
	}
	if !reflect.DeepEqual(s.log, wantLog) {
		t.Errorf("the source was asked %q, want %q", s.log, wantLog)
	}
	want := "$-1\r\n*2\r\n$-1\r\n$-1\r\n:0\r\n$2\r\n42\r\n+OK\r\n+OK\r\n$1\r\n1\r\n-ERR no such use case: a key is spelled usecase:part\r\n$1\r\n2\r\n:1\r\n$-1\r\n+PONG\r\n$1\r\n2\r\n"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// The handshake of a client that knows more than we do: one reply each.
func TestHandshakeKeepsStep(t *testing.T) {
	got := do(newSession(t, newFake()), "HELLO 3\nCLIENT SETINFO LIB-NAME x\nCLIENT SETINFO LIB-VER 1\nCLIENT MAINT_NOTIFICATIONS ON\nPING\n")
	want := "+OK\r\n+OK\r\n-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n+PONG\r\n"
	if !strings.HasPrefix(got, "%7\r\n") || !strings.HasSuffix(got, "*0\r\n"+want) {
		t.Errorf("got %q", got)
	}
}

func TestQuitEndsThePipeline(t *testing.T) {
	s := newFake()
	got, end := drive(newSession(t, s), "GET key:a\nQUIT\nSET key:a 1\n", 100)
	if got != "$-1\r\n+OK\r\n" || end != Close || len(s.log) != 1 {
		t.Errorf("got %q and %v; the source was asked %q", got, end, s.log)
	}
}

func TestBadBytesCloseAfterTheGoodOnes(t *testing.T) {
	got, end := drive(newSession(t, newFake()), "GET key:a\r\n*1\r\n$4\r\nPING\r\n*x\r\nPING\r\n", 100)
	if want := "$-1\r\n+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n"; got != want || end != Close {
		t.Errorf("got %q and %v, want %q", got, end, want)
	}
}

// Wherever a stream is split, the replies are the same.
func TestEverySplit(t *testing.T) {
	stream := "SET key:a \"x y\"\r\nGET key:a\n" + multibulk("MGET", "key:a", "users:42", "key:b") +
		"*0\r\n\r\nPING\r\nNOBODY \"a b\"\r\nHELLO 3\r\nGET key:b\r\nDEL key:a\r\n" + multibulk("HGETALL", "users:42") + "QUIT\r\n"
	want := do(newSession(t, newFake()), stream)
	for at := 1; at < len(stream); at++ {
		if got, end := drive(newSession(t, newFake()), stream, at, len(stream)); got != want || end != Close {
			t.Fatalf("split at %d: got %q, want %q", at, got, want)
		}
	}
	if got, _ := drive(newSession(t, newFake()), stream, 1); got != want {
		t.Fatalf("one byte at a time: got %q, want %q", got, want)
	}
}

func TestBinaryKeysAndValues(t *testing.T) {
	all := make([]byte, 512-len("key:"))
	for i := range all {
		all[i] = byte(i*7 + 1)
		if all[i] == '%' || all[i] == ':' {
			all[i] = 0
		}
	}
	for _, key := range []string{"key:\x00\r\n\xff", "key:" + string(all), "key:{}", "key:{a}{b}", "key:{}x", "key:"} {
		got := do(newSession(t, newFake()), multibulk("SET", key, "\x00\r\n$-1\r\n\xff")+multibulk("GET", key))
		if want := "+OK\r\n$9\r\n\x00\r\n$-1\r\n\xff\r\n"; got != want {
			t.Errorf("key %q: got %q, want %q", key, got, want)
		}
	}
	if got := do(newSession(t, newFake()), multibulk("GET", "key:"+strings.Repeat("x", 509))); got != "-ERR bad key: a key has at most 512 bytes\r\n" {
		t.Errorf("a key of 513 bytes: %q", got)
	}
}

// MGET of many keys: one Load, order and duplicates kept, in linear time.
func TestLargeMGet(t *testing.T) {
	s := newFake()
	session := newSession(t, s)
	ask := func(n int) time.Duration {
		words := []string{"MGET"}
		var want strings.Builder
		fmt.Fprintf(&want, "*%d\r\n", n)
		for i := range n {
			key := fmt.Sprintf("key:%d", i%777)
			if i%777 == i {
				s.rows[key] = encode(value, key)
			}
			words = append(words, key)
			fmt.Fprintf(&want, "$%d\r\n%s\r\n", len(key), key)
		}
		in := multibulk(words...)
		s.log = nil
		began := time.Now()
		got := do(session, in)
		took := time.Since(began)
		if got != want.String() {
			t.Fatalf("MGET of %d keys answered something else", n)
		}
		if len(s.log) != 1 {
			t.Fatalf("MGET of %d keys asked the source %d times", n, len(s.log))
		}
		return took
	}
	ask(10_000)
	// Linear takes some 20 ms; a proxy that was quadratic took 1.7 s for a tenth
	// of the keys.
	if took := ask(100_000); took > 5*time.Second {
		t.Errorf("100,000 keys took %v", took)
	}
	if cap(session.pending.requests) > keep || cap(session.pending.results) > keep {
		t.Error("the room of a large MGET stays with its connection")
	}
}

// Replies never hold more than FlushBytes and one value, however much a
// pipeline or one MGET asks for; and no request is lost or answered twice.
func TestRepliesAreBounded(t *testing.T) {
	const flush, size = 1 << 10, 600
	s := newFake()
	s.rows["key:a"] = encode(value, strings.Repeat("x", size))
	one := fmt.Sprintf("$%d\r\n%s\r\n", size, strings.Repeat("x", size))
	mget := multibulk(append([]string{"MGET"}, strings.Fields(strings.Repeat("key:a ", 100))...)...)
	in := strings.Repeat("GET key:a\n", 300) + mget + "PING\n" + strings.Repeat("GET key:a\n", 7) + "\"NOBODY\" \"x\"\nPING\nQUIT\nPING\n"
	want := strings.Repeat(one, 300) + "*100\r\n" + strings.Repeat(one, 100) + "+PONG\r\n" + strings.Repeat(one, 7) +
		"-ERR unknown command 'NOBODY', with args beginning with: 'x' \r\n+PONG\r\n+OK\r\n"

	session := New(catalog(t), s, s, Options{FlushBytes: flush, BatchKeys: 64}).NewSession()
	var got strings.Builder
	rest := []byte(in)
	for next := Again; next == Again; {
		var n int
		n, next = session.Step(context.Background(), rest)
		rest = rest[n:]
		got.Write(session.Replies())
		if len(session.Replies()) > flush+size+32 {
			t.Fatalf("%d bytes of replies at once", len(session.Replies()))
		}
		if next == Read {
			t.Fatal("more bytes are asked for, and QUIT is not answered")
		}
	}
	if got.String() != want {
		t.Error("the replies are others when they come in parts")
	}
	if len(s.log) > 12 {
		t.Errorf("the source was asked %d times for 408 keys", len(s.log))
	}
}

// Large values make batches small, and small ones large again.
func TestBatchesAdaptToTheValues(t *testing.T) {
	s := newFake()
	s.rows["key:large"] = encode(value, strings.Repeat("x", 1000))
	session := New(catalog(t), s, s, Options{BatchBytes: 10_000, BatchKeys: 256}).NewSession()
	ask := func(key string) (batches []int) {
		s.log = nil
		do(session, strings.Repeat("GET "+key+"\n", 500))
		for _, line := range s.log {
			batches = append(batches, len(strings.Fields(line))-1)
		}
		return batches
	}
	if got := ask("key:large"); got[0] != firstBatch || got[1] != 9 || got[len(got)-2] != 9 {
		t.Errorf("batches of large values: %d", got)
	}
	ask("key:none")
	if got := ask("key:none"); !reflect.DeepEqual(got, []int{256, 244}) {
		t.Errorf("batches of nothing: %d", got)
	}
}

// Clients send a transaction as one pipeline: nothing of it may be carried
// out, since none of it is refused by itself.
func TestTransactionsAreRefusedWhole(t *testing.T) {
	s := newFake()
	session := newSession(t, s)
	for _, c := range []struct{ in, want string }{
		{"MULTI\nSET key:a 1\nGET key:a\nNOBODY\nMULTI\nEXEC\nGET key:a\n", "+OK\r\n" +
			strings.Repeat("-ERR transactions are not offered: the command is not carried out\r\n", 3) +
			"-ERR MULTI calls can not be nested\r\n-EXECABORT Transaction discarded because of previous errors: transactions are not offered\r\n$-1\r\n"},
		{"MULTI\nEXEC\n", "+OK\r\n*0\r\n"},
		{"MULTI\nSET key:a 1\nDISCARD\nGET key:a\nMULTI\nEXEC\n", "+OK\r\n-ERR transactions are not offered: the command is not carried out\r\n+OK\r\n$-1\r\n+OK\r\n*0\r\n"},
		{"EXEC\nDISCARD\n", "-ERR EXEC without MULTI\r\n-ERR DISCARD without MULTI\r\n"},
		{"MULTI\nRESET\nPING\nMULTI\nQUIT\n", "+OK\r\n+RESET\r\n+PONG\r\n+OK\r\n+OK\r\n"},
	} {
		if got := do(session, c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
	for _, line := range s.log {
		if strings.HasPrefix(line, "apply") {
			t.Errorf("a write of a refused transaction was carried out: %q", s.log)
		}
	}
}

// A browser's request is dropped, and what it would have been told.
func TestHTTPIsDropped(t *testing.T) {
	for _, in := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\n\r\n"} {
		if got, end := drive(newSession(t, newFake()), in, len(in)); got != "" || end != Drop {
			t.Errorf("%q: got %q and %v", in, got, end)
		}
	}
}

func TestHitsAllocateNothing(t *testing.T) {
	session, in := hits(t)
	if n := testing.AllocsPerRun(200, func() { session.Step(context.Background(), in) }); n != 0 {
		t.Errorf("%v allocations for a batch of hits, want none", n)
	}
}

// still is a Source of which every key is a hit, and which allocates nothing.
type still struct{ result [3]proxy.Result }

func (s *still) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	for i := range reqs {
		results[i] = s.result[reqs[i].Key.UseCase.ID]
	}
}

func (s *still) Apply(context.Context, []proxy.Write, []proxy.Written) {}

// hits returns a session and a batch of reads that are all hits.
func hits(t testing.TB) (*Session, []byte) {
	s := &still{}
	s.result[0].Row = encode(value, strings.Repeat("x", 100))
	s.result[2].Row = encode(user, "42", "Ann", "true", "")
	session := New(catalog(t), s, nil, Options{}).NewSession()
	batch := strings.Repeat(multibulk("GET", "key:000001"), 8) + multibulk("GET", "users:42") +
		multibulk("HMGET", "users:42", "id", "name") + multibulk("HGETALL", "users:42") + multibulk("MGET", "key:1", "users:1") + multibulk("PING")
	return session, []byte(batch)
}

func BenchmarkGet(b *testing.B) {
	for _, c := range []struct {
		setup string
		depth int
	}{{"", 1}, {"", 16}, {"", 64}, {"FRESHET.SESSION ON", 1}, {"FRESHET.SESSION ON", 64}} {
		depth := c.depth
		b.Run(fmt.Sprintf("%sdepth=%d", c.setup, depth), func(b *testing.B) {
			session, _ := hits(b)
			do(session, c.setup+"\n")
			var in []byte
			for i := range depth {
				in = append(in, multibulk("GET", fmt.Sprintf("key:%06d", i))...)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				session.Step(context.Background(), in)
				n += depth
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "hits/s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/hit")
		})
	}
}

// FuzzSession: any bytes, in any pieces, give the same replies, and never more
// than one reply to a request; on connections that redirect, too.
func FuzzSession(f *testing.F) {
	for _, s := range []string{
		multibulk("SET", "key:a", "1") + multibulk("GET", "key:a"), "MGET key:a users:42 a\nHGETALL users:42\r\n",
		"HELLO 3\r\nFRESHET.GET users:42 TOKEN 1 PROOF\r\nFRESHET.INVALIDATE USECASE key\n",
		"FRESHET.SESSION ON\nMGET key:a key:a%?strong key:b\nSET key:a 1\nGET key:a%?maxstale=5&token=7\nFRESHET.TOKEN\n",
		"HELLO 3 SETNAME a%?session&maxstale=1\nFRESHET.PROOF ON\nMGET key:a users:42\nAUTH x\nRESET\n",
		"CLUSTER NODES\nMGET key:a key:b\nASKING\nGET key:b\nREADONLY\nGET key:b\nSET key:b 1\nCLUSTER KEYSLOT key:a\nMEMORY USAGE key:b\n",
		"COMMAND DOCS get\nCLIENT SETNAME \"\\x00\"\nQUIT\n",
		"SET key:a 1 NX GET\nMSET key:a 1 key:b 2\nGETRANGE key:a -3 1\nGETDEL key:a\nHSET users:42 id 42 note x note y\nHDEL users:42 note name\n",
		"HSCAN users:42 0 MATCH [^a-m]*e COUNT 3\nSCAN 0 TYPE hash\nCLIENT REPLY SKIP\nMGET key:a users:42\nCLIENT REPLY OFF\nGET key:a\nCLIENT REPLY ON\n",
		"COMMAND GETKEYS MSET a 1 b 2\nMEMORY USAGE key:a SAMPLES 1\nCLIENT KILL ID 1 SKIPME no\nCONFIG GET m*\nTTL key:a\nTYPE users:42\n", "*1\r\n$9223372036854775807\r\n",
	} {
		f.Add([]byte(s), uint8(1), uint8(9))
	}
	options := Options{FlushBytes: 64, BatchKeys: 3, Limits: resp.Limits{Args: 32, BulkBytes: 128, InlineBytes: 128, RequestBytes: 512}}
	f.Fuzz(func(t *testing.T, stream []byte, a, b uint8) {
		if lower := strings.ToLower(string(stream)); strings.Contains(lower, "info") || strings.Contains(lower, "time") {
			t.Skip("INFO and TIME tell the time")
		}
		for _, cluster := range []Cluster{nil, newTier()} {
			options.Cluster = cluster
			s, p := newFake(), newFake()
			one, other := New(catalog(t), s, s, options).NewSession(), New(catalog(t), p, p, options).NewSession()
			one.Redirect()
			other.Redirect()
			whole, wholeEnd := drive(one, string(stream), len(stream)+1)
			pieces, piecesEnd := drive(other, string(stream), int(a), int(b))
			if wholeEnd == Drop && piecesEnd == Drop {
				return // how much was written before depends on the pieces
			}
			if whole != pieces || wholeEnd != piecesEnd {
				t.Errorf("whole: %q, %v; in pieces of %d and %d: %q, %v", whole, wholeEnd, a, b, pieces, piecesEnd)
			}
		}
	})
}

// However much room there is left, an array begins once.
func TestArraysBeginOnce(t *testing.T) {
	for size := range 80 {
		s := newFake()
		s.rows["key:a"] = encode(value, strings.Repeat("x", size+1))
		session := New(catalog(t), s, s, Options{FlushBytes: 64}).NewSession()
		value := fmt.Sprintf("$%d\r\n%s\r\n", size+1, strings.Repeat("x", size+1))
		if got, want := do(session, "GET key:a\nMGET key:a key:b\n"), value+"*2\r\n"+value+"$-1\r\n"; got != want {
			t.Errorf("behind a value of %d bytes: got %q, want %q", size+1, got, want)
		}
	}
}
