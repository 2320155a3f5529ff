package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// journal notes what an informer tells.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(kind string, object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if accessor, ok := object.(metav1.Object); ok {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.lines = append(j.lines, kind+" "+accessor.GetName())
	}
}

func (j *journal) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { j.note("add", object) },
		UpdateFunc: func(old, object any) {
			before, _ := old.(metav1.Object)
			after, _ := object.(metav1.Object)
			if before.GetResourceVersion() != after.GetResourceVersion() {
				j.note("update", object)
			}
		},
		DeleteFunc: func(object any) { j.note("delete", object) },
	}
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, ", ")
}

func (j *journal) until(ctx context.Context, wanted ...string) error {
	return eventually(ctx, fmt.Sprintf("the informer to tell one of %q", wanted), func() (bool, error) {
		if text := j.text(); !slices.Contains(wanted, text) {
			return false, fmt.Errorf("it tells %q", text)
		}
		return true, nil
	})
}

// follow starts an informer, changes what it watches, and demands that it tells everything once and in order.
func (e *env) follow(ctx context.Context, informer cache.SharedIndexInformer, start func(<-chan struct{}), changes []func() error, wanted ...string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	told := &journal{}
	if _, err := informer.AddEventHandler(told.handler()); err != nil {
		return err
	}
	start(ctx.Done())
	if err := eventually(ctx, "the informer to sync", func() (bool, error) { return informer.HasSynced(), nil }); err != nil {
		return err
	}
	for _, change := range changes {
		if err := change(); err != nil {
			return err
		}
	}
	return told.until(ctx, wanted...)
}

// streamed demands that the list came as initial events of a watch, and not by itself.
func (e *env) streamed(part string) error {
	streams := e.wire.find(func(s sent) bool {
		return strings.HasSuffix(s.path, part) && strings.Contains(s.query, "sendInitialEvents=true") && s.code == 200
	})
	lists := e.wire.find(func(s sent) bool {
		return strings.HasSuffix(s.path, part) && s.method == "GET" && !strings.Contains(s.query, "watch=true")
	})
	return errors.Join(
		expect("whether the list was streamed", len(streams) > 0, true),
		expect("the number of lists beside", len(lists), 0),
	)
}

// edits creates, updates and deletes ConfigMaps; an informer that began with "a" there tells `edited`.
func (e *env) edits(ctx context.Context) []func() error {
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	return []func() error{
		func() error {
			_, err := maps.Create(ctx, configMap(e.namespace, "b", nil), metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := maps.Update(ctx, configMap(e.namespace, "a", map[string]string{"k": "v"}), metav1.UpdateOptions{})
			return err
		},
		func() error { return maps.Delete(ctx, "b", metav1.DeleteOptions{}) },
	}
}

const edited = "add a, add b, update a, delete b"

// begin makes "a", which every watch of ConfigMaps begins with; what the cluster puts into namespaces is not looked at.
func (e *env) begin(ctx context.Context) error {
	_, err := e.kube.CoreV1().ConfigMaps(e.namespace).Create(ctx, configMap(e.namespace, "a", nil), metav1.CreateOptions{})
	return err
}

// own leaves out what a cluster puts into every namespace by itself.
func own(options *metav1.ListOptions) { options.FieldSelector = "metadata.name!=kube-root-ca.crt" }

func informer(ctx context.Context, e *env) error {
	if err := e.begin(ctx); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(e.kube, 0, informers.WithNamespace(e.namespace), informers.WithTweakListOptions(own))
	maps := factory.Core().V1().ConfigMaps()
	err := e.follow(ctx, maps.Informer(), factory.Start, e.edits(ctx), edited)
	if err != nil {
		return err
	}
	object, err := maps.Lister().ConfigMaps(e.namespace).Get("a")
	if err != nil {
		return err
	}
	return errors.Join(expect("the data in the lister", object.Data["k"], "v"), e.streamed("/configmaps"))
}

func listWatch(ctx context.Context, e *env) error {
	if err := e.begin(ctx); err != nil {
		return err
	}
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	var wrong []error
	// The ways in which clients of all ages begin.
	for _, options := range []metav1.ListOptions{
		{}, {ResourceVersion: "0"}, {ResourceVersion: "0", Limit: 500}, {Limit: 1},
		{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
	} {
		own(&options)
		list, err := maps.List(ctx, options)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%v: %w", options, err))
			continue
		}
		wrong = append(wrong, expect(fmt.Sprintf("the number for %v", options), len(list.Items), 1))
	}
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	watcher, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true, TimeoutSeconds: ptr[int64](30)})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for _, change := range e.edits(ctx) {
		if err := change(); err != nil {
			return err
		}
	}
	var told []string
	for len(told) < 3 {
		event, ok := <-watcher.ResultChan()
		if !ok {
			return fmt.Errorf("the watch ended after %v", told)
		}
		if event.Type == watch.Bookmark {
			continue
		}
		if object, ok := event.Object.(*corev1.ConfigMap); ok {
			told = append(told, string(event.Type)+" "+object.Name)
		} else {
			return fmt.Errorf("the watch told %v", apierrors.FromObject(event.Object))
		}
	}
	exact, err := maps.List(ctx, metav1.ListOptions{
		ResourceVersion: list.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact, FieldSelector: "metadata.name=a",
	})
	if err != nil {
		return err
	}
	// A client tries this again for as long as it is told to; one try shows it.
	future := e.kube.CoreV1().RESTClient().Get().Namespace(e.namespace).Resource("configmaps").
		Param("resourceVersion", "999999999").MaxRetries(0).Do(ctx).Error()
	short, err := maps.Watch(ctx, metav1.ListOptions{TimeoutSeconds: ptr[int64](1), FieldSelector: "metadata.name=none"})
	if err != nil {
		return err
	}
	for range short.ResultChan() {
	}
	if len(exact.Items) != 1 {
		return fmt.Errorf("an exact list of an earlier version has %d items, not 1", len(exact.Items))
	}
	return errors.Join(append(wrong,
		expect("what the watch told", strings.Join(told, ", "), "ADDED b, MODIFIED a, DELETED b"),
		expect("the data at the earlier version", exact.Items[0].Data["k"], ""),
		refused("a list of the future", future, apierrors.IsTimeout, "Timeout"),
	)...)
}

