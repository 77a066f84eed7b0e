package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/proxy/resp"
)

// Refusal is an error reply.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Reply is one reply in RESP2.
type Reply struct {
	Text string  // of a value or a status; of a number its decimal digits
	Null bool    // there is no value
	List []Reply // of an array
	Err  error   // a Refusal
}

// Client is one connection.
type Client struct {
	conn     net.Conn
	in       *bufio.Reader
	out      resp.Writer
	patience time.Duration
}

// Dial connects to a node. No reply may take longer than patience.
func Dial(ctx context.Context, address string, patience time.Duration) (*Client, error) {
	d := net.Dialer{Timeout: patience}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, in: bufio.NewReader(conn), patience: patience}, nil
}

// Login says who this is.
func (c *Client) Login(user, password string) error {
	_, err := c.Do("AUTH", user, password)
	return err
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Address is the one by which the node knows the connection.
func (c *Client) Address() string { return c.conn.LocalAddr().String() }

// Queue adds a command to the pipeline.
func (c *Client) Queue(args ...string) {
	c.out.Array(len(args))
	for _, a := range args {
		c.out.BulkString(a)
	}
}

// Flush sends the pipeline. As many replies are to be received as commands
// were queued.
func (c *Client) Flush() error {
	if err := c.conn.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	_, err := c.conn.Write(c.out.Out)
	c.out.Out = c.out.Out[:0]
	return err
}

// Do sends one command and receives its reply. An error reply is the error.
func (c *Client) Do(args ...string) (Reply, error) {
	c.Queue(args...)
	if err := c.Flush(); err != nil {
		return Reply{}, err
	}
	r, err := c.Receive()
	return r, errors.Join(err, r.Err)
}

// maxBulk and maxList bound what a reply may announce: a node under test is
// not trusted with this process's memory.
const (
	maxBulk = 1 << 20
	maxList = 1 << 16
)

// Receive returns the next reply. The error is the connection's; that of a
// command is in the reply.
func (c *Client) Receive() (Reply, error) {
	line, err := c.line()
	if err != nil {
		return Reply{}, err
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ':':
		return Reply{Text: rest}, nil
	case '-':
		return Reply{Err: Refusal(rest)}, nil
	}
	n, err := strconv.Atoi(rest)
	switch {
	case err != nil || kind != '$' && kind != '*':
		return Reply{}, fmt.Errorf("the reply %q is not understood", line)
	case n < 0:
		return Reply{Null: true}, nil
	case kind == '$' && n <= maxBulk:
		return c.bulk(n)
	case kind == '*' && n <= maxList:
		return c.list(n)
	}
	return Reply{}, fmt.Errorf("a reply announces %d, which is too much", n)
}

func (c *Client) line() (string, error) {
	b, err := c.in.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	if len(b) < 3 || b[len(b)-2] != '\r' {
		return "", fmt.Errorf("the reply %q is not understood", b)
	}
	return string(b[:len(b)-2]), nil
}

func (c *Client) bulk(n int) (Reply, error) {
	value := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, value); err != nil {
		return Reply{}, err
	}
	return Reply{Text: string(value[:n])}, nil
}

func (c *Client) list(n int) (Reply, error) {
	r := Reply{List: make([]Reply, 0, min(n, 64))}
	for range n {
		one, err := c.Receive()
		if err != nil {
			return Reply{}, err
		}
		r.List = append(r.List, one)
	}
	return r, nil
}
