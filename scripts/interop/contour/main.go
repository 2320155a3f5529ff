// Command contour puts definitions of kinds onto an API server, and waits until they are served. It stands beside the module's tool, which
// is Contour itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// How long an API server may take to serve what is defined, and how often it is asked.
const (
	patience = time.Minute
	pause    = 100 * time.Millisecond
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "where the API server is")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: contour -kubeconfig FILE DEFINITIONS.yaml...")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := define(ctx, *kubeconfig, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "contour:", err)
		os.Exit(1)
	}
}

// define puts every definition of the files there.
func define(ctx context.Context, kubeconfig string, files []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensions.AddToScheme(scheme); err != nil {
		return err
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("reaching the API server: %w", err)
	}
	for _, file := range files {
		definitions, err := read(file)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		for _, definition := range definitions {
			if err := serve(ctx, api, definition); err != nil {
				return fmt.Errorf("defining %s: %w", definition.Name, err)
			}
		}
	}
	return nil
}

// read has the definitions of a file.
func read(path string) ([]*apiextensions.CustomResourceDefinition, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	var definitions []*apiextensions.CustomResourceDefinition
	for {
		definition := &apiextensions.CustomResourceDefinition{}
		switch err := decoder.Decode(definition); {
		case errors.Is(err, io.EOF):
			return definitions, nil
		case err != nil:
			return nil, err
		case definition.Name != "":
			definitions = append(definitions, definition)
		}
	}
}

// serve creates a definition, and waits until it is established.
func serve(ctx context.Context, api client.Client, definition *apiextensions.CustomResourceDefinition) error {
	if err := api.Create(ctx, definition); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) {
		if err := api.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return false, err
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensions.Established {
				return condition.Status == apiextensions.ConditionTrue, nil
			}
		}
		return false, nil
	})
}
