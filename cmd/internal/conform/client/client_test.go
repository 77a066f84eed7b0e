package client

import (
	"bufio"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers one connection with what it is given, once it has read lines
// lines, and returns the client's end and what was read.
func serve(t *testing.T, answer string, lines int) (*Client, func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		defer l.Close()
		c, err := l.Accept()
		if err != nil {
			read <- err.Error()
			return
		}
		defer c.Close()
		in, got := bufio.NewReader(c), ""
		for range lines {
			line, _ := in.ReadString('\n')
			got += line
		}
		_, _ = io.WriteString(c, answer)
		read <- got
	}()
	c, err := Dial(t.Context(), l.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, func() string { return <-read }
}

func TestRepliesOfAPipeline(t *testing.T) {
	c, read := serve(t, "+OK\r\n:42\r\n$3\r\na\r\n\r\n$-1\r\n-UNAVAILABLE away\r\n*3\r\n$1\r\nx\r\n*-1\r\n*1\r\n:7\r\n", 13)
	c.Queue("GET", "a")
	c.Queue("PING")
	c.Queue("GET", "")
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []Reply{
		{Text: "OK"}, {Text: "42"}, {Text: "a\r\n"}, {Null: true}, {Err: Refusal("UNAVAILABLE away")},
		{List: []Reply{{Text: "x"}, {Null: true}, {List: []Reply{{Text: "7"}}}}},
	} {
		if got, err := c.Receive(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := c.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if got, want := read(), "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n"; got != want {
		t.Errorf("sent %q", got)
	}
}

func TestDoTellsARefusalFromALostConnection(t *testing.T) {
	c, _ := serve(t, "-ERR no\r\n", 3)
	_, err := c.Do("PING")
	var refused Refusal
	if !errors.As(err, &refused) || refused != "ERR no" {
		t.Errorf("refused: %v", err)
	}
	if _, err := c.Do("PING"); err == nil || errors.As(err, &refused) {
		t.Errorf("lost: %v", err)
	}
}

func TestWhatIsNoReplyIsAnError(t *testing.T) {
	for _, answer := range []string{"?\r\n", "\r\n", "+OK\n", "$x\r\n", "$99999999\r\n", "*99999999\r\n", "$5\r\nab", strings.Repeat("x", 1<<17)} {
		c, _ := serve(t, answer, 3)
		c.Queue("PING")
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Receive(); err == nil {
			t.Errorf("%.20q: %+v", answer, r)
		}
	}
}
