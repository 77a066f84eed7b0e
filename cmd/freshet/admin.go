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

// adminQuestion is what a command asks an admin port.
type adminQuestion struct {
	command, what string // for people: who asks, and what should be running there
	admin, path   string
	within        time.Duration
	most          int64 // bytes that are taken of the answer
}

// askAdmin returns an answer that is OK; another one is the error.
func askAdmin(ctx context.Context, q adminQuestion) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, q.within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+q.admin+q.path, nil)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("%s: --admin %q is no address: give HOST:PORT", q.command, q.admin)}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: is %s running, and is this its admin address?", err, q.what)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(io.LimitReader(res.Body, q.most))
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(said)))
	}
	return said, err
}
