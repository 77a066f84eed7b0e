package stack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Version is a major version of PostgreSQL.
type Version int

// The versions of PostgreSQL that can be started.
const (
	PG15 Version = 15
	PG17 Version = 17
)

// Postgres is a PostgreSQL server.
type Postgres struct {
	*Process // nil: not ours

	dir  string // its own folder; "": not ours
	bin  string
	port int
	url  *url.URL // of the superuser
}

// StartPostgres starts a server on an empty database cluster. Settings are
// lines of postgresql.conf; ALTER SYSTEM overrides them at the next Restart.
// FRESHET_POSTGRES_URL names a server to use instead; its superuser's URL.
func StartPostgres(ctx context.Context, v Version, settings ...string) (*Postgres, error) {
	if given := os.Getenv("FRESHET_POSTGRES_URL"); given != "" {
		u, err := url.Parse(given)
		if err != nil {
			return nil, fmt.Errorf("FRESHET_POSTGRES_URL is no URL, such as postgres://postgres@127.0.0.1:5432/postgres")
		}
		return &Postgres{url: u}, nil
	}
	bin, err := postgresBin(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL %d: %w", v, err)
	}
	template, err := postgresTemplate(ctx, v, bin)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL %d: %w", v, err)
	}
	p, err := newPostgres(bin)
	if err != nil {
		return nil, err
	}
	if err = command(ctx, "cp", "-a", template+"/data", p.data()); err == nil {
		if err = p.configure(settings...); err == nil {
			err = p.Start(ctx)
		}
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// newPostgres gives a server a folder and a port.
func newPostgres(bin string) (*Postgres, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "freshet-postgres-")
	if err != nil {
		return nil, err
	}
	p := &Postgres{dir: dir, bin: bin, port: port, url: &url.URL{
		Scheme: "postgres", User: url.User(superuser), Host: "127.0.0.1:" + strconv.Itoa(port), Path: "/postgres",
		RawQuery: "sslmode=disable",
	}}
	if err := give(dir); err != nil {
		return nil, err
	}
	p.Process = NewProcess(Program{
		Path: filepath.Join(bin, "postgres"),
		Args: []string{"-D", p.data()},
		Log:  filepath.Join(dir, "log"),
		User: runsAs(),
		// Fast: sessions are ended, not waited for.
		Finish:  syscall.SIGINT,
		Answers: func(ctx context.Context) error { return p.Exec(ctx, "SELECT 1") },
	})
	return p, nil
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

// settings of every server. Those of a test come after, and win.
const settings = `
listen_addresses = '127.0.0.1'
wal_level = logical
max_wal_senders = 20
max_replication_slots = 20
max_connections = 200
shared_buffers = 32MB
fsync = off
full_page_writes = off
log_line_prefix = '%m [%p] %u %a '
lc_messages = 'C'
timezone = 'UTC'
`

func (p *Postgres) configure(more ...string) error {
	f, err := os.OpenFile(filepath.Join(p.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%sport = %d\nunix_socket_directories = '%s'\n", settings, p.port, p.dir); err != nil {
		return err
	}
	for _, line := range more {
		if _, err := fmt.Fprintln(f, line); err != nil {
			return err
		}
	}
	return nil
}

// URL is the server's, for that role and database; "" means postgres.
func (p *Postgres) URL(user, database string) string {
	u := *p.url
	if user != "" {
		u.User = url.User(user)
	}
	if database != "" {
		u.Path = "/" + database
	}
	return u.String()
}

// Address is where the server listens.
func (p *Postgres) Address() string { return p.url.Host }

// Data is the server's data folder; "" if it is not ours.
func (p *Postgres) Data() string {
	if p.dir == "" {
		return ""
	}
	return p.data()
}

// Put writes a file into the data folder, as the server's own that nobody else
// may read. The server finds it by that name.
func (p *Postgres) Put(name string, content []byte) error {
	if !p.Ours() {
		return ErrNotOurs
	}
	path := filepath.Join(p.data(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return give(path)
}

// Exec runs statements as the superuser in database postgres, each in a
// transaction of its own.
func (p *Postgres) Exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, p.URL("", ""))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Query returns the first column of the first row of a query by the superuser
// in database postgres, as text; "" where it is NULL or there is no row.
func (p *Postgres) Query(ctx context.Context, query string) (string, error) {
	conn, err := pgx.Connect(ctx, p.URL("", ""))
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	results, err := conn.PgConn().Exec(ctx, query).ReadAll()
	if err != nil {
		return "", fmt.Errorf("%s: %w", query, err)
	}
	for _, r := range results {
		if len(r.Rows) > 0 {
			return string(r.Rows[0][0]), nil
		}
	}
	return "", nil
}

// Begin begins a transaction as the superuser in database postgres, carries out
// statements, and leaves it at that until it is committed.
func (p *Postgres) Begin(ctx context.Context, statements ...string) (commit func(context.Context) error, err error) {
	conn, err := pgx.Connect(ctx, p.URL("", ""))
	if err != nil {
		return nil, err
	}
	end := func(ctx context.Context) error { return conn.Close(context.WithoutCancel(ctx)) }
	for _, s := range append([]string{"BEGIN"}, statements...) {
		if _, err := conn.Exec(ctx, s); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", s, err), end(ctx))
		}
	}
	return func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "COMMIT")
		return errors.Join(err, end(ctx))
	}, nil
}

// Ours reports whether the server was started here, so that it can be killed
// and paused.
func (p *Postgres) Ours() bool { return p.Process != nil }

// Restart ends the server in good order and starts it again.
func (p *Postgres) Restart(ctx context.Context) error {
	if !p.Ours() {
		return ErrNotOurs
	}
	if err := p.Stop(ctx); err != nil {
		return err
	}
	return p.Start(ctx)
}

// Close ends the server at once and removes its data.
func (p *Postgres) Close() error {
	if !p.Ours() {
		return nil
	}
	if err := p.Kill(); err != nil {
		return err
	}
	return os.RemoveAll(p.dir)
}

// runsAs is the user that PostgreSQL runs as; "": this one.
func runsAs() string {
	if isRoot() {
		return superuser
	}
	return ""
}

// give hands a folder or a file to the user that PostgreSQL runs as.
func give(path string) error {
	if !isRoot() {
		return nil
	}
	uid, gid, err := account(superuser)
	if err != nil {
		return err
	}
	return os.Chown(path, int(uid), int(gid))
}

// asOwner runs a tool as the user that PostgreSQL runs as.
func asOwner(ctx context.Context, path string, args ...string) error {
	attributes, err := attributesOf(runsAs())
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr, cmd.Dir = attributes, "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w:\n%s", path, err, out)
	}
	return nil
}
