package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// Standby makes a hot standby of the server and starts it: a copy that
// replays its log. Settings are lines of postgresql.conf. It calls itself name
// towards the primary, as synchronous_standby_names has it.
//
// The copy is made with PostgreSQL's own two functions for it, because not
// every distribution of the server brings pg_basebackup along.
func (p *Postgres) Standby(ctx context.Context, name string, settings ...string) (*Postgres, error) {
	if !p.Ours() {
		return nil, ErrNotOurs
	}
	s, err := newPostgres(p.bin)
	if err != nil {
		return nil, err
	}
	if err = p.backup(ctx, s.data()); err == nil {
		if err = s.follow(p, name, settings); err == nil {
			err = s.Start(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// backup copies the data folder while the server runs. The label says where
// the log has to be replayed from to make the copy whole.
func (p *Postgres) backup(ctx context.Context, to string) error {
	conn, err := pgx.Connect(ctx, p.URL("", ""))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "SELECT pg_backup_start('standby', true)"); err != nil {
		return err
	}
	// Files may go away while they are copied: what they held is in the log.
	_ = command(ctx, "cp", "-a", p.data(), to)
	var label string
	if err := conn.QueryRow(ctx, "SELECT labelfile FROM pg_backup_stop(false)").Scan(&label); err != nil {
		return err
	}
	for _, own := range []string{"postmaster.pid", "postmaster.opts", "pg_replslot", "backup_label", "postgresql.auto.conf"} {
		if err := os.RemoveAll(filepath.Join(to, own)); err != nil {
			return err
		}
	}
	for _, empty := range []string{"backup_label", "standby.signal", "postgresql.auto.conf"} {
		content := ""
		if empty == "backup_label" {
			content = label
		}
		if err := write(filepath.Join(to, empty), content); err != nil {
			return err
		}
	}
	slots := filepath.Join(to, "pg_replslot")
	if err := os.Mkdir(slots, 0o700); err != nil {
		return err
	}
	return give(slots)
}

func write(path, content string) error {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return err
	}
	return give(path)
}

// follow points a copy at its primary.
func (p *Postgres) follow(primary *Postgres, name string, settings []string) error {
	return p.configure(append([]string{fmt.Sprintf(
		"primary_conninfo = 'host=127.0.0.1 port=%d user=%s dbname=postgres application_name=%s'",
		primary.port, superuser, name)}, settings...)...)
}

// Promote makes a primary of a standby, and returns when it takes writes.
func (p *Postgres) Promote(ctx context.Context) error {
	return p.Exec(ctx, "SELECT pg_promote(true, 60)")
}

// Caught waits until a standby has replayed what its primary has written so
// far.
func (p *Postgres) Caught(ctx context.Context, primary *Postgres) error {
	end, err := primary.Query(ctx, "SELECT pg_current_wal_flush_lsn()")
	if err != nil {
		return err
	}
	for {
		there, err := p.Query(ctx, "SELECT pg_last_wal_replay_lsn() >= '"+end+"'")
		if err != nil || there == "t" {
			return err
		}
		if err := p.Exec(ctx, "SELECT pg_sleep(0.01)"); err != nil {
			return err
		}
	}
}