func droppedWatch(ctx context.Context, e *env) error {
	if err := e.begin(ctx); err != nil {
		return err
	}
	// What happens while the informer is cut off goes over connections that are not cut.
	elsewhere, err := e.client(uncut)
	if err != nil {
		return err
	}
	maps := elsewhere.CoreV1().ConfigMaps(e.namespace)
	factory := informers.NewSharedInformerFactoryWithOptions(e.kube, 0, informers.WithNamespace(e.namespace), informers.WithTweakListOptions(own))
	inf := factory.Core().V1().ConfigMaps().Informer()
	return e.follow(ctx, inf, factory.Start, []func() error{
		func() error { e.wire.leave(); return nil },
		func() error {
			_, err := maps.Create(ctx, configMap(e.namespace, "b", nil), metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := maps.Update(ctx, configMap(e.namespace, "a", map[string]string{"k": "v"}), metav1.UpdateOptions{})
			return err
		},
		func() error { e.wire.comeBack(); return nil },
		func() error {
			return eventually(ctx, "the informer to catch up", func() (bool, error) { return len(inf.GetStore().ListKeys()) == 2, nil })
		},
		func() error { return maps.Delete(ctx, "b", metav1.DeleteOptions{}) },
		// If the informer has to list again, what it missed comes in any order.
	}, edited, "add a, update a, add b, delete b")
}

func retryWatcher(ctx context.Context, e *env) error {
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			own(&options)
			return maps.Watch(ctx, options)
		},
	})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	const total = 30
	elsewhere, err := e.client(uncut)
	if err != nil {
		return err
	}
	for i := range total {
		if i%10 == 5 {
			e.wire.leave()
			e.wire.comeBack()
		}
		_, err := elsewhere.CoreV1().ConfigMaps(e.namespace).Create(ctx, configMap(e.namespace, fmt.Sprintf("c-%02d", i), nil), metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	for i := range total {
		select {
		case event := <-watcher.ResultChan():
			object, ok := event.Object.(*corev1.ConfigMap)
			if !ok {
				return fmt.Errorf("the watch told %v", apierrors.FromObject(event.Object))
			}
			if err := expect("the event", string(event.Type)+" "+object.Name, fmt.Sprintf("ADDED c-%02d", i)); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("%d of %d events came", i, total)
		}
	}
	return nil
}

var routes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}

func route(name string, hostnames ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"hostnames": hostnames, "parentRefs": []any{map[string]any{"name": "gw"}}},
	}}
}

// routeEdits is like edits, for HTTPRoutes.
func (e *env) routeEdits(ctx context.Context) ([]func() error, error) {
	client := e.dynamic.Resource(routes).Namespace(e.namespace)
	if _, err := client.Create(ctx, route("a", "a.example"), metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	return []func() error{
		func() error {
			_, err := client.Create(ctx, route("b", "b.example"), metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := client.Apply(ctx, "a", route("a", "c.example"), metav1.ApplyOptions{FieldManager: "interop", Force: true})
			return err
		},
		func() error { return client.Delete(ctx, "b", metav1.DeleteOptions{}) },
	}, nil
}

func dynamicInformer(ctx context.Context, e *env) error {
	changes, err := e.routeEdits(ctx)
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(e.dynamic, 0, e.namespace, nil)
	inf := factory.ForResource(routes).Informer()
	return errors.Join(e.follow(ctx, inf, factory.Start, changes, edited), e.streamed("/httproutes"))
}

func metadataInformer(ctx context.Context, e *env) error {
	client, err := metadata.NewForConfig(e.config)
	if err != nil {
		return err
	}
	changes, err := e.routeEdits(ctx)
	if err != nil {
		return err
	}
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, e.namespace, nil)
	inf := factory.ForResource(routes).Informer()
	if err := e.follow(ctx, inf, factory.Start, changes, edited); err != nil {
		return err
	}
	for _, object := range inf.GetStore().List() {
		if _, ok := object.(*metav1.PartialObjectMetadata); !ok {
			return fmt.Errorf("the store holds a %T", object)
		}
	}
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + e.namespace})
	if err != nil {
		return err
	}
	one, err := client.Resource(routes).Namespace(e.namespace).Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return errors.Join(
		expect("the number of namespaces", len(list.Items), 1),
		expect("the name of a single one", one.Name, "a"),
		e.streamed("/httproutes"),
	)
}
