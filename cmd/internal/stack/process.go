package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// ErrNotOurs is returned where a part that was running already is to be
// started, ended or paused.
var ErrNotOurs = errors.New("this part was named by the environment: it runs already, and is not ours to start or end")

// Program is what a Process runs.
type Program struct {
	Path string
	Args []string
	Env  []string // beside this process's own, NAME=VALUE
	Log  string   // file to which its output is appended
	User string   // the user it runs as; "": this one
	// Answers reports nil once the program does what it is for. nil: at once.
	Answers func(context.Context) error
	// Finish is the signal that ends it in good order; 0: SIGTERM.
	Finish syscall.Signal
}

// Process runs a program, again and again if need be. It may be used
// concurrently.
type Process struct {
	program Program

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
}

// NewProcess returns a process that has not been started.
func NewProcess(p Program) *Process {
	if p.Finish == 0 {
		p.Finish = syscall.SIGTERM
	}
	return &Process{program: p}
}

// Start starts the program and waits until it answers. Where it ends instead,
// the error brings the end of its log.
func (p *Process) Start(ctx context.Context) error {
	ended, err := p.spawn()
	if err != nil || p.program.Answers == nil {
		return err
	}
	for {
		last := p.program.Answers(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("%s has ended instead of starting:\n%s", p.program.Path, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w (%w):\n%s", p.program.Path, last, ctx.Err(), p.tail())
		default:
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (p *Process) spawn() (ended <-chan struct{}, err error) {
	attributes, err := attributesOf(p.program.User)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(p.program.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(p.program.Path, p.program.Args...)
	cmd.Env = append(os.Environ(), p.program.Env...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attributes
	cmd.Dir = "/"

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return nil, fmt.Errorf("%s runs already", p.program.Path)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	p.cmd, p.ended = cmd, done
	go p.reap(cmd, done)
	return done, nil
}

// reap waits for the end of the program, whoever brings it about.
func (p *Process) reap(cmd *exec.Cmd, done chan struct{}) {
	_ = cmd.Wait() // how it ended is in its log
	p.mu.Lock()
	p.cmd = nil
	p.mu.Unlock()
	close(done)
}

// running returns the program's process id, or 0, and what is closed at its
// end.
func (p *Process) running() (pid int, ended <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0, nil
	}
	return p.cmd.Process.Pid, p.ended
}

// PID is the program's process id, or 0 while it does not run.
func (p *Process) PID() int {
	pid, _ := p.running()
	return pid
}

// Kill ends the program and its children at once, with SIGKILL, and returns
// when they have ended.
func (p *Process) Kill() error {
	pid, ended := p.running()
	if pid == 0 {
		return nil
	}
	if err := signalFamily(pid, syscall.SIGKILL); err != nil {
		return err
	}
	<-ended
	return nil
}

// Stop lets the program end in good order, and kills it where ctx ends first.
func (p *Process) Stop(ctx context.Context) error {
	pid, ended := p.running()
	if pid == 0 {
		return nil
	}
	if err := syscall.Kill(pid, p.program.Finish); err != nil {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Kill())
	}
}

// Pause holds the program and its children, with SIGSTOP.
func (p *Process) Pause() error { return p.signal(stop) }

// Resume lets a paused program go on.
func (p *Process) Resume() error { return p.signal(cont) }

func (p *Process) signal(s syscall.Signal) error {
	pid, _ := p.running()
	if pid == 0 {
		return fmt.Errorf("%s does not run", p.program.Path)
	}
	return signalFamily(pid, s)
}

// Log returns what the program has written so far.
func (p *Process) Log() string {
	data, err := os.ReadFile(p.program.Log)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// tail is the end of the log.
func (p *Process) tail() string {
	lines := bytes.Split(bytes.TrimSpace([]byte(p.Log())), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-15):], []byte("\n")))
}
