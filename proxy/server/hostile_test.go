package server

import (
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// heapInUse returns what of the heap is in use.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// asks is how often p99 asks.
const asks = 500

// p99 asks for a small value many times, one after the other.
func p99(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	c.SetDeadline(time.Now().Add(5 * time.Minute)) // a hang fails the test
	took := make([]time.Duration, asks)
	for i := range took {
		began := time.Now()
		send(t, c, get("key:small"))
		expect(t, c, "$1\r\n1\r\n")
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[asks*99/100]
}

// calls is how many commands the server has been asked for.
func (r *running) calls() uint64 {
	all := uint64(0)
	r.commands.Counts(func(_ string, n uint64) { all += n })
	return all
}

// P36, P37: what hostile clients do to the memory, and to others.
func TestHostileClientsDisturbNobody(t *testing.T) {
	const value, bound = 1 << 20, 8 << 20
	src := &table{rows: map[string]row.Row{"key:large": encode(make([]byte, value)), "key:small": encode([]byte("1"))}}
	s := startFor(t, newOneUser(t), src, Options{OutputBytes: bound, WriteTimeout: time.Minute})
	other := dial(t, s.addr)
	send(t, other, "AUTH pw\r\n")
	expect(t, other, "+OK\r\n")
	alone := p99(t, other)
	t.Logf("alone: p99 %v", alone)
	most := max(3*time.Second, 20*alone) // a machine that is busy with other tests

	large := []byte("AUTH pw\r\n" + strings.Repeat(get("key:large"), 500))
	many := []byte("AUTH pw\r\n" + strings.Repeat("GET key:small\r\n", 200_000))
	for _, hostile := range []struct {
		name        string
		connections int
		in          []byte
		most        int64 // bytes of the heap for each
	}{
		{"announce before AUTH", 300, []byte("*10\r\n$4\r\nMGET\r\n$16384\r\n"), 16 << 10},
		{"announce too much before AUTH", 300, []byte("*1000000\r\n"), 16 << 10},
		{"ask for 500 MiB and never read", 10, large, 2*bound + 4*value},
		{"write 200,000 commands and never read", 4, many, 2*bound + 1<<20},
	} {
		before := heapInUse()
		conns := make([]net.Conn, hostile.connections)
		for i := range conns {
			conns[i] = dial(t, s.addr)
			go conns[i].Write(hostile.in)
		}
		// Until they have come as far as they will: until all that was done twice
		// in a row was asked for here.
		took := time.Duration(0)
		for rests, called := 0, s.calls(); rests < 2; {
			took = max(took, p99(t, other))
			was := called
			if called = s.calls(); called == was+asks {
				rests++
			} else {
				rests = 0
			}
		}
		held := (heapInUse() - before) / int64(len(conns))
		t.Logf("%s: p99 %v, %d KiB held for each", hostile.name, took, held>>10)
		if held > hostile.most {
			t.Errorf("%s: %d KiB are held for each", hostile.name, held>>10)
		}
		if took > most {
			t.Errorf("%s: p99 is %v", hostile.name, took)
		}
		for _, c := range conns {
			c.Close()
		}
		for s.metric(t, "freshet_connections", "") > 1 { // until what they held is given back
			time.Sleep(time.Millisecond)
		}
	}
}
