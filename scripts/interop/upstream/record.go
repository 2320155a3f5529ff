package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// finding is something that a run of ours did not see as expected.
type finding struct {
	Severity string   `json:"severity"`
	Clauses  []string `json:"clauses"`
}

// record is what a run of ours came to, as far as it is looked at here.
type record struct {
	Scenarios []struct {
		Name     string    `json:"name"`
		Outcome  string    `json:"outcome"`
		Findings []finding `json:"findings"`
	} `json:"scenarios"`
	Contract []struct {
		Name     string            `json:"name"`
		Clauses  []string          `json:"clauses"`
		Severity string            `json:"severity"`
		Breaches []json.RawMessage `json:"breaches"`
	} `json:"contract"`
}

func readRecord(path string) (record, error) {
	var found record
	text, err := os.ReadFile(path)
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return found, fmt.Errorf("reading %s: %w", path, err)
	}
	return found, nil
}

// outcome counts what failed. With clauses, a failure counts only if it is one of these: on a busy machine scenarios fail
// that have noticed nothing.
func (r record) outcome(clauses []string) Outcome {
	counts := func(broken []string) bool {
		return clauses == nil || slices.ContainsFunc(broken, func(clause string) bool { return slices.Contains(clauses, clause) })
	}
	var outcome Outcome
	for _, scenario := range r.Scenarios {
		fails := func(one finding) bool { return one.Severity == "failure" && counts(one.Clauses) }
		switch {
		case scenario.Outcome == "passed":
			outcome.Passed++
		case scenario.Outcome != "failed" && scenario.Outcome != "late":
			outcome.Skipped++
		case slices.ContainsFunc(scenario.Findings, fails):
			outcome.Failed = append(outcome.Failed, scenario.Name)
		}
	}
	for _, rule := range r.Contract {
		if rule.Severity == "failure" && len(rule.Breaches) > 0 && counts(rule.Clauses) {
			outcome.Failed = append(outcome.Failed, rule.Name)
		}
	}
	outcome.Noticed = len(outcome.Failed) > 0
	return outcome
}
