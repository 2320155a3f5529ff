// Command client-go runs real Kubernetes clients against an API server and says of each thing that they do whether it works.
//
// Nothing in it knows which server it talks to. A check that fails on a real kube-apiserver is wrong itself.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

const usage = `Usage: client-go --kubeconfig FILE [flags] [CHECK...]

Runs client-go, controller-runtime and the Gateway API types against the API server of a kubeconfig, as controllers use
them, and prints one line a check. CHECK is a name or a glob; without one, all run. Everything is made in namespaces
with names of their own and taken away again.

Exit codes: 0 all passed, 1 a check failed, 2 usage, 3 the server cannot be reached.

`

// check is one thing that clients do.
type check struct {
	name  string
	about string
	run   func(ctx context.Context, e *env) error
}

// result is what came of a check, as --json prints it.
type result struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Passed bool   `json:"passed"`
	Error  string `json:"error,omitempty"`
	Millis int64  `json:"milliseconds"`
}

func main() {
	// A set of its own, since a library that is linked in defines --kubeconfig too.
	flags := flag.NewFlagSet("client-go", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig `FILE` of the server")
	crds := flags.String("crds", "", "apply the CustomResourceDefinitions in this `DIR` first, where they are not there")
	asJSON := flags.Bool("json", false, "print a JSON array instead of lines")
	list := flags.Bool("list", false, "print the names of the checks, and what they are about")
	bytes := flags.Bool("print-protobuf", false, "print bodies in protobuf as hex, each with the same in JSON")
	timeout := flags.Duration("timeout", 30*time.Second, "limit of one check")
	verbose := flags.Bool("v", false, "print what the client libraries log")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	_ = flags.Parse(os.Args[1:])

	if *bytes {
		if err := printBytes(os.Stdout); err != nil {
			fail(2, err)
		}
		return
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		fail(2, err)
	}
	if *list {
		for _, c := range chosen {
			fmt.Printf("%-28s %s\n", c.name, c.about)
		}
		return
	}
	if *kubeconfig == "" {
		flags.Usage()
		os.Exit(2)
	}
	if *verbose {
		ctrl.SetLogger(klog.Background())
	} else {
		klog.SetLogger(logr.Discard())
		ctrl.SetLogger(logr.Discard())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := prepare(ctx, *kubeconfig, *crds); err != nil {
		fail(3, err)
	}

	results := []result{}
	failed := 0
	for _, c := range chosen {
		r := runOne(ctx, *kubeconfig, c, *timeout)
		results = append(results, r)
		if !r.Passed {
			failed++
		}
		if !*asJSON {
			printLine(r)
		}
		if ctx.Err() != nil {
			fail(130, ctx.Err())
		}
	}
	if *asJSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(results); err != nil {
			fail(2, err)
		}
	} else {
		fmt.Printf("%d passed, %d failed\n", len(results)-failed, failed)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func choose(patterns []string) ([]check, error) {
	if len(patterns) == 0 {
		return checks, nil
	}
	var chosen []check
	for _, pattern := range patterns {
		found := false
		for _, c := range checks {
			fits, err := path.Match(pattern, c.name)
			if err != nil {
				return nil, fmt.Errorf("%q is no glob: %w", pattern, err)
			}
			if fits {
				chosen, found = append(chosen, c), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no check is named %q; --list prints them", pattern)
		}
	}
	return chosen, nil
}

func runOne(ctx context.Context, kubeconfig string, c check, timeout time.Duration) (r result) {
	r = result{Name: c.name, About: c.about}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if panicked := recover(); panicked != nil {
			r.Error = fmt.Sprintf("panic: %v", panicked)
		}
		r.Passed = r.Error == ""
		r.Millis = time.Since(start).Milliseconds()
	}()
	e, err := newEnv(ctx, kubeconfig, c.name)
	if err == nil {
		err = c.run(ctx, e)
		if left := e.clean(); err == nil {
			err = left
		}
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func printLine(r result) {
	if r.Passed {
		fmt.Printf("ok    %-28s %5d ms\n", r.Name, r.Millis)
		return
	}
	fmt.Printf("FAIL  %-28s %5d ms  %s\n", r.Name, r.Millis, r.About)
	for line := range strings.SplitSeq(r.Error, "\n") {
		fmt.Printf("      %s\n", line)
	}
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "client-go:", err)
	os.Exit(code)
}
