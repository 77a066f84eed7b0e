package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
)

// PgBouncer is a pooler in front of a PostgreSQL server.
type PgBouncer struct {
	*Process

	dir string
	url url.URL
}

// StartPgBouncer starts a pooler in front of a server, in one of PgBouncer's
// pool modes, with that many connections to the server. Whoever connects is
// the superuser there.
func StartPgBouncer(ctx context.Context, p *Postgres, mode string, size int) (*PgBouncer, error) {
	path, err := tool(ctx, "pgbouncer", "pgbouncer")
	if err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	b := &PgBouncer{url: *p.url}
	b.url.Host = fmt.Sprintf("127.0.0.1:%d", port)
	if b.dir, err = os.MkdirTemp("", "freshet-pgbouncer-"); err == nil {
		err = errors.Join(give(b.dir), os.WriteFile(b.file(), fmt.Appendf(nil, bouncerSettings, p.url.Hostname(), p.url.Port(), superuser, port, mode, size), 0o644))
	}
	if err != nil {
		return nil, err
	}
	b.Process = NewProcess(Program{
		Path: path, Args: []string{b.file()}, Log: filepath.Join(b.dir, "log"), User: runsAs(),
		Answers: func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.url.Host)
			if err == nil {
				conn.Close()
			}
			return err
		},
	})
	if err := b.Start(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

const bouncerSettings = `
[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
default_pool_size = %d
max_client_conn = 200
`

func (b *PgBouncer) file() string { return filepath.Join(b.dir, "pgbouncer.ini") }

// URL is the pooler's, for database postgres.
func (b *PgBouncer) URL() string { return b.url.String() }

// Close ends the pooler at once.
func (b *PgBouncer) Close() error {
	if err := b.Kill(); err != nil {
		return err
	}
	return os.RemoveAll(b.dir)
}
