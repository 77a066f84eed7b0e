//go:build !unix

package embedded

import (
	"errors"
	"os/exec"
)

var errNoFreeze = errors.New("processes are frozen on Unix only: choose other faults with --faults")

func own(*exec.Cmd) {}

func (p *process) pause() error { return errNoFreeze }

func (p *process) resume() error { return errNoFreeze }
