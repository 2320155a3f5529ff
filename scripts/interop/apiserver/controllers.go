package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

const (
	workers = 5
	// kube-controller-manager asks every 30 s which kinds there are; a test of a new kind cannot wait that long.
	kindsEvery = time.Second
)

// startControllers starts the garbage collector and the controller of namespaces. They end with ctx.
func startControllers(ctx context.Context, config *rest.Config) error {
	// They write under the name that they have in a real cluster.
	config = rest.CopyConfig(config)
	config.UserAgent = "kube-controller-manager"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(client.Discovery()))
	typed := informers.NewSharedInformerFactory(client, 0)
	all := informerfactory.NewInformerFactory(typed, metadatainformer.NewSharedInformerFactory(metadataClient, 0))
	started := make(chan struct{})

	ignored := make(map[schema.GroupResource]struct{})
	for resource := range garbagecollector.DefaultIgnoredResources() {
		ignored[resource] = struct{}{}
	}
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, metadataClient, mapper, ignored, all, started)
	if err != nil {
		return err
	}
	namespaces := namespace.NewNamespaceController(ctx, client, metadataClient,
		client.Discovery().ServerPreferredNamespacedResources, typed.Core().V1().Namespaces(), 5*time.Minute, corev1.FinalizerKubernetes)

	all.Start(ctx.Done())
	close(started)
	go collector.Run(ctx, workers, 30*time.Second)
	go collector.Sync(ctx, client.Discovery(), kindsEvery)
	go namespaces.Run(ctx, workers)
	return nil
}
