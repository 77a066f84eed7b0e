package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Client is one connection to a node. Not for concurrent use.
type Client struct {
	conn net.Conn
	r    *bufio.Reader
}

// patience is how long any reply may take.
const patience = time.Minute

// Dial connects to a node.
func Dial(address string) (*Client, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, r: bufio.NewReader(conn)}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Nil is the reply that says there is nothing.
const Nil = "(nil)"

// Do sends one command and returns its reply as text.
func (c *Client) Do(args ...string) (string, error) {
	if err := c.Send(args); err != nil {
		return "", err
	}
	return c.Receive()
}

// Send sends commands and waits for no reply.
func (c *Client) Send(commands ...[]string) error {
	var b strings.Builder
	for _, args := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := io.WriteString(c.conn, b.String())
	return err
}

// Receive returns the next reply as text: a value as it is, what there is none
// of as [Nil], a list as its elements with a line each. An error reply is an
// error.
func (c *Client) Receive() (string, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	rest := line[1:]
	switch line[0] {
	case '+', ':':
		return rest, nil
	case '-':
		return "", fmt.Errorf("%s", rest)
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return "", fmt.Errorf("not understood: %q", line)
	}
	if n < 0 {
		return Nil, nil
	}
	if line[0] == '$' {
		value := make([]byte, n+2)
		_, err := io.ReadFull(c.r, value)
		return string(value[:n]), err
	}
	elements := make([]string, n)
	for i := range elements {
		if elements[i], err = c.Receive(); err != nil {
			return "", err
		}
	}
	return strings.Join(elements, "\n"), nil
}
