package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// printTests prints one line for each test that ran, the slowest first, and how many there were.
func printTests(w io.Writer, tests []Test) error {
	tests = slices.Clone(tests)
	slices.SortStableFunc(tests, func(a, b Test) int { return cmp.Compare(b.Seconds, a.Seconds) })
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "test\tresult\tseconds")
	for _, test := range tests {
		if test.Action != "skip" {
			fmt.Fprintf(out, "%s\t%s\t%.2f\n", test.Name, test.Action, test.Seconds)
		}
	}
	return out.Flush()
}

// printOutcome prints what a suite came to, in one line.
func printOutcome(w io.Writer, suite string, outcome Outcome) {
	fmt.Fprintf(w, "%-10s %d passed, %d failed, %d skipped in %.1f s", suite, outcome.Passed, len(outcome.Failed), outcome.Skipped, outcome.Seconds)
	for _, name := range outcome.Failed {
		fmt.Fprintf(w, "\n           FAILED %s", name)
	}
	fmt.Fprintln(w)
}
