package stack

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	stop = syscall.SIGSTOP
	cont = syscall.SIGCONT
)

// attributesOf lets the kernel kill what we start when we end, however that
// comes about. The group is its own: a Ctrl-C at the terminal is for us, and
// parts end in our order.
func attributesOf(name string) (*syscall.SysProcAttr, error) {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if name == "" {
		return a, nil
	}
	uid, gid, err := account(name)
	if err != nil {
		return nil, err
	}
	a.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	return a, nil
}

func account(name string) (uid, gid uint32, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, err
	}
	n, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return 0, 0, err
	}
	m, err := strconv.ParseUint(u.Gid, 10, 32)
	return uint32(n), uint32(m), err
}

// signalFamily signals a process and its children, and after SIGKILL returns
// when the children have ended. PostgreSQL's children lead groups of their
// own, so that a signal to the parent's group would not reach them.
func signalFamily(pid int, s syscall.Signal) error {
	if s != cont { // held, the parent starts no more children, and cleans up after none
		if err := syscall.Kill(pid, stop); err != nil {
			return err
		}
	}
	children, err := childrenOf(pid)
	if err != nil {
		return err
	}
	for _, one := range append(children, pid) {
		if err := syscall.Kill(one, s); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	for s == syscall.SIGKILL && slices.ContainsFunc(children, lives) {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// lives reports whether a process has not ended.
func lives(pid int) bool {
	state, _, err := stat(pid)
	return err == nil && state != "Z"
}

// stat reads a process's state and its parent.
func stat(pid int) (state string, parent int, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	// "PID (NAME) STATE PARENT …", where NAME may hold anything.
	_, err = fmt.Sscan(string(data[bytes.LastIndexByte(data, ')')+1:]), &state, &parent)
	return state, parent, err
}

// childrenOf returns who has this parent.
func childrenOf(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // no process
		}
		if _, parent, err := stat(child); err == nil && parent == pid {
			out = append(out, child)
		}
	}
	return out, nil
}

// exclusive waits until no other process holds the file.
func exclusive(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }
