//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A run that is interrupted, or killed, at any moment leaves no process behind,
// and one that is interrupted no folder but that of the report.
func TestConformIsEnded(t *testing.T) {
	// What nohup has ignored stays so for those that are started, unless it is caught here.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		after  []time.Duration
	}{
		{"interrupted", syscall.SIGINT, []time.Duration{0, 50 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond, 4 * time.Second}},
		{"hung up", syscall.SIGHUP, []time.Duration{400 * time.Millisecond}},
		{"killed", syscall.SIGKILL, []time.Duration{100 * time.Millisecond, 3 * time.Second}},
	} {
		for _, after := range c.after {
			t.Run(c.name+" after "+after.String(), func(t *testing.T) {
				out, temporary := filepath.Join(t.TempDir(), "out"), t.TempDir()
				cmd := exec.Command(os.Args[0], "conform", "--embedded", "--duration", "5s", "--seed", "1", "--faults", "kill,freeze", "--out", out)
				cmd.Env = append(os.Environ(), asFreshet+"=1", "TMPDIR="+temporary)
				var said bytes.Buffer
				cmd.Stdout, cmd.Stderr = &said, &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				for !alive(t, out) && time.Since(begun) < time.Minute { // it obeys signals once it runs
					time.Sleep(time.Millisecond)
				}
				time.Sleep(after)
				if err := cmd.Process.Signal(c.signal); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Wait(); err == nil {
					t.Errorf("it says that all is well: %s", &said)
				}
				for alive(t, out) {
					if time.Since(begun) > 2*time.Minute {
						t.Fatal("processes are left behind")
					}
					time.Sleep(10 * time.Millisecond)
				}
				if c.signal == syscall.SIGKILL {
					return
				}
				scratch, _ := filepath.Glob(filepath.Join(out, "freshet-scratch-*"))
				left, err := os.ReadDir(temporary)
				if err != nil || len(left)+len(scratch) > 0 {
					t.Errorf("left behind: %v, %v, %v", left, scratch, err)
				}
			})
		}
	}
}

// alive reports whether a process was called with that folder.
func alive(t *testing.T, folder string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(path string) bool {
		line, err := os.ReadFile(path) // it may have ended
		return err == nil && strings.Contains(string(line), folder)
	})
}
