package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// common are the flags of every verb that runs suites.
type common struct {
	suites Suites
	work   string
}

func (c *common) register(flags *flag.FlagSet) {
	flags.StringVar(&c.suites.Gateproof, "gateproof", "", "the program `FILE`")
	flags.StringVar(&c.suites.Upstream, "suite", "", "the test binary of upstream's suite, a `FILE`")
	flags.StringVar(&c.suites.Definitions, "definitions", "", "the definitions of Gateway API that the testbed serves, a `FILE`")
	flags.StringVar(&c.suites.Timeouts, "timeouts", "", "options `FILE` for upstream's suite; ours takes --timing embedded then; none: both as on a cluster")
	flags.StringVar(&c.work, "work", "", "`DIR` for kubeconfigs, logs and reports; a temporary one unless given")
}

// directory is where things are kept, made if there is none.
func (c *common) directory() (string, error) {
	if c.suites.Gateproof == "" || c.suites.Upstream == "" {
		return "", errors.New("-gateproof and -suite are needed; the scripts beside this program set them")
	}
	return workDirectory(c.work)
}

// workDirectory is the one that is named, or a temporary one, made if there is none.
func workDirectory(named string) (string, error) {
	if named == "" {
		return os.MkdirTemp("", "gateproof-upstream-")
	}
	return named, os.MkdirAll(named, 0o700)
}

// run runs upstream's suite once, and ours beside it if asked.
func run(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	var common common
	common.register(flags)
	fault := flags.String("fault", "", "`NAME` of a fault of the reference; none: as the specification asks")
	only := flags.String("test", "", "run this one test of upstream's, by its short `NAME`")
	beside := flags.Bool("beside", false, "run our scenarios too, on a testbed of their own")
	list := flags.String("expected", "", "`FILE` of the tests that do not run or fail, and why; anything else is a failure")
	repeat := flags.Int("repeat", 1, "run everything so many times, alternating")
	times := flags.String("times", "", "write what each run came to into this JSON `FILE`")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	work, err := common.directory()
	if err != nil {
		return err
	}
	type pair struct {
		Upstream Outcome  `json:"upstream"`
		Ours     *Outcome `json:"ours,omitempty"`
	}
	var pairs []pair
	var failed []string
	var expected *Expected
	// Of one test, or under a fault, everything else is to be expected.
	if *list != "" && *only == "" && *fault == "" {
		read, err := readExpected(*list)
		if err != nil {
			return err
		}
		expected = &read
	}
	for range *repeat {
		log := filepath.Join(work, "upstream.log")
		var pair pair
		var tests []Test
		err := withTestbed(ctx, common.suites, work, *fault, func(testbed *Testbed) (err error) {
			pair.Upstream, tests, err = common.suites.runUpstream(ctx, testbed.target(), log, false, *only)
			return err
		})
		if err != nil {
			return err
		}
		if err := printTests(os.Stdout, tests); err != nil {
			return err
		}
		printOutcome(os.Stdout, "upstream", pair.Upstream)
		fmt.Println("log:", log)
		if expected == nil {
			failed = append(failed, pair.Upstream.Failed...)
		} else {
			failed = append(failed, expected.surprises(tests)...)
		}
		if *beside {
			err := withTestbed(ctx, common.suites, work, *fault, func(testbed *Testbed) error {
				ours, err := common.suites.runOurs(ctx, testbed, work, nil, nil)
				pair.Ours = &ours
				return err
			})
			if err != nil {
				return err
			}
			printOutcome(os.Stdout, "gateproof", *pair.Ours)
			failed = append(failed, pair.Ours.Failed...)
		}
		pairs = append(pairs, pair)
	}
	if *times != "" {
		text, err := json.MarshalIndent(pairs, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(*times, append(text, '\n'), 0o600); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

// withTestbed lends a fresh testbed.
func withTestbed(ctx context.Context, suites Suites, work, fault string, use func(*Testbed) error) error {
	dir, err := os.MkdirTemp(work, "testbed-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	testbed, err := startTestbed(ctx, suites, dir, fault)
	if err != nil {
		return err
	}
	return errors.Join(use(testbed), testbed.stop())
}
