package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// What other services say, whoever asks them: the first bytes are no lengths.
var strangers = map[string]string{
	"PostgreSQL": "E\x00\x00\x00\x8dSFATAL\x00VFATAL\x00C0A000\x00Munsupported frontend protocol\x00\x00",
	"HTTP":       "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
	"Redis":      "-ERR Protocol error: too big mbulk count string\r\n",
	"MySQL":      "J\x00\x00\x00\x0a8.0.36\x00",
	"SSH":        "SSH-2.0-OpenSSH_9.2\r\n",
	"TLS":        "\x15\x03\x03\x00\x02\x02\x46",
	"a liar":     "\xff\xff\xff\xff\x00\x00\x00\x01",
}

// stranger is a service that is no broker.
func stranger(t *testing.T, says string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1))
			c.Write([]byte(says))
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// The port of another service is told, and costs no memory and no time.
func TestStrangersAreNoBrokers(t *testing.T) {
	for who, says := range strangers {
		o := options([]string{stranger(t, says)})
		o.DialTimeout = time.Minute // nothing is to be waited for
		_, err := Inspect(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "stream.kafka.brokers") && !strings.Contains(err.Error(), "another stream.kafka.tls") {
			t.Errorf("%s: %v", who, err)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: was waited for: %v", who, err)
		}
	}
}

func TestAnswersPass(t *testing.T) {
	var all []byte
	for _, n := range []int{0, 1, 4, 300} {
		all = append(binary.BigEndian.AppendUint32(all, uint32(n)), make([]byte, n)...)
	}
	for size := 1; size < len(all); size += 7 {
		var a answers
		for b := all; len(b) > 0; {
			n := min(size, len(b))
			if err := a.pass(b[:n]); err != nil {
				t.Fatalf("in pieces of %d: %v", size, err)
			}
			b = b[n:]
		}
		if a != (answers{}) {
			t.Errorf("in pieces of %d: %+v is left", size, a)
		}
		if err := a.pass(binary.BigEndian.AppendUint32(nil, maxAnswerBytes+1)); !errors.Is(err, errAlien) {
			t.Errorf("in pieces of %d: too long an answer: %v", size, err)
		}
	}
}
