package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Redis is a redis-server that keeps nothing on disk.
type Redis struct {
	*Process // nil: not ours

	dir     string
	address string
}

// StartRedis starts a server. Arguments are as on redis-server's command line.
// FRESHET_REDIS names a server to use instead, as HOST:PORT.
func StartRedis(ctx context.Context, args ...string) (*Redis, error) {
	if given := os.Getenv("FRESHET_REDIS"); given != "" {
		return &Redis{address: given}, nil
	}
	path, err := tool(ctx, "redis-server", "redis-server")
	if err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	r := &Redis{address: fmt.Sprintf("127.0.0.1:%d", port)}
	if r.dir, err = os.MkdirTemp("", "freshet-redis-"); err != nil {
		return nil, err
	}
	r.Process = NewProcess(Program{
		Path: path,
		Args: append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no", "--dir", r.dir}, args...),
		Log:  filepath.Join(r.dir, "log"),
		Answers: func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.address)
			if err == nil {
				conn.Close()
			}
			return err
		},
	})
	if err := r.Start(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Address is where the server listens.
func (r *Redis) Address() string { return r.address }

// Ours reports whether the server was started here, so that it can be killed
// and paused.
func (r *Redis) Ours() bool { return r.Process != nil }

// Close ends the server at once.
func (r *Redis) Close() error {
	if !r.Ours() {
		return nil
	}
	if err := r.Kill(); err != nil {
		return err
	}
	return os.RemoveAll(r.dir)
}
