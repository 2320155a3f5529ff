package main

import (
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// Expected says what of upstream's suite does not pass, and why.
type Expected struct {
	// The release of the suite that this is true of.
	Release string  `json:"release"`
	NotRun  []Group `json:"notRun"`
	Fails   []Group `json:"fails"`
}

// Group is tests of one fate for one reason.
type Group struct {
	Why   string   `json:"why"`
	Tests []string `json:"tests"`
}

// readExpected reads a file. What it does not know is an error.
func readExpected(file string) (Expected, error) {
	var expected Expected
	text, err := os.ReadFile(file)
	if err != nil {
		return expected, err
	}
	if err := yaml.UnmarshalStrict(text, &expected); err != nil {
		return expected, fmt.Errorf("%s: %w", file, err)
	}
	return expected, nil
}

// surprises says what came otherwise: tests whose fate is not listed, and entries that are not true.
func (e Expected) surprises(tests []Test) []string {
	listed := map[string]string{}
	var wrong []string
	for fate, groups := range map[string][]Group{"skip": e.NotRun, "fail": e.Fails} {
		for _, group := range groups {
			if group.Why == "" {
				wrong = append(wrong, fmt.Sprintf("%v: no reason is given", group.Tests))
			}
			for _, test := range group.Tests {
				if listed[test] != "" {
					wrong = append(wrong, test+": listed twice")
				}
				listed[test] = fate
			}
		}
	}
	for _, test := range tests {
		fate := listed[test.Name]
		delete(listed, test.Name)
		if fate == "" {
			fate = "pass"
		}
		if fate != test.Action {
			wrong = append(wrong, fmt.Sprintf("%s: %s, where %s is expected", test.Name, test.Action, fate))
		}
	}
	for test := range listed {
		wrong = append(wrong, test+": listed, and the suite has no such test")
	}
	slices.Sort(wrong)
	return wrong
}
