package main

import (
	"context"
	"io"
	"time"
)

// healthcheckTimeout is far above what an answer takes, and below what container
// engines wait.
const healthcheckTimeout = 3 * time.Second

// healthcheck asks a node or a relay of this machine whether it is ready. It is
// for images that hold nothing else which could ask.
func healthcheck(ctx context.Context, args []string, stdout, _ io.Writer) error {
	f := flags("healthcheck", "[--admin ADDR]", stdout)
	admin := f.String("admin", "127.0.0.1:6480", "the admin address of a node, or of a relay, whose default is 127.0.0.1:6481")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	said, err := askAdmin(ctx, adminQuestion{command: "healthcheck", what: "it", admin: *admin, path: "/readyz", within: healthcheckTimeout, most: 64 << 10})
	if err != nil {
		return err
	}
	_, err = stdout.Write(said)
	return err
}
