//go:build unix

package part

import (
	"os/exec"
	"syscall"
)

// own gives a process a group of its own: a Ctrl-C at the terminal is for the
// run, which ends its parts in order.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Pause freezes it.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
