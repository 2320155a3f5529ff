// Command upstream runs upstream's conformance suite against `gateproof testbed`, once or under every fault, beside ours, or against a cluster.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `Runs upstream's conformance suite against ` + "`gateproof testbed`" + ` or a cluster. Called by the scripts beside it, and by node/run.

  upstream run      once, and ours beside it if asked; a table of tests and times
  upstream faults   under every fault of the reference, and ours beside it; one JSON line for each
  upstream table    the lines of that as one document
  upstream cluster  once, against a GatewayClass of a cluster that is there; a table of tests and times

Each takes --help.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	verbs := map[string]func(context.Context, []string) error{"run": run, "faults": faults, "table": table, "cluster": cluster}
	if len(os.Args) < 2 || verbs[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := verbs[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}
