package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// Line is what a suite made of a fault.
type Line struct {
	Fault string `json:"fault"`
	Suite string `json:"suite"`
	Outcome
}

// The suites, as lines name them.
const (
	upstreams = "upstream"
	ours      = "gateproof"
)

// Fault is a fault of the reference.
type Fault struct {
	Name    string   `json:"name"`
	Clauses []string `json:"clauses"`
}

// The plain reference, on which nothing may fail.
const plain = "none"

// job is one suite under one fault.
type job struct {
	fault Fault
	suite string
}

// faults runs both suites under every fault, each on a fresh testbed, and appends one line for each to a file.
func faults(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("faults", flag.ExitOnError)
	var common common
	common.register(flags)
	output := flags.String("o", "faults.jsonl", "`FILE` of one JSON line a fault and suite; what it has already is not run again")
	parallel := flags.Int("parallel", 2, "runs at once")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	work, err := common.directory()
	if err != nil {
		return err
	}
	all, err := allFaults(ctx, common.suites.Gateproof)
	if err != nil {
		return err
	}
	chosen, err := choose(append([]Fault{{Name: plain}}, all...), flags.Args())
	if err != nil {
		return err
	}
	done, err := readLines(*output)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(*output, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return inParallel(*parallel, jobs(chosen, done), func(job job) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		outcome, err := job.run(ctx, common.suites, work)
		if err != nil {
			return fmt.Errorf("%s under %s: %w", job.suite, job.fault.Name, err)
		}
		text, err := json.Marshal(Line{Fault: job.fault.Name, Suite: job.suite, Outcome: outcome})
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s under %s: %v\n", job.suite, job.fault.Name, outcome.Failed)
		// One write a line, so that lines of several runs do not mix.
		_, err = file.Write(append(text, '\n'))
		return err
	})
}

// choose returns the named faults, or all.
func choose(all []Fault, names []string) ([]Fault, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Fault
	for _, name := range names {
		at := slices.IndexFunc(all, func(fault Fault) bool { return fault.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no fault %q; `gateproof list faults` shows all", name)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// jobs are the runs that have no line yet. One that was unsteady comes again.
func jobs(faults []Fault, done []Line) []job {
	var left []job
	for _, fault := range faults {
		for _, suite := range []string{upstreams, ours} {
			if line, found := find(done, fault.Name, suite); !found || line.Unsteady {
				left = append(left, job{fault, suite})
			}
		}
	}
	return left
}

// find returns the last line of a fault and suite.
func find(lines []Line, fault, suite string) (Line, bool) {
	for _, line := range slices.Backward(lines) {
		if line.Fault == fault && line.Suite == suite {
			return line, true
		}
	}
	return Line{}, false
}

func (j job) run(ctx context.Context, suites Suites, work string) (outcome Outcome, err error) {
	dir := filepath.Join(work, j.fault.Name+"-"+j.suite)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return outcome, err
	}
	fault, clauses := j.fault.Name, j.fault.Clauses
	if fault == plain {
		fault = ""
	}
	if j.suite == ours {
		scenarios := func(only []string) (outcome Outcome, err error) {
			err = withTestbed(ctx, suites, dir, fault, func(testbed *Testbed) (err error) {
				outcome, err = suites.runOurs(ctx, testbed, dir, clauses, only)
				return err
			})
			return outcome, err
		}
		if fault == "" {
			return innocent(scenarios)
		}
		// Only what breaks one of these clauses counts, so what names one comes first; rules of the contract state clauses too.
		if outcome, err := scenarios(clauses); err == nil && outcome.Noticed {
			return outcome, nil
		}
		return scenarios(nil)
	}
	return confirmed(func(only string) (outcome Outcome, err error) {
		err = withTestbed(ctx, suites, dir, fault, func(testbed *Testbed) (err error) {
			outcome, _, err = suites.runUpstream(ctx, testbed.target(), filepath.Join(dir, "upstream.log"), true, only)
			return err
		})
		return outcome, err
	})
}

// innocent runs our scenarios on the plain reference, which declares no clauses. What fails has to fail alone too.
func innocent(run func(only []string) (Outcome, error)) (Outcome, error) {
	outcome, err := run(nil)
	if err != nil || !outcome.Noticed {
		return outcome, err
	}
	again, err := run(outcome.Failed)
	outcome.Failed, outcome.Noticed = again.Failed, again.Noticed
	return outcome, err
}

// How often a suite is run whole before what fails each time another way is called unsteady.
const attempts = 3

// confirmed runs a suite. What failed first is run again alone, and if it passes then, because it takes what other tests
// leave behind or because the machine was busy, the suite once more. Only a failure that comes again has noticed anything.
func confirmed(run func(only string) (Outcome, error)) (Outcome, error) {
	var before, outcome Outcome
	for range attempts {
		var err error
		outcome, err = run("")
		if err != nil || !outcome.Noticed || outcome.shares(before) {
			return outcome, err
		}
		if name, one := outcome.alone(); one {
			again, err := run(name)
			if err != nil || again.Noticed {
				return outcome, err
			}
		}
		before.Failed = append(before.Failed, outcome.Failed...)
	}
	outcome.Noticed, outcome.Unsteady = false, true
	return outcome, nil
}

// inParallel does something with every job, a few at once, and goes on after errors.
func inParallel(limit int, jobs []job, do func(job) error) error {
	queue := make(chan job)
	var mutex sync.Mutex
	var problems []error
	var workers sync.WaitGroup
	for range max(limit, 1) {
		workers.Go(func() {
			for next := range queue {
				if err := do(next); err != nil {
					mutex.Lock()
					problems = append(problems, err)
					mutex.Unlock()
				}
			}
		})
	}
	for _, next := range jobs {
		queue <- next
	}
	close(queue)
	workers.Wait()
	return errors.Join(problems...)
}

func allFaults(ctx context.Context, gateproof string) ([]Fault, error) {
	text, err := exec.CommandContext(ctx, gateproof, "list", "faults", "--format", "json").Output()
	if err != nil {
		return nil, fmt.Errorf("listing faults: %w", err)
	}
	var all []Fault
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading the list of faults: %w", err)
	}
	return all, nil
}

// readLines reads what an earlier run has written, if there is anything.
func readLines(path string) ([]Line, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var lines []Line
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var line Line
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		lines = append(lines, line)
	}
	return lines, scanner.Err()
}
