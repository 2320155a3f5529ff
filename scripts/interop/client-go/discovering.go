package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
)

func discover(_ context.Context, e *env) error {
	told := func(legacy bool) (sets.Set[string], error) {
		client, err := discovery.NewDiscoveryClientForConfig(e.config)
		if err != nil {
			return nil, err
		}
		client.UseLegacyDiscovery = legacy
		_, lists, err := client.ServerGroupsAndResources()
		if err != nil {
			return nil, err
		}
		all := sets.New[string]()
		for _, list := range lists {
			for _, one := range list.APIResources {
				all.Insert(fmt.Sprintf("%s %s %s %v %v", list.GroupVersion, one.Name, one.Kind, one.Namespaced, one.Verbs))
			}
		}
		return all, nil
	}
	aggregated, err := told(false)
	if err != nil {
		return err
	}
	asked := e.wire.find(func(s sent) bool { return strings.Contains(s.answered, "as=APIGroupDiscoveryList") })
	legacy, err := told(true)
	if err != nil {
		return err
	}
	version, err := e.kube.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	var absent []error
	for _, wanted := range []string{"v1 services Service true", "apps/v1 deployments/scale Scale true", "coordination.k8s.io/v1 leases Lease true", "v1 serviceaccounts/token TokenRequest true"} {
		found := false
		for one := range aggregated {
			found = found || strings.HasPrefix(one, wanted)
		}
		if !found {
			absent = append(absent, fmt.Errorf("discovery does not tell of %s", wanted))
		}
	}
	return errors.Join(append(absent,
		expect("the number of aggregated answers", len(asked), 2),
		expect("what only one of both forms tells", fmt.Sprint(sets.List(aggregated.SymmetricDifference(legacy))), "[]"),
		expect("whether there is a version", strings.HasPrefix(version.GitVersion, "v1."), true),
	)...)
}

func openAPIV3(_ context.Context, e *env) error {
	paths, err := e.kube.Discovery().OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	var wrong []error
	for _, path := range []string{"api/v1", "apis/apps/v1", "apis/gateway.networking.k8s.io/v1"} {
		document, ok := paths[path]
		if !ok {
			wrong = append(wrong, fmt.Errorf("there is no document for %s", path))
			continue
		}
		text, err := document.Schema("application/json")
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", path, err))
			continue
		}
		for _, part := range []string{`"components"`, `"x-kubernetes-group-version-kind"`, `"paths"`} {
			if !strings.Contains(string(text), part) {
				wrong = append(wrong, fmt.Errorf("the document for %s has no %s", path, part))
			}
		}
	}
	return errors.Join(wrong...)
}

func openAPIV2(_ context.Context, e *env) error {
	document, err := e.kube.Discovery().OpenAPISchema()
	if err != nil {
		return err
	}
	kinds := sets.New[string]()
	for _, definition := range document.GetDefinitions().GetAdditionalProperties() {
		for _, extension := range definition.GetValue().GetVendorExtension() {
			if extension.GetName() == "x-kubernetes-group-version-kind" {
				kinds.Insert(definition.GetName())
			}
		}
	}
	return errors.Join(
		expect("whether it describes a Service", kinds.Has("io.k8s.api.core.v1.Service"), true),
		expect("whether it describes an HTTPRoute", kinds.Has("io.k8s.networking.gateway.v1.HTTPRoute"), true),
	)
}
