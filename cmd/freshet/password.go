package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/freshet-cache/freshet/cmd/internal/node"
)

func hashPassword(_ context.Context, args []string, stdout, _ io.Writer) error {
	if err := parse(flags("hash-password", "< FILE", stdout), args, 0); err != nil {
		return err
	}
	return hashFirstLine(os.Stdin, stdout)
}

// hashFirstLine hashes the line that r begins with: a command line would show
// the password to everybody on the machine.
func hashFirstLine(r io.Reader, stdout io.Writer) error {
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil && err != io.EOF {
		return err
	}
	hash, err := node.HashPassword(bytes.TrimRight(line, "\r\n"))
	if err != nil {
		return fmt.Errorf("%w; write it to the standard input", err)
	}
	_, err = fmt.Fprintln(stdout, hash)
	return err
}
