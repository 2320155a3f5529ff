package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func tallied(t *testing.T, firstOnly bool, lines ...string) Outcome {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	tally, err := read(strings.NewReader(strings.Join(lines, "\n")), log, func() bool { return firstOnly })
	if err != nil {
		t.Fatal(err)
	}
	return tally.outcome()
}

const (
	passes    = `{"Action":"pass","Test":"TestConformance/A","Elapsed":1.5}`
	skips     = `{"Action":"skip","Test":"TestConformance/B"}`
	part      = `{"Action":"fail","Test":"TestConformance/C/1_request"}`
	partPass  = `{"Action":"pass","Test":"TestConformance/C/0_request"}`
	whole     = `{"Action":"fail","Test":"TestConformance/C"}`
	suite     = `{"Action":"fail","Test":"TestConformance"}`
	suitePass = `{"Action":"pass","Test":"TestConformance"}`
	output    = `{"Action":"output","Test":"TestConformance/C","Output":"--- FAIL: x\n"}`
)

func TestTestsAreCountedOnceAndPartsNot(t *testing.T) {
	for _, example := range []struct {
		name            string
		lines           []string
		firstOnly       bool
		passed, skipped int
		failed          []string
	}{
		{"well", []string{passes, skips, partPass, suitePass}, false, 1, 1, nil},
		{"a test fails", []string{passes, part, output, whole, suite}, false, 1, 0, []string{"C"}},
		{"the first failure is enough", []string{passes, part, whole, suite}, true, 1, 0, []string{"C"}},
		{"the setup fails", []string{suite}, false, 0, 0, []string{"setup"}},
	} {
		outcome := tallied(t, example.firstOnly, example.lines...)
		if outcome.Passed != example.passed || outcome.Skipped != example.skipped || !slices.Equal(outcome.Failed, example.failed) {
			t.Errorf("%s: %+v", example.name, outcome)
		}
		if outcome.Noticed != (len(example.failed) > 0) {
			t.Errorf("%s: noticed is %v", example.name, outcome.Noticed)
		}
	}
}

func TestATableNeedsEveryFaultAndAnInnocentReference(t *testing.T) {
	noticed := Outcome{Noticed: true, Failed: []string{"x"}}
	both := func(fault string, upstream, own Outcome) []Line {
		return []Line{{fault, upstreams, upstream}, {fault, ours, own}}
	}
	lines := slices.Concat(both(plain, Outcome{}, Outcome{}), both("a", noticed, noticed), both("b", Outcome{}, noticed))
	document, err := summarize(lines, []Fault{{Name: "b"}, {Name: "a"}})
	if err != nil || document.Faults != 2 || document.Upstream != 1 || document.Ours != 2 {
		t.Errorf("%+v, %v", document, err)
	}
	if document.Table[0].Fault != "a" || document.Table[1].Upstream != "" {
		t.Errorf("%+v", document.Table)
	}
	for _, example := range []struct {
		name, expected string
		lines          []Line
		faults         []Fault
	}{
		{"a missing fault", "no steady line of gateproof under c", lines, []Fault{{Name: "c"}}},
		{"an unsteady line", "no steady line of upstream under a", append(lines, Line{"a", upstreams, Outcome{Unsteady: true}}), []Fault{{Name: "a"}}},
		{"a reference that fails", "plain reference", append(lines, Line{plain, ours, noticed}), nil},
	} {
		if _, err := summarize(example.lines, example.faults); err == nil || !strings.Contains(err.Error(), example.expected) {
			t.Errorf("%s: %v", example.name, err)
		}
	}
}

func TestOnlyBrokenClausesCount(t *testing.T) {
	var found record
	text := `{
		"scenarios": [
			{"name": "good", "outcome": "passed"},
			{"name": "left-out", "outcome": "skipped"},
			{"name": "declared", "outcome": "failed", "findings": [{"severity": "failure", "clauses": ["A", "B"]}]},
			{"name": "warned", "outcome": "failed", "findings": [{"severity": "warning", "clauses": ["B"]}, {"severity": "failure", "clauses": ["C"]}]},
			{"name": "elsewhere", "outcome": "late", "findings": [{"severity": "failure", "clauses": ["C"]}]}
		],
		"contract": [
			{"name": "contract/kept", "severity": "failure", "clauses": ["B"]},
			{"name": "contract/broken", "severity": "failure", "clauses": ["B"], "breaches": [{}]},
			{"name": "contract/warned", "severity": "warning", "clauses": ["B"], "breaches": [{}]}
		]
	}`
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	outcome := found.outcome([]string{"B"})
	if !slices.Equal(outcome.Failed, []string{"declared", "contract/broken"}) || outcome.Passed != 1 || outcome.Skipped != 1 {
		t.Errorf("%+v", outcome)
	}
	if all := found.outcome(nil); len(all.Failed) != 4 {
		t.Errorf("%+v", all)
	}
	if none := found.outcome([]string{"D"}); none.Noticed {
		t.Errorf("%+v", none)
	}
}

func TestAFailureCountsOnlyIfItComesAgain(t *testing.T) {
	fails := func(names ...string) Outcome { return Outcome{Noticed: len(names) > 0, Failed: names} }
	for _, example := range []struct {
		name              string
		runs              []Outcome
		noticed, unsteady bool
	}{
		{"nothing fails", []Outcome{fails()}, false, false},
		{"it fails alone too", []Outcome{fails("a"), fails("a")}, true, false},
		{"it fails only after others", []Outcome{fails("a"), fails(), fails("a")}, true, false},
		{"it came from elsewhere", []Outcome{fails("a"), fails(), fails()}, false, false},
		{"another one comes again", []Outcome{fails("a"), fails(), fails("b"), fails("b")}, true, false},
		{"each time another", []Outcome{fails("a"), fails(), fails("b"), fails(), fails("c"), fails()}, false, true},
		{"the setup fails twice", []Outcome{fails(setup), fails(setup)}, true, false},
		{"the setup fails once", []Outcome{fails(setup), fails()}, false, false},
	} {
		runs := example.runs
		outcome, err := confirmed(func(string) (Outcome, error) {
			next := runs[0]
			runs = runs[1:]
			return next, nil
		})
		if err != nil || outcome.Noticed != example.noticed || outcome.Unsteady != example.unsteady || len(runs) > 0 {
			t.Errorf("%s: %+v, %v, %d runs left", example.name, outcome, err, len(runs))
		}
	}
}

func TestThePlainReferenceIsGivenASecondChance(t *testing.T) {
	for _, again := range []bool{false, true} {
		runs := []Outcome{{Noticed: true, Failed: []string{"a", "b"}}, {Noticed: again, Failed: []string{"b"}}}
		outcome, err := innocent(func(only []string) (Outcome, error) {
			if wanted := []string{"a", "b"}; len(runs) == 1 && !slices.Equal(only, wanted) {
				t.Errorf("%v run again instead of %v", only, wanted)
			}
			next := runs[0]
			runs = runs[1:]
			return next, nil
		})
		if err != nil || outcome.Noticed != again {
			t.Errorf("%+v, %v", outcome, err)
		}
	}
}
