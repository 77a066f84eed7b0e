package server

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// oneUser is a user named "default", whose password is "pw".
type oneUser struct{ rights *proxy.Rights }

func newOneUser(t testing.TB) oneUser { return oneUser{proxy.AllRights(catalog(t))} }

func (u oneUser) Login(name, password []byte) (*proxy.Rights, error) {
	if string(name) != "default" || string(password) != "pw" {
		return nil, proxy.ErrWrongPassword
	}
	return u.rights, nil
}

const noAuth = "-NOAUTH Authentication required.\r\n"

// P36: who has not said who he is gets Redis' words for what is too much, and
// no more; the same is taken from him afterwards, in the same write.
func TestStrangersMayAskForLittle(t *testing.T) {
	s := startFor(t, newOneUser(t), &table{}, Options{})
	many := "*12\r\n$4\r\nMGET\r\n" + strings.Repeat("$5\r\nkey:a\r\n", 11)
	large := set("key:a", make([]byte, 16<<10+1))
	for in, want := range map[string]string{
		many:                    "-ERR Protocol error: unauthenticated multibulk length\r\n",
		large:                   "-ERR Protocol error: unauthenticated bulk length\r\n",
		"*1000000\r\n":          "-ERR Protocol error: unauthenticated multibulk length\r\n",
		"*1\r\n$100000000\r\n":  "-ERR Protocol error: invalid bulk length\r\n",
		get("key:a") + "QUIT\n": noAuth + "+OK\r\n",
	} {
		c := dial(t, s.addr)
		send(t, c, in)
		expectEnd(t, c, want)
	}
	c := dial(t, s.addr)
	send(t, c, "AUTH pw\n"+large+many+"RESET\n"+many)
	expectEnd(t, c, "+OK\r\n+OK\r\n*11\r\n"+strings.Repeat(bulk(make([]byte, 16<<10+1)), 11)+"+RESET\r\n-ERR Protocol error: unauthenticated multibulk length\r\n")
}

// A stranger's time is over whatever he sends, and begins anew when he becomes
// one again.
func TestStrangersHaveLittleTime(t *testing.T) {
	bubbleFor(t, newOneUser(t), &table{}, Options{StrangerTimeout: 10 * time.Second}, func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		stranger, known := p.dial(), p.dial()
		defer stranger.Close()
		defer known.Close()
		began := time.Now()
		go io.WriteString(known, "AUTH pw\r\n")
		expect(t, known, "+OK\r\n")
		for range 9 {
			time.Sleep(time.Second)
			go io.WriteString(stranger, "PING\r\n")
			expect(t, stranger, noAuth)
		}
		expectEnd(t, stranger, "")
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("the stranger was closed after %v", took)
		}
		time.Sleep(time.Hour)
		began = time.Now()
		go io.WriteString(known, "PING\r\nRESET\r\n")
		expect(t, known, "+PONG\r\n+RESET\r\n")
		expectEnd(t, known, "")
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("one who is a stranger again was closed after %v", took)
		}
		synctest.Wait()
		if n := closedBy(t, s, byStranger); n != 2 {
			t.Errorf("%v were counted as strangers", n)
		}
	})
}

// A stranger that reads nothing holds no more than his output, and a step's.
func TestStrangersHoldLittle(t *testing.T) {
	const conns = 100
	bubbleFor(t, newOneUser(t), &table{}, Options{}, func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		request := []byte(strings.Repeat("GET key:a\r\n", 100_000)) // all clients send the same bytes
		before := heapInUse()
		for range conns {
			c := p.dial()
			defer c.Close()
			go c.Write(request)
		}
		time.Sleep(time.Second) // of the bubble: until all are stuck
		synctest.Wait()
		per := (heapInUse() - before) / conns
		t.Logf("%d KiB are held for each", per>>10)
		if per > 512<<10 {
			t.Errorf("%d KiB are held for each", per>>10)
		}
	})
}

// P36: a thousand connections that announce a million arguments, and a
// thousand that announce 32 MiB, cost what idle ones cost: before they have
// said who they are, and where nobody has to.
func TestAnnouncementsCostNothing(t *testing.T) {
	measure := func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		const conns = 1000
		before := heapInUse()
		all := make([]net.Conn, conns)
		for i, in := range []string{"*10\r\n$4\r\nMGET\r\n$16384\r\n", "*1000000\r\n$33554432\r\n"} {
			for j := i; j < conns; j += 2 {
				all[j] = p.dial()
				defer all[j].Close()
				go io.WriteString(all[j], in)
				go io.Copy(io.Discard, all[j])
			}
		}
		synctest.Wait()
		if per := (heapInUse() - before) / conns; per > 16<<10 {
			t.Errorf("%d bytes for each connection", per)
		}
	}
	t.Run("strangers", func(t *testing.T) { bubbleFor(t, newOneUser(t), &table{}, Options{}, measure) })
	t.Run("everybody", func(t *testing.T) { bubble(t, &table{}, Options{}, measure) })
}
