package e2e

import (
	"context"
	"strings"
	"time"

	nodeclient "github.com/freshet-cache/freshet/cmd/internal/conform/client"
)

// Client is one connection to a node, whose replies are text. Not for
// concurrent use.
type Client struct{ conn *nodeclient.Client }

// patience is how long any reply may take.
const patience = time.Minute

// Dial connects to a node.
func Dial(address string) (*Client, error) {
	conn, err := nodeclient.Dial(context.Background(), address, patience)
	if err != nil {
		return nil, err
	}
	return &Client{conn}, nil
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
	for _, args := range commands {
		c.conn.Queue(args...)
	}
	return c.conn.Flush()
}

// Receive returns the next reply as text: a value as it is, what there is none
// of as [Nil], a list as its elements with a line each. An error reply is an
// error.
func (c *Client) Receive() (string, error) {
	r, err := c.conn.Receive()
	if err != nil {
		return "", err
	}
	return text(r)
}

func text(r nodeclient.Reply) (string, error) {
	switch {
	case r.Err != nil:
		return "", r.Err
	case r.Null:
		return Nil, nil
	case r.List == nil:
		return r.Text, nil
	}
	elements := make([]string, len(r.List))
	for i, one := range r.List {
		var err error
		if elements[i], err = text(one); err != nil {
			return "", err
		}
	}
	return strings.Join(elements, "\n"), nil
}
