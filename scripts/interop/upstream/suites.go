package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Suites is where the programs are.
type Suites struct {
	Gateproof string
	// The test binary of upstream's suite.
	Upstream string
	// The definitions of the release that the suite is of.
	Definitions string
	// Options file of upstream's suite; none for its defaults.
	Timeouts string
}

// Exit codes of `gateproof run`.
const (
	codePassed       = 0
	codeFailed       = 1
	codeInconclusive = 3
)

// Target is what upstream's suite is run against.
type Target struct {
	Kubeconfig   string
	GatewayClass string
	// Addresses that a Gateway can get and cannot; where there is none the test of addresses is told of none.
	Usable, Unusable string
	// What is asked for; none: what the GatewayClass claims.
	Claims *Claims
}

// Outcome is what a suite came to.
type Outcome struct {
	Noticed bool `json:"noticed"`
	// Another test failed each time, so that nothing is known.
	Unsteady bool `json:"unsteady,omitempty"`
	// What failed first, in the order of ends.
	Failed  []string `json:"failed"`
	Passed  int      `json:"passed"`
	Skipped int      `json:"skipped,omitempty"`
	Seconds float64  `json:"seconds"`
}

// alone is the test that failed first, unless what failed cannot be run alone.
func (o Outcome) alone() (string, bool) {
	if len(o.Failed) == 0 || o.Failed[0] == setup {
		return "", false
	}
	return o.Failed[0], true
}

// shares says whether a test failed in both.
func (o Outcome) shares(other Outcome) bool {
	return slices.ContainsFunc(o.Failed, func(name string) bool { return slices.Contains(other.Failed, name) })
}

// The name of what comes before the first test of upstream's.
const setup = "setup"

// Test is what became of one test of upstream's.
type Test struct {
	Name    string
	Action  string
	Seconds float64
}

// event is a line of the Go test runner.
type event struct {
	Action  string
	Test    string
	Elapsed float64
	Output  string
}

// runUpstream runs upstream's suite. With firstOnly it ends at the first failure. The log of the tests goes to log.
func (s Suites) runUpstream(ctx context.Context, target Target, log string, firstOnly bool, only string) (Outcome, []Test, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args := []string{
		"tool", "test2json", "-t", s.Upstream, "-test.v=test2json", "-test.timeout=30m",
		"-gateway-class", target.GatewayClass,
		"-usable-address", target.Usable, "-unusable-address", target.Unusable,
	}
	args = append(args, target.Claims.arguments()...)
	if s.Timeouts != "" {
		args = append(args, "-conformance-options-file", s.Timeouts)
	}
	if only != "" {
		args = append(args, "-run-test", only)
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+target.Kubeconfig)
	// The runner and the test binary are one group, so that both end when the first failure is enough.
	command.SysProcAttr = ownGroup()
	command.Cancel = func() error { return endGroup(command.Process) }
	output, err := command.StdoutPipe()
	if err != nil {
		return Outcome{}, nil, err
	}
	file, err := os.Create(log)
	if err != nil {
		return Outcome{}, nil, err
	}
	defer file.Close()
	command.Stderr = file
	start := time.Now()
	if err := command.Start(); err != nil {
		return Outcome{}, nil, fmt.Errorf("starting upstream's suite: %w", err)
	}
	tally, err := read(output, file, func() bool {
		if firstOnly {
			cancel()
		}
		return firstOnly
	})
	seconds := time.Since(start).Seconds()
	// Its exit code says what the lines have said, or that it was ended here.
	waited := command.Wait()
	if err != nil {
		return Outcome{}, nil, err
	}
	outcome := tally.outcome()
	outcome.Seconds = seconds
	if !outcome.Noticed && waited != nil {
		return Outcome{}, nil, fmt.Errorf("upstream's suite ended without a failed test: %w; see %s", waited, log)
	}
	return outcome, tally.tests, nil
}

// read takes the lines of the runner in, until it ends or onFailure says that the first failure is enough.
func read(lines interface{ Read([]byte) (int, error) }, log *os.File, onFailure func() bool) (*tally, error) {
	tally := &tally{}
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var line event
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("reading a line of the test runner: %w", err)
		}
		if _, err := log.WriteString(line.Output); err != nil {
			return nil, err
		}
		tally.take(line)
		if line.Action == "fail" && onFailure() {
			return tally, nil
		}
	}
	return tally, scanner.Err()
}

// tally counts upstream's tests: those one below TestConformance.
type tally struct {
	tests []Test
	// A failure above or below a test, for runs that end before the test itself does.
	first string
}

func (t *tally) take(line event) {
	if line.Action != "pass" && line.Action != "fail" && line.Action != "skip" {
		return
	}
	_, below, deeper := strings.Cut(line.Test, "/")
	name, _, part := strings.Cut(below, "/")
	if deeper && !part {
		t.tests = append(t.tests, Test{Name: name, Action: line.Action, Seconds: line.Elapsed})
	}
	if line.Action == "fail" && t.first == "" {
		// A failure of the whole without one of a test is one of the setup.
		t.first = name
		if name == "" {
			t.first = setup
		}
	}
}

func (t *tally) outcome() Outcome {
	var outcome Outcome
	for _, test := range t.tests {
		switch test.Action {
		case "pass":
			outcome.Passed++
		case "skip":
			outcome.Skipped++
		case "fail":
			outcome.Failed = append(outcome.Failed, test.Name)
		}
	}
	if len(outcome.Failed) == 0 && t.first != "" {
		outcome.Failed = []string{t.first}
	}
	outcome.Noticed = len(outcome.Failed) > 0
	return outcome
}

// runOurs runs our scenarios on the same kind of testbed. With clauses, only what breaks one of these has
// noticed something; with names, only these scenarios run.
func (s Suites) runOurs(ctx context.Context, testbed *Testbed, dir string, clauses, only []string) (Outcome, error) {
	reports := filepath.Join(dir, "report")
	args := []string{
		"run", "--kubeconfig", testbed.Kubeconfig, "--gateway-class", testbed.GatewayClass, "--allow-cluster-changes",
		"--single-gateway-class", testbed.GatewayClass + "-single", "--backend-address", "127.0.0.1",
		"--usable-address", testbed.usableAddress(),
		// A faulty target is to be judged, however little of it works.
		"--skip-preflight",
		"--dial", testbed.DialRule, "--report-dir", reports,
	}
	if s.Timeouts != "" {
		args = append(args, "--timing", "embedded")
	}
	command := exec.CommandContext(ctx, s.Gateproof, append(args, only...)...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	start := time.Now()
	err := command.Run()
	seconds := time.Since(start).Seconds()
	code := command.ProcessState.ExitCode()
	if code != codePassed && code != codeFailed && code != codeInconclusive {
		return Outcome{}, fmt.Errorf("our run ended without a verdict: %w\n%s", err, said.String())
	}
	found, err := readRecord(filepath.Join(reports, "record.json"))
	if err != nil && !(code == codeInconclusive && errors.Is(err, os.ErrNotExist)) {
		return Outcome{}, err
	}
	// What is inconclusive blames nobody, so it has noticed nothing.
	outcome := found.outcome(clauses)
	outcome.Seconds = seconds
	return outcome, nil
}
