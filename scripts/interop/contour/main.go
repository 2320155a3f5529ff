// Command contour puts definitions of kinds onto an API server, waits until they are served, and creates further objects. It stands beside
// the module's tool, which is Contour itself.
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
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		fmt.Fprintln(flag.CommandLine.Output(), "usage: contour -kubeconfig FILE OBJECTS.yaml...")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := create(ctx, *kubeconfig, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "contour:", err)
		os.Exit(1)
	}
}

// create puts every object of the files there, in their order.
func create(ctx context.Context, kubeconfig string, files []string) error {
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
		objects, err := read(file)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		for _, object := range objects {
			if err := put(ctx, api, object); err != nil {
				return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
			}
		}
	}
	return nil
}

// read has the objects of a file.
func read(path string) ([]*unstructured.Unstructured, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case object.GetName() != "":
			objects = append(objects, object)
		}
	}
}

// put creates an object. A definition is waited for until it is established.
func put(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	if object.GetKind() != "CustomResourceDefinition" {
		// An API server takes a moment to serve what was just defined.
		return wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) {
			err := api.Create(ctx, object)
			return err == nil, client.IgnoreNotFound(ignoreUnknown(err))
		})
	}
	definition := &apiextensions.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return err
	}
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

// ignoreUnknown leaves out that a kind is not served yet.
func ignoreUnknown(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
