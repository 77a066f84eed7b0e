package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

var (
	proofOut   = flag.String("proof.out", "", "folder for what TestRealProof and its like find out: tables, numbers and pictures")
	proofStory = flag.Duration("proof.story", 150*time.Second, "how long TestRealProof's story may take, and some 50 s more: on a machine with little else to do it is half of that")
)

// The times of the tiers that are tried. A node that is killed is started again
// within its grace.
const proofTimes = "grace: 30s, debounce: 500ms, ask_every: 500ms, window: "

const proofUseCases = `  - {name: conform-row, table: freshet_conform_rows, bound: 1s}
  - {name: conform-value, table: freshet_conform_rows, column: val, bound: 250ms}
  - {name: conform-alias, table: freshet_conform_rows, key: [alias], column: val, bound: 250ms}
  - {name: conform-small, table: freshet_conform_rows, column: val, bound: 2s, max_bytes: 1MiB}
`

// proof is a database and a broker with what nodes and a run of freshet conform
// need there, and a relay.
type proof struct {
	t           *testing.T
	settings    string
	environment []string
}

func newProof(t *testing.T) *proof {
	t.Helper()
	p, k := stacktest.Postgres(t, stack.PG15), stacktest.Kafka(t, nil)
	pr := &proof{t: t, environment: []string{"DATABASE=" + p.URL("", "")}, settings: fmt.Sprintf(`
source: {postgres: {url: "${DATABASE}"}}
stream: {kafka: {brokers: [%q], topic: changes}}
relay: {partitions: 4, checkpoint_interval: 50ms, admin: %q}
use_cases:
%s%s`, k.Address(), address(t), guestUseCase, proofUseCases)}
	stacktest.Exec(t, p, "CREATE PUBLICATION freshet WITH (publish_via_partition_root = true)")
	stacktest.Exec(t, p, guestTable...)
	stacktest.Exec(t, p, "ALTER PUBLICATION freshet ADD TABLE guests")
	setup := pr.freshet(pr.file("setup.yaml", ""), "conform", "--print-sql")
	for statement := range strings.SplitSeq(setup, ";") {
		if strings.TrimSpace(statement) != "" {
			stacktest.Exec(t, p, statement)
		}
	}
	relay := newTier(t, p, k, guestUseCase+proofUseCases)
	relay.set("checkpoint_interval: 50ms")
	relay.begin(relay.relay)
	return pr
}

// file writes a configuration, with more than the settings of all.
func (pr *proof) file(name, more string) string {
	pr.t.Helper()
	path := filepath.Join(pr.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(pr.settings+more), 0o600); err != nil {
		pr.t.Fatal(err)
	}
	return path
}

func (pr *proof) command(file, command string, args ...string) *exec.Cmd {
	pr.t.Helper()
	path, err := binary()
	if err != nil {
		pr.t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{command, "--config", file}, args...)...)
	cmd.Env = append(os.Environ(), pr.environment...)
	return cmd
}

func (pr *proof) freshet(file, command string, args ...string) (stdout string) {
	pr.t.Helper()
	out, err := pr.command(file, command, args...).Output()
	if err != nil {
		pr.t.Fatalf("freshet %s: %v", command, err)
	}
	return string(out)
}

// keep writes something to the folder of findings, if there is one.
func keep(t *testing.T, name, text string) {
	t.Helper()
	if *proofOut == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*proofOut, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// story is a run of freshet conform that goes on while a tier lives: to the run
// it is one fault, which begins and ends with two files.
type story struct {
	*proof
	dir    string
	run    *exec.Cmd
	said   bytes.Buffer
	ended  chan error
	guests *guests
	misses *misses
	*processes
}

// checked begins the run, and returns once its first, quiet seconds are over.
func (s *story) checked() {
	t := s.proof.t
	t.Helper()
	more := fmt.Sprintf(`conform:
  rows: 1000
  writers: 2
  readers: 1
  faults:
    - {name: the story, target: tier, for: %v, begin: touch %[2]s/begun, end: "for i in $(seq 250); do test -e %[2]s/over && exit; sleep 0.2; done; exit 1"}
  nodes:
`, *proofStory, s.dir)
	for _, name := range s.names {
		more += fmt.Sprintf("    - {name: %s, listen: %q, admin: %q}\n", name, s.nodes[name].forwards, s.nodes[name].admin)
	}
	s.run = s.command(s.file("conform.yaml", more), "conform", "--out", filepath.Join(s.dir, "out"), "--seed", "1", "--duration", (*proofStory + time.Minute).String())
	s.run.Stdout, s.run.Stderr = &s.said, &s.said
	if err := s.run.Start(); err != nil {
		t.Fatal(err)
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.run.Wait() }()
	t.Cleanup(func() { _ = s.run.Process.Kill() }) // if the test has ended before it
	s.await("the story begins", func() bool {
		select {
		case err := <-s.ended:
			t.Fatalf("the run has ended: %v\n%s", err, &s.said)
		default:
		}
		_, err := os.Stat(filepath.Join(s.dir, "begun"))
		return err == nil
	})
}

// verdict ends the story, waits for the run, and returns what it found.
func (s *story) verdict() *check.Verdict {
	t := s.proof.t
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "over"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-s.ended // the verdict says how it ended
	var v check.Verdict
	data, err := os.ReadFile(filepath.Join(s.dir, "out", "report.json"))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatalf("no verdict: %v\n%s", err, &s.said)
	}
	return &v
}

