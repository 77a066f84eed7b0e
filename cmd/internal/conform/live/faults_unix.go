//go:build unix

package live

import (
	"os/exec"
	"syscall"
)

// apart gives a command a group of its own: a Ctrl-C at the terminal is for the
// run, which still has to make good what was begun. If it takes too long, all
// of the group is ended.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
