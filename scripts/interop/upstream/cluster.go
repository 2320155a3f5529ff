package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	conformance "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/yaml"
)

// Claims is what an implementation says of itself: what is asked of it, where its GatewayClass does not say.
type Claims struct {
	Profiles []string
	// Extended features; those of the core come with the profiles.
	Features []string
}

// readClaims reads a ConformanceReport. What it does not know is an error.
func readClaims(file string) (*Claims, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var report conformance.ConformanceReport
	if err := yaml.UnmarshalStrict(text, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if report.Kind != "ConformanceReport" || len(report.ProfileReports) == 0 {
		return nil, fmt.Errorf("%s is no ConformanceReport with a profile: its kind is %q", file, report.Kind)
	}
	var claims Claims
	for _, profile := range report.ProfileReports {
		claims.Profiles = append(claims.Profiles, profile.Name)
		if profile.Extended != nil {
			claims.Features = append(claims.Features, profile.Extended.SupportedFeatures...)
		}
	}
	slices.Sort(claims.Features)
	claims.Features = slices.Compact(claims.Features)
	return &claims, nil
}

// arguments are the flags of upstream's suite that ask for the same.
func (c *Claims) arguments() []string {
	if c == nil {
		return nil
	}
	arguments := []string{"-conformance-profiles", strings.Join(c.Profiles, ",")}
	if len(c.Features) > 0 {
		arguments = append(arguments, "-supported-features", strings.Join(c.Features, ","))
	}
	return arguments
}

// cluster runs upstream's suite once against a GatewayClass of a cluster that is there.
func cluster(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("cluster", flag.ExitOnError)
	var suites Suites
	var target Target
	flags.StringVar(&suites.Upstream, "suite", "", "the test binary of upstream's suite, a `FILE`")
	flags.StringVar(&suites.Timeouts, "timeouts", "", "options `FILE` for upstream's suite; none: its defaults")
	flags.StringVar(&target.Kubeconfig, "kubeconfig", "", "the cluster, a `FILE`")
	flags.StringVar(&target.GatewayClass, "gateway-class", "", "the `NAME` of the GatewayClass")
	flags.StringVar(&target.Usable, "usable-address", "", "an `ADDRESS` that a Gateway can get, for GatewayStaticAddresses")
	flags.StringVar(&target.Unusable, "unusable-address", "", "an `ADDRESS` or a name that no Gateway can get, for GatewayStaticAddresses")
	report := flags.String("features-from", "", "the ConformanceReport whose features are asked for, a `FILE`; none: those that the GatewayClass claims")
	only := flags.String("test", "", "run this one test, by its short `NAME`")
	work := flags.String("work", "", "`DIR` for the log; a temporary one unless given")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("there is no argument %s; see --help", flags.Arg(0))
	}
	if suites.Upstream == "" || target.Kubeconfig == "" || target.GatewayClass == "" {
		return errors.New("-suite, -kubeconfig and -gateway-class are needed")
	}
	if *report != "" {
		claims, err := readClaims(*report)
		if err != nil {
			return err
		}
		target.Claims = claims
	}
	directory, err := workDirectory(*work)
	if err != nil {
		return err
	}
	log := filepath.Join(directory, "upstream.log")
	fmt.Println("log:", log)
	outcome, tests, err := suites.runUpstream(ctx, target, log, false, *only)
	if err != nil {
		return err
	}
	if err := printTests(os.Stdout, tests); err != nil {
		return err
	}
	printOutcome(os.Stdout, "upstream", outcome)
	if outcome.Noticed {
		return fmt.Errorf("failed: %s", strings.Join(outcome.Failed, ", "))
	}
	return nil
}
