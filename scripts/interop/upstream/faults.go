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

// Line is what both suites made of one fault.
type Line struct {
	Fault    string  `json:"fault"`
	Upstream Outcome `json:"upstream"`
	Ours     Outcome `json:"ours"`
}

// The line of the plain reference, on which nothing may fail.
const plain = "none"

// faults runs both suites under every fault, each on a fresh testbed, and appends one line a fault to a file.
func faults(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("faults", flag.ExitOnError)
	var common common
	common.register(flags)
	output := flags.String("o", "faults.jsonl", "`FILE` of one JSON line a fault; faults that it has already are not run again")
	parallel := flags.Int("parallel", 2, "faults at once")
	every := flags.Bool("all-failures", false, "go on after the first failure")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	work, err := common.directory()
	if err != nil {
		return err
	}
	names, err := faultNames(ctx, common.suites.Gateproof)
	if err != nil {
		return err
	}
	names = append([]string{plain}, names...)
	if flags.NArg() > 0 {
		for _, name := range flags.Args() {
			if !slices.Contains(names, name) {
				return fmt.Errorf("there is no fault %q; `gateproof list faults` shows all", name)
			}
		}
		names = flags.Args()
	}
	done, err := readLines(*output)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(done, func(line Line) bool { return line.Fault == name })
	})
	file, err := os.OpenFile(*output, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return inParallel(*parallel, names, func(name string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := underFault(ctx, common.suites, work, name, !*every)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text, err := json.Marshal(line)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: upstream %v, ours %v\n", name, line.Upstream.Failed, len(line.Ours.Failed))
		// One write a line, so that lines of several faults do not mix.
		_, err = file.Write(append(text, '\n'))
		return err
	})
}

// underFault runs both suites under a fault. A failure counts only if it is seen again: a busy machine makes tests fail
// that have noticed nothing.
func underFault(ctx context.Context, suites Suites, work, name string, firstOnly bool) (Line, error) {
	line := Line{Fault: name}
	fault := name
	if name == plain {
		fault = ""
	}
	dir := filepath.Join(work, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return line, err
	}
	upstream := func(only string) (outcome Outcome, err error) {
		err = withTestbed(ctx, suites, dir, fault, func(testbed *Testbed) (err error) {
			outcome, _, err = suites.runUpstream(ctx, testbed, filepath.Join(dir, "upstream.log"), firstOnly, only)
			return err
		})
		return outcome, err
	}
	ours := func(only string) (outcome Outcome, err error) {
		err = withTestbed(ctx, suites, dir, fault, func(testbed *Testbed) (err error) {
			outcome, err = suites.runOurs(ctx, testbed, dir, firstOnly, only)
			return err
		})
		return outcome, err
	}
	var err error
	if line.Upstream, err = confirmed(upstream); err != nil {
		return line, err
	}
	line.Ours, err = confirmed(ours)
	return line, err
}

// confirmed runs a suite. What failed first is run again alone, and if it passes then, because it takes what other tests
// leave behind, the suite once more. Only a failure that comes again has noticed anything; else the last run stands.
func confirmed(run func(only string) (Outcome, error)) (Outcome, error) {
	outcome, err := run("")
	if err != nil || !outcome.Noticed {
		return outcome, err
	}
	if name, one := outcome.alone(); one {
		again, err := run(name)
		if err != nil || again.Noticed {
			return outcome, err
		}
	}
	again, err := run("")
	if err != nil || !again.Noticed || again.shares(outcome) {
		return again, err
	}
	again.Noticed, again.Unsteady = false, true
	return again, nil
}

// inParallel does something with every name, a few at once, and goes on after errors.
func inParallel(limit int, names []string, do func(string) error) error {
	queue := make(chan string)
	var mutex sync.Mutex
	var problems []error
	var workers sync.WaitGroup
	for range max(limit, 1) {
		workers.Go(func() {
			for name := range queue {
				if err := do(name); err != nil {
					mutex.Lock()
					problems = append(problems, err)
					mutex.Unlock()
				}
			}
		})
	}
	for _, name := range names {
		queue <- name
	}
	close(queue)
	workers.Wait()
	return errors.Join(problems...)
}

func faultNames(ctx context.Context, gateproof string) ([]string, error) {
	text, err := exec.CommandContext(ctx, gateproof, "list", "faults", "--format", "json").Output()
	if err != nil {
		return nil, fmt.Errorf("listing faults: %w", err)
	}
	var entries []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("reading the list of faults: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	return names, nil
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
