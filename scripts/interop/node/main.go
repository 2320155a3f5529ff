// Command node is what a Kubernetes of one node consists of, in one program: it is what it is called.
//
// Called `etcd`, `kube-apiserver`, `kubelet` and so on it is that program, unmodified. Beside them it has what a cluster gets from
// elsewhere: images of local files, names for Services, and addresses for those of type LoadBalancer.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app/cmd"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"gateproof.dev/interop/node/image"
	"gateproof.dev/interop/node/services"

	// What component-base's own main functions of these commands have: formats of logs, and metrics of versions and clients.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

var commands = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kube-proxy":              func() *cobra.Command { return proxy.NewProxyCommand() },
	// Its context ends with signals elsewhere; one that installs a handler may be made once in a process, and the API server has.
	"kubelet": func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kubectl": kubectl.NewDefaultKubectlCommand,
	"kubeadm": func() *cobra.Command { return kubeadm.NewKubeadmCommand(os.Stdin, os.Stdout, os.Stderr) },
}

func main() {
	name := filepath.Base(os.Args[0])
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	if command, known := commands[name]; known {
		os.Exit(cli.Run(command()))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := own().ExecuteContext(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

// own are the commands of this program under its own name.
func own() *cobra.Command {
	names := []string{"etcd"}
	for name := range commands {
		names = append(names, name)
	}
	slices.Sort(names)
	root := &cobra.Command{
		Use:           "node",
		Short:         "Parts of a Kubernetes of one node; as a link of one of these names it is that program: " + strings.Join(names, ", "),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(image.Command(), services.Command(), &cobra.Command{
		Use:   "names",
		Short: "Print the names that it can be called by",
		Args:  cobra.NoArgs,
		Run:   func(*cobra.Command, []string) { fmt.Println(strings.Join(names, "\n")) },
	})
	return root
}
