package stack_test

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// echo serves lines back until the test ends.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return l.Addr().String()
}

// say sends a line through a connection and returns what comes back within
// wait.
func say(c net.Conn, line string, wait time.Duration) (string, error) {
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return "", err
	}
	if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

func TestForwarder(t *testing.T) {
	const patience, moment = 20 * time.Second, 50 * time.Millisecond
	f := stacktest.Forwarder(t)
	f.To(echo(t))
	c, err := net.Dial("tcp", f.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := say(c, "one", patience); got != "one\n" {
		t.Fatalf("passed: %q, %v", got, err)
	}
	f.Hold()
	if got, err := say(c, "two", moment); err == nil {
		t.Fatalf("held, and yet %q came back", got)
	}
	f.Pass()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if got, err := bufio.NewReader(c).ReadString('\n'); got != "two\n" {
		t.Fatalf("what was held came as %q, %v", got, err)
	}
	f.Delay(moment)
	asked := time.Now()
	if got, err := say(c, "three", patience); got != "three\n" || time.Since(asked) < 2*moment {
		t.Fatalf("delayed both ways: %q after %v, %v", got, time.Since(asked), err)
	}
	f.Cut()
	if got, err := say(c, "four", patience); err == nil {
		t.Fatalf("cut, and yet %q came back", got)
	}
	again, err := net.Dial("tcp", f.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, err := say(again, "five", patience); err == nil {
		t.Fatalf("a new connection is cut, and yet %q came back", got)
	}
}

// A connection goes where its beginning says, and nothing of it is lost; one
// that does not say it ends.
func TestRouter(t *testing.T) {
	const patience = 20 * time.Second
	target := echo(t)
	f, err := stack.NewRouter(func(client io.Reader) (string, []byte, error) {
		head := make([]byte, 3)
		if _, err := io.ReadFull(client, head); err != nil || string(head) != "one" {
			return "", nil, io.ErrUnexpectedEOF
		}
		return target, head, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for line, want := range map[string]string{"one more": "one more\n", "two": ""} {
		c, err := net.Dial("tcp", f.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got, err := say(c, line, patience); got != want || err != nil == (want != "") {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	silent, err := net.Dial("tcp", f.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	f.Close() // waits for nobody to speak
}
