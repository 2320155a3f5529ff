package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
)

// Document is the committed table: what each suite noticed.
type Document struct {
	Faults   int   `json:"faults"`
	Of       int   `json:"of,omitempty"` // all that there are, where some were left out
	Upstream int   `json:"noticedByUpstream"`
	Ours     int   `json:"noticedByGateproof"`
	Table    []Row `json:"table"`
}

// Row is one fault: the first failure of each suite, empty where it was not noticed.
type Row struct {
	Fault    string `json:"fault"`
	Upstream string `json:"upstream"`
	Ours     string `json:"gateproof"`
}

// table turns lines into the document, and refuses if runs are missing or the plain reference fails.
func table(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("table", flag.ExitOnError)
	gateproof := flags.String("gateproof", "", "the program `FILE`")
	input := flags.String("i", "faults.jsonl", "`FILE` of one JSON line a fault and suite")
	partial := flags.Bool("partial", false, "leave faults out that were not run")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	lines, err := readLines(*input)
	if err != nil {
		return err
	}
	all, err := allFaults(ctx, *gateproof)
	if err != nil {
		return err
	}
	of := 0
	if *partial {
		of = len(all)
		missing := jobs(all, lines)
		all = slices.DeleteFunc(all, func(fault Fault) bool {
			return slices.ContainsFunc(missing, func(job job) bool { return job.fault.Name == fault.Name })
		})
	}
	document, err := summarize(lines, all)
	if err != nil {
		return err
	}
	document.Of = of
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

func summarize(lines []Line, faults []Fault) (Document, error) {
	var document Document
	var problems []error
	for _, job := range jobs(append([]Fault{{Name: plain}}, faults...), lines) {
		problems = append(problems, fmt.Errorf("there is no steady line of %s under %s", job.suite, job.fault.Name))
	}
	for _, suite := range []string{upstreams, ours} {
		if line, _ := find(lines, plain, suite); line.Noticed {
			problems = append(problems, fmt.Errorf("%s failed on the plain reference (%v), so failures prove nothing", suite, line.Failed))
		}
	}
	for _, fault := range faults {
		upstream, _ := find(lines, fault.Name, upstreams)
		ours, _ := find(lines, fault.Name, ours)
		document.Faults++
		row := Row{Fault: fault.Name}
		if upstream.Noticed {
			document.Upstream++
			row.Upstream = upstream.Failed[0]
		}
		if ours.Noticed {
			document.Ours++
			row.Ours = ours.Failed[0]
		}
		document.Table = append(document.Table, row)
	}
	slices.SortFunc(document.Table, func(a, b Row) int { return cmp.Compare(a.Fault, b.Fault) })
	return document, errors.Join(problems...)
}
