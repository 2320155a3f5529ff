// Package services has what Services get from elsewhere: answers for their names, and addresses for those of type LoadBalancer.
package services

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Command serves both for a cluster.
func Command() *cobra.Command {
	var kubeconfig, listen, network string
	command := &cobra.Command{
		Use:   "services",
		Short: "Answer for the names of Services, and give addresses to those of type LoadBalancer",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			prefix, err := netip.ParsePrefix(network)
			if err != nil {
				return fmt.Errorf("--addresses: %w", err)
			}
			return serve(command.Context(), kubeconfig, listen, prefix)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "the cluster")
	command.Flags().StringVar(&listen, "listen", "", "where to be asked for names, `ADDRESS:PORT`")
	command.Flags().StringVar(&network, "addresses", "", "the `NETWORK` that addresses are from")
	for _, needed := range []string{"kubeconfig", "listen", "addresses"} {
		if err := command.MarkFlagRequired(needed); err != nil {
			panic(err)
		}
	}
	return command
}

func serve(ctx context.Context, kubeconfig, listen string, network netip.Prefix) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	services := factory.Core().V1().Services()
	slices := factory.Discovery().V1().EndpointSlices()
	pool := &pool{client: client, services: services.Lister(), network: network}
	changed := make(chan struct{}, 1)
	if _, err := services.Informer().AddEventHandler(notify(changed)); err != nil {
		return err
	}
	names := &names{services: services.Lister()}
	if err := names.index(slices.Informer()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	ended := make(chan error, 2)
	go func() { ended <- names.serve(ctx, listen, "udp") }()
	go func() { ended <- names.serve(ctx, listen, "tcp") }()
	// What a write failed at is tried again without a change.
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-changed:
		case <-again.C:
		}
		pool.give(ctx)
	}
}
