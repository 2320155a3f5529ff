package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestWhatIsNotListedIsASurpriseAndSoIsWhatIsListedAndPasses(t *testing.T) {
	expected := Expected{
		NotRun: []Group{{Why: "no meshes", Tests: []string{"Skipped", "Runs", "Gone"}}},
		Fails:  []Group{{Why: "a known mistake", Tests: []string{"Fails", "Passes"}}, {Tests: []string{"Again"}}},
	}
	got := expected.surprises([]Test{
		{Name: "Skipped", Action: "skip"}, {Name: "Fails", Action: "fail"}, {Name: "Fine", Action: "pass"},
		{Name: "Runs", Action: "pass"}, {Name: "Passes", Action: "pass"}, {Name: "Unlisted", Action: "skip"},
		{Name: "Broken", Action: "fail"}, {Name: "Again", Action: "fail"},
	})
	want := []string{
		"Broken: fail, where pass is expected",
		"Gone: listed, and the suite has no such test",
		"Passes: pass, where fail is expected",
		"Runs: pass, where skip is expected",
		"Unlisted: skip, where pass is expected",
		"[Again]: no reason is given",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheListIsOfTheReleaseThatIsRun(t *testing.T) {
	for release, modules := range map[string]string{"v1.6.3": "v1.6.3.mod", "v1.7.0": "go.mod"} {
		expected, err := readExpected("expected/" + release + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		module, err := os.ReadFile(modules)
		if err != nil {
			t.Fatal(err)
		}
		if expected.Release != release || !strings.Contains(string(module), "sigs.k8s.io/gateway-api/conformance "+release+"\n") {
			t.Errorf("%s: the list is of %s", modules, expected.Release)
		}
	}
}
