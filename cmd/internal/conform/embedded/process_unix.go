//go:build unix

package embedded

import (
	"os/exec"
	"syscall"
)

// own gives a process a group of its own: a Ctrl-C at the terminal is for the
// run, which ends its parts in order.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// pause freezes it.
func (p *process) pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// resume lets it go on.
func (p *process) resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
