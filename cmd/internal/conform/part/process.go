package part

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// patience is how long a process may take to serve, to carry out an order and
// to end: also on a machine that is busy with other things.
const patience = 60 * time.Second

// Process is one part of the deployment, started any number of times. What it
// is told, one tells it at a time; where it serves may be asked by all.
type Process struct {
	name string
	exe  string
	args func(life uint64) []string // of its command line
	logs string                     // file to which its errors go
	way  *stack.Forwarder           // by which other nodes reach it; nil: none do

	mu      sync.Mutex
	life    uint64
	address string // "": it is down
	admin   string

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// NewProcess returns a process that has not been started: that of a program
// with arguments for each of its lives, whose errors go to the file logs.
func NewProcess(name, exe, logs string, args func(life uint64) []string) *Process {
	return &Process{name: name, exe: exe, logs: logs, args: args}
}

// Name is what it is called.
func (p *Process) Name() string { return p.name }

// Start starts it and waits until it serves.
func (p *Process) Start(ctx context.Context) error {
	logs, err := os.OpenFile(p.logs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logs.Close()
	p.mu.Lock()
	p.life++
	cmd := exec.Command(p.exe, p.args(p.life)...)
	p.mu.Unlock()
	cmd.Stderr = logs
	own(cmd)
	if p.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.cmd = cmd
	line, err := p.answer(ctx)
	address, rest, ok := strings.Cut(strings.TrimPrefix(line, "serves "), " ")
	admin, peers, _ := strings.Cut(rest, " ")
	if err != nil || !ok {
		return errors.Join(fmt.Errorf("%s does not start; %s says why: %q, %w", p.name, p.logs, line, err), p.Kill())
	}
	p.mu.Lock()
	if p.way != nil {
		p.way.To(peers)
	}
	p.address, p.admin = address, admin
	p.mu.Unlock()
	return nil
}

// answer reads one line, or kills the process that does not say any.
func (p *Process) answer(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { p.cmd.Process.Kill() })
	defer stop()
	line, err := p.out.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// tell gives an order and waits until it is carried out.
func (p *Process) tell(ctx context.Context, order string) error {
	if _, err := io.WriteString(p.in, order+"\n"); err != nil {
		return fmt.Errorf("tell %s to %s: %w", p.name, order, err)
	}
	switch line, err := p.answer(ctx); {
	case err != nil:
		return fmt.Errorf("tell %s to %s: %w", p.name, order, err)
	case line == ErrNotThere.Error():
		return fmt.Errorf("tell %s to %s: %w", p.name, order, ErrNotThere)
	case line != "done":
		return fmt.Errorf("tell %s to %s: %s", p.name, order, line)
	}
	return nil
}

// Kill ends it at once, as a power cut would.
func (p *Process) Kill() error {
	p.down()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.wait()
}

func (p *Process) down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address, p.admin = "", ""
}

// wait takes in how it ended; that it was killed is no error here.
func (p *Process) wait() error {
	err := p.cmd.Wait()
	p.in.Close()
	p.cmd = nil
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// End lets it end in good order.
func (p *Process) End() error {
	if p.cmd == nil {
		return nil
	}
	p.down()
	if err := p.in.Close(); err != nil {
		return errors.Join(err, p.Kill())
	}
	t := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer t.Stop()
	err := p.cmd.Wait()
	p.cmd = nil
	if err != nil {
		err = fmt.Errorf("%s did not end well; %s says why: %w", p.name, p.logs, err)
	}
	return err
}

// Where tells where it serves, and which of its lives this is.
func (p *Process) Where() (address, admin string, life uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address, p.admin, p.life
}
