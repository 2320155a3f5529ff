package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	head = "apiVersion: gateway.networking.k8s.io/v1\nkind: ConformanceReport\n"
	http = `
- name: GATEWAY-HTTP
  core: {result: success}
  extended: {result: success, supportedFeatures: [ListenerSet, HTTPRouteCORS], unsupportedFeatures: [GatewayPort8080]}
`
	tls = `
- name: GATEWAY-TLS
  core: {result: success}
  extended: {result: success, supportedFeatures: [ListenerSet]}
`
	grpc = `
- name: GATEWAY-GRPC
  core: {result: success}
`
)

func TestAReportSaysWhatIsAskedFor(t *testing.T) {
	for name, given := range map[string]struct {
		report   string
		expected []string
		refused  string
	}{
		"profiles and features of all, each once": {
			report:   head + "profiles:" + http + tls,
			expected: []string{"-conformance-profiles", "GATEWAY-HTTP,GATEWAY-TLS", "-supported-features", "HTTPRouteCORS,ListenerSet"},
		},
		"no feature beyond the core": {report: head + "profiles:" + grpc, expected: []string{"-conformance-profiles", "GATEWAY-GRPC"}},
		"no profile":                 {report: head, refused: "no ConformanceReport with a profile"},
		"something else":             {report: "kind: GatewayClass\nprofiles:" + grpc, refused: `its kind is "GatewayClass"`},
		"an unknown key":             {report: head + "profile: []\nprofiles:" + grpc, refused: `unknown field "profile"`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.yaml")
			if err := os.WriteFile(file, []byte(given.report), 0o600); err != nil {
				t.Fatal(err)
			}
			claims, err := readClaims(file)
			if given.refused != "" {
				if err == nil || !strings.Contains(err.Error(), given.refused) || !strings.Contains(err.Error(), file) {
					t.Errorf("refused with %v, expected %s", err, given.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if found := claims.arguments(); !slices.Equal(found, given.expected) {
				t.Errorf("%v, expected %v", found, given.expected)
			}
		})
	}
}

func TestWithoutAReportTheGatewayClassSays(t *testing.T) {
	if found := (Target{}).Claims.arguments(); len(found) > 0 {
		t.Errorf("it is told %v", found)
	}
}
