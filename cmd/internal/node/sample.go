package node

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

//go:embed sample.sql
var sampleSQL string

// Sample makes the sample database of freshet dev at path, unless there is a
// file already.
func Sample(ctx context.Context, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Made under another name first: a process that dies halfway leaves no
	// half a sample to be found again.
	draft := path + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := openSQL(draft, "rwc")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "BEGIN;\n"+sampleSQL+"\nCOMMIT;")
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("make the sample %s: %w", path, err)
	}
	return os.Rename(draft, path)
}

// sampleUseCases maps the sample's tables.
func sampleUseCases() []config.UseCase {
	mapped := func(name, table, column string, key ...string) config.UseCase {
		u := config.DefaultUseCase(name)
		u.Table, u.Key, u.Column = table, key, column
		return u
	}
	return []config.UseCase{
		mapped("users", "users", ""),
		mapped("user-by-email", "users", "", "email"),
		mapped("products", "products", ""),
		mapped("orders", "orders", ""),
		mapped("key", "kv", "value"),
	}
}
