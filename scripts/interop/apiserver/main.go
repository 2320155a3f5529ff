// Command apiserver runs a real kube-apiserver with its etcd in one process, on loopback, and writes a kubeconfig.
//
// Two controllers run beside it, since the API server alone neither collects garbage nor empties namespaces.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "write a kubeconfig for this server to `FILE` (mode 0600)")
	etcdDir := flags.String("etcd-dir", "", "keep etcd's data below `DIR` (default: a temporary directory); what is made there is removed at the end")
	dualStack := flags.Bool("dual-stack", false, "have addresses of both families for Services")
	showVersion := flags.Bool("version", false, "print the version of kube-apiserver and end")
	verbose := flags.Bool("verbose", false, "show the server's own log")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Usage: apiserver --kubeconfig FILE [--etcd-dir DIR] [--dual-stack] [--verbose]")
		fmt.Fprintln(flags.Output(), "Runs a real kube-apiserver with etcd on loopback until Ctrl-C.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	if *showVersion {
		fmt.Println(version.Get().GitVersion)
		return nil
	}
	if *kubeconfig == "" {
		return errors.New("--kubeconfig FILE is missing: name the file for the kubeconfig")
	}
	quiet(!*verbose)

	dir, err := os.MkdirTemp("", "gateproof-apiserver-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	etcd, err := startEtcd(dir, *etcdDir)
	if err != nil {
		return fmt.Errorf("cannot start etcd: %w", err)
	}
	defer etcd.stop()

	// The API server outlives the controllers, and etcd the API server: each asks the next one to the end.
	serverContext, stopServer := context.WithCancel(context.Background())
	defer stopServer()
	server, err := startServer(serverContext, dir, etcd.endpoint, *dualStack)
	if err != nil {
		return fmt.Errorf("cannot start kube-apiserver: %w", err)
	}
	if err := server.waitReady(ctx); err != nil {
		return err
	}
	controllers, stopControllers := context.WithCancel(context.Background())
	defer stopControllers()
	if err := startControllers(controllers, server.config()); err != nil {
		return fmt.Errorf("cannot start the controllers: %w", err)
	}
	if err := server.writeKubeconfig(*kubeconfig); err != nil {
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	defer os.Remove(*kubeconfig)
	fmt.Printf("kube-apiserver %s on %s, kubeconfig %s; Ctrl-C ends it\n", version.Get().GitVersion, server.url, *kubeconfig)

	select {
	case <-ctx.Done():
	case err := <-server.ended:
		return fmt.Errorf("kube-apiserver ended: %w", err)
	}
	stopControllers()
	stopServer()
	<-server.ended
	return nil
}
