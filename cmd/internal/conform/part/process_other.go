//go:build !unix

package part

import (
	"errors"
	"os/exec"
)

var errNoFreeze = errors.New("processes are frozen on Unix only: choose other faults with --faults")

func own(*exec.Cmd) {}

// Pause is not possible here.
func (p *Process) Pause() error { return errNoFreeze }

// Resume is not possible here.
func (p *Process) Resume() error { return errNoFreeze }
