// Package conformance_test is upstream's conformance suite as a test binary of ours, so that its tests are counted by
// what the Go test runner says of each of them.
package conformance_test

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

// TestConformance runs upstream's suite. It takes the flags of upstream's own test binary, and the cluster from
// $KUBECONFIG.
func TestConformance(t *testing.T) {
	conformance.RunConformance(t)
}
