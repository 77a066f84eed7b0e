package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// healthcheckTimeout is far above what an answer takes, and below what container
// engines wait.
const healthcheckTimeout = 3 * time.Second

// healthcheck asks a node or a relay of this machine whether it is ready. It is
// for images that hold nothing else which could ask.
func healthcheck(ctx context.Context, args []string, stdout, _ io.Writer) error {
	f := flags("healthcheck", "[--admin ADDR]", stdout)
	admin := f.String("admin", "127.0.0.1:6480", "the admin address of a node, or of a relay (127.0.0.1:6481 by default)")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+*admin+"/readyz", nil)
	if err != nil {
		return &usageError{fmt.Sprintf("healthcheck: --admin %q is no address: give HOST:PORT", *admin)}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%w: is it running, and is this its admin address?", err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(string(said)))
	}
	_, err = stdout.Write(said)
	return err
}
