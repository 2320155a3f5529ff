// Command install puts Envoy Gateway into a cluster with the chart that comes with its module, and waits until it is there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
)

const namespace = "envoy-gateway-system"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	kubeconfig := flag.String("kubeconfig", "", "the cluster")
	charts := flag.String("charts", "", "the folder `charts` of Envoy Gateway's module")
	controller := flag.String("controller", "", "the image of Envoy Gateway")
	flag.Parse()
	for name, value := range map[string]string{"kubeconfig": *kubeconfig, "charts": *charts, "controller": *controller} {
		if value == "" {
			fmt.Fprintf(os.Stderr, "install: -%s is missing\n", name)
			os.Exit(2)
		}
	}
	if err := install(ctx, *kubeconfig, *charts, *controller); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func install(ctx context.Context, kubeconfig, charts, controller string) error {
	folder := filepath.Join(charts, "gateway-helm")
	chart, err := loader.LoadDir(folder)
	if err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	// Its own build fills in the values of a release; the module has them as they were before.
	template, err := os.ReadFile(filepath.Join(folder, "values.tmpl.yaml"))
	if err != nil {
		return fmt.Errorf("reading the chart's values: %w", err)
	}
	filled := strings.NewReplacer("${GatewayImage}", controller, "${GatewayImagePullPolicy}", "IfNotPresent").Replace(string(template))
	if chart.Values, err = chartutil.ReadValues([]byte(filled)); err != nil {
		return fmt.Errorf("the chart's values: %w", err)
	}
	settings := cli.New()
	settings.KubeConfig = kubeconfig
	settings.SetNamespace(namespace)
	// Its own 32 requests a second at a time are slow where there are 20 definitions.
	settings.BurstLimit, settings.QPS = 200, 100
	configuration := new(action.Configuration)
	quiet := func(string, ...any) {}
	if err := configuration.Init(settings.RESTClientGetter(), namespace, "secret", quiet); err != nil {
		return fmt.Errorf("reaching the cluster: %w", err)
	}
	if release, err := action.NewGet(configuration).Run("eg"); err == nil {
		fmt.Printf("%s is there already, as release %s\n", release.Chart.Name(), release.Name)
		return nil
	}
	step := action.NewInstall(configuration)
	step.ReleaseName, step.Namespace, step.CreateNamespace = "eg", namespace, true
	step.Wait, step.Timeout = true, 5*time.Minute
	if _, err := step.RunWithContext(ctx, chart, nil); err != nil {
		return errors.Join(errors.New("installing the chart"), err)
	}
	return nil
}
