// Command speed runs the same requests against the embedded API server and a real kube-apiserver, in turn, and prints a
// table.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

const usage = `Usage: speed --embedded FILE --real FILE [flags]

Starts "gateproof testbed --no-controller" and a real kube-apiserver twice, with etcd on tmpfs and on disk; sends all of
them the same requests in turns, over TLS and connections that are kept; prints a table of medians. Figures mean
something on an idle machine and with a release build only.

`

func main() {
	embedded := flag.String("embedded", "", "the gateproof `FILE`, a release build")
	real := flag.String("real", "", "the `FILE` that scripts/interop/real-apiserver --build-only made")
	tmpfs := flag.String("tmpfs", "/dev/shm", "a `DIR` on tmpfs for etcd")
	disk := flag.String("disk", ".", "a `DIR` on disk for etcd")
	rounds := flag.Int("rounds", 3, "how often everything is measured")
	creates := flag.Int("creates", 500, "how many objects a round creates, by one client and by ten at once")
	writes := flag.Int("writes", 50, "how many writes a round makes for each number of watchers")
	listed := flag.Int("listed", 5000, "how many objects there are to list")
	asJSON := flag.Bool("json", false, "print JSON instead of a table")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if *embedded == "" || *real == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	plan := plan{rounds: *rounds, creates: *creates, writes: *writes, listed: *listed}
	columns, err := compare(plan, *embedded, *real, *tmpfs, *disk)
	if err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
	if *asJSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(columns); err != nil {
			fmt.Fprintln(os.Stderr, "speed:", err)
			os.Exit(1)
		}
		return
	}
	printTable(columns)
}

func compare(plan plan, embedded, real, tmpfs, disk string) (columns []*column, err error) {
	scratch, err := os.MkdirTemp("", "gateproof-speed-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	onDisk, err := os.MkdirTemp(disk, "gateproof-speed-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(onDisk)
	inMemory, err := os.MkdirTemp(tmpfs, "gateproof-speed-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(inMemory)
	config := func(name string) string { return filepath.Join(scratch, name) }
	columns = []*column{
		{Server: "embedded", config: config("e"), command: exec.Command(embedded, "testbed", "--no-controller", "--kubeconfig", config("e"))},
		{Server: "real, tmpfs", config: config("t"), command: exec.Command(real, "--kubeconfig", config("t"), "--etcd-dir", inMemory)},
		{Server: "real, disk", config: config("d"), command: exec.Command(real, "--kubeconfig", config("d"), "--etcd-dir", onDisk)},
	}
	// Ctrl-C reaches the servers by itself; they end, the requests fail, and what was made is removed.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	for _, column := range columns {
		defer column.stop()
		if err := column.start(); err != nil {
			return nil, fmt.Errorf("%s: %w", column.Server, err)
		}
	}
	for round := range plan.rounds {
		for _, step := range steps {
			for i := range columns {
				// Each goes first in turn.
				column := columns[(i+round)%len(columns)]
				if err := step(column, plan, round); err != nil {
					return nil, fmt.Errorf("%s, round %d: %w", column.Server, round+1, err)
				}
			}
		}
	}
	return columns, nil
}