// enter begins a phase of the story.
func (s *story) enter(phase string) {
	s.proof.t.Logf("%s: %s", time.Now().Format(time.TimeOnly), phase)
	s.guests.enter(phase)
	s.misses.mark(phase)
}

// The phases of the story. But in one of them nothing goes wrong, and no client
// is to see an error.
const (
	inTwoLeave = "two leave"
	inSteady   = "five nodes"
	inRolling  = "rolling restart"
	inCrash    = "kill -9"
	inJoins    = "two join"
	inLeaving  = "one leaves"
	inEnding   = "six nodes"
)

// Five nodes as processes over a real database and broker, started again one
// by one, one killed; two join, ten seconds apart, and one leaves. Programs by
// two clients read all the while and count, and so does freshet conform, which
// judges.
func TestRealProof(t *testing.T) {
	stacktest.Need(t)
	pr := newProof(t)
	all := []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7"}
	s := &story{proof: pr, dir: t.TempDir(), processes: newProcesses(t, pr.settings, proofTimes+"8s", pr.environment, all...)}
	s.begin(all...)
	s.agree(all...)
	s.checked()
	s.guests, s.misses = newGuests(t, s.processes), s.watch()
	begun := time.Now()
	s.live(all)
	s.misses.mark("the end")
	s.guests.end()
	s.misses.end()
	t.Logf("the story took %v", time.Since(begun).Round(time.Second))
	v := s.verdict()
	t.Logf("freshet conform: %s\n%s", v.Result, &s.said)
	t.Logf("\n%s", s.guests.table())
	keep(t, "story.md", fmt.Sprintf("%s\n```\n%s```\n", s.guests.table(), &s.said))
	keep(t, "story.csv", s.misses.numbers())
	keep(t, "story.svg", s.misses.picture("Share of reads that were fills, over the story", 0.25))
	if v.Result == check.Violated {
		t.Errorf("violated: %+v", v.Violations)
	}
	s.judge()
}

// live is the story.
func (s *story) live(all []string) {
	five, six, seven := all[:5], all[5], all[6]
	s.enter(inTwoLeave) // both are there for the run to ask at its begin
	s.leave(six)
	s.leave(seven)
	s.agree(five...)
	s.enter(inSteady)
	time.Sleep(8 * time.Second)
	s.enter(inRolling)
	for _, name := range five {
		s.leave(name)
		s.begin(name)
		s.agree(five...)
	}
	s.enter(inCrash)
	if err := s.nodes[five[2]].Kill(); err != nil {
		s.proof.t.Fatal(err)
	}
	time.Sleep(5 * time.Second) // until it is replaced
	s.begin(five[2])
	s.agree(five...)
	s.enter(inJoins)
	s.begin(six)
	time.Sleep(10 * time.Second) // as asked
	s.begin(seven)
	s.agree(all...)
	s.enter(inLeaving)
	s.leave(five[1])
	rest := append([]string{five[0]}, all[2:]...)
	s.agree(rest...)
	s.enter(inEnding)
	time.Sleep(3 * time.Second)
}

// judge fails the test for what guests saw and were not to see.
func (s *story) judge() {
	t := s.proof.t
	t.Helper()
	for phase, kinds := range s.guests.seen {
		for kind, c := range kinds {
			switch {
			case c.reads == 0:
				t.Errorf("%s, %s: nothing was read", phase, kind)
			case c.wrong > 0:
				t.Errorf("%s, %s: %d wrong answers", phase, kind, c.wrong)
			case c.longest > 2*guestTimeout: // with the retries of the client
				t.Errorf("%s, %s: a request took %v", phase, kind, c.longest)
			case c.failed > 0 && phase != inCrash:
				t.Errorf("%s, %s: %d of %d failed: %v", phase, kind, c.failed, c.reads, c.says)
			case c.last.Sub(c.first) > guestTimeout:
				t.Errorf("%s, %s: requests failed for %v, which is more than what was in flight: %v", phase, kind, c.last.Sub(c.first), c.says)
			}
		}
	}
}
