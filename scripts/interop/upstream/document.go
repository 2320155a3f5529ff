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

// Document is the committed table: what each suite noticed, and how long both took on the plain reference.
type Document struct {
	Faults   int `json:"faults"`
	Upstream int `json:"noticedByUpstream"`
	Ours     int `json:"noticedByGateproof"`
	// On the plain reference; nothing fails there.
	Plain Line  `json:"plain"`
	Table []Row `json:"table"`
}

// Row is one fault: the first failure of each suite, empty where it was not noticed.
type Row struct {
	Fault    string `json:"fault"`
	Upstream string `json:"upstream"`
	Ours     string `json:"gateproof"`
}

// table turns lines into the document, and refuses if faults are missing or the plain reference fails.
func table(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("table", flag.ExitOnError)
	gateproof := flags.String("gateproof", "", "the program `FILE`")
	input := flags.String("i", "faults.jsonl", "`FILE` of one JSON line a fault")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	lines, err := readLines(*input)
	if err != nil {
		return err
	}
	names, err := faultNames(ctx, *gateproof)
	if err != nil {
		return err
	}
	document, err := summarize(lines, names)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

func summarize(lines []Line, names []string) (Document, error) {
	var document Document
	var problems []error
	find := func(name string) (Line, bool) {
		at := slices.IndexFunc(lines, func(line Line) bool { return line.Fault == name })
		if at < 0 {
			problems = append(problems, fmt.Errorf("there is no line of %s", name))
			return Line{}, false
		}
		return lines[at], true
	}
	if line, found := find(plain); found {
		document.Plain = line
		if line.Upstream.Noticed || line.Ours.Noticed {
			problems = append(problems, errors.New("something failed on the plain reference, so failures prove nothing"))
		}
	}
	for _, name := range names {
		line, found := find(name)
		if !found {
			continue
		}
		document.Faults++
		if line.Upstream.Unsteady || line.Ours.Unsteady {
			problems = append(problems, fmt.Errorf("what failed under %s was never the same: take its line out and run it again", name))
		}
		row := Row{Fault: name}
		if line.Upstream.Noticed {
			document.Upstream++
			row.Upstream = line.Upstream.Failed[0]
		}
		if line.Ours.Noticed {
			document.Ours++
			row.Ours = first(line.Ours.Failed)
		}
		document.Table = append(document.Table, row)
	}
	slices.SortFunc(document.Table, func(a, b Row) int { return cmp.Compare(a.Fault, b.Fault) })
	return document, errors.Join(problems...)
}

func first(names []string) string {
	if len(names) == 0 {
		return "noticed"
	}
	return names[0]
}
