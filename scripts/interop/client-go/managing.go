package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

var scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, gatewayv1.Install} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}()

func eventSink(e *env) record.EventSink {
	return &typedcorev1.EventSinkImpl{Interface: e.kube.CoreV1().Events(e.namespace)}
}

const holdGateway = "interop.dev/gateway"

// reconciler does with Gateways what implementations do: a finalizer, an owned Service and Deployment, a status.
type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var gateway gatewayv1.Gateway
	if err := r.Get(ctx, request.NamespacedName, &gateway); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !gateway.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&gateway, holdGateway) {
			return ctrl.Result{}, r.Update(ctx, &gateway)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&gateway, holdGateway) {
		return ctrl.Result{}, r.Update(ctx, &gateway)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: gateway.Namespace, Name: gateway.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		service.Spec.Type = corev1.ServiceTypeClusterIP
		service.Spec.Selector = map[string]string{"app": gateway.Name}
		service.Spec.Ports = nil
		for _, listener := range gateway.Spec.Listeners {
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: string(listener.Name), Port: int32(listener.Port)})
		}
		return controllerutil.SetControllerReference(&gateway, service, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, fmt.Errorf("service: %w", err)
	}
	proxy := deployment(gateway.Namespace, gateway.Name)
	if err := controllerutil.SetControllerReference(&gateway, proxy, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Create(ctx, proxy); err != nil && !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, fmt.Errorf("deployment: %w", err)
	}
	before := gateway.DeepCopy()
	meta.SetStatusCondition(&gateway.Status.Conditions, metav1.Condition{
		Type: string(gatewayv1.GatewayConditionAccepted), Status: metav1.ConditionTrue, Reason: string(gatewayv1.GatewayReasonAccepted),
		ObservedGeneration: gateway.Generation, Message: "by the interop manager",
	})
	gateway.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Type: ptr(gatewayv1.IPAddressType), Value: service.Spec.ClusterIP}}
	return ctrl.Result{}, r.Status().Patch(ctx, &gateway, client.MergeFrom(before))
}

func gateway(namespace string) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gw"},
		Spec: gatewayv1.GatewaySpec{GatewayClassName: "interop-nobodys", Listeners: []gatewayv1.Listener{
			{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType},
		}},
	}
}

func manager(ctx context.Context, e *env) error {
	ctx, end := context.WithCancel(ctx)
	mgr, err := ctrl.NewManager(e.config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "interop.gateproof.dev", LeaderElectionNamespace: e.namespace, LeaderElectionReleaseOnCancel: true,
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{e.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: ptr(true)},
	})
	if err != nil {
		end()
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).For(&gatewayv1.Gateway{}).Owns(&corev1.Service{}).Owns(&appsv1.Deployment{}).Complete(&reconciler{mgr.GetClient()})
	if err != nil {
		end()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	err = exercise(ctx, e, mgr)
	end()
	select {
	case stopped := <-ended:
		return errors.Join(err, stopped)
	case <-time.After(10 * time.Second):
		return errors.Join(err, errors.New("the manager does not end"))
	}
}

func exercise(ctx context.Context, e *env, mgr ctrl.Manager) error {
	direct, err := e.runtimeClient()
	if err != nil {
		return err
	}
	made := gateway(e.namespace)
	if err := direct.Create(ctx, made); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(made)
	var found gatewayv1.Gateway
	accepted := func(generation int64) func() (bool, error) {
		return func() (bool, error) {
			err := direct.Get(ctx, key, &found)
			condition := meta.FindStatusCondition(found.Status.Conditions, "Accepted")
			return condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == generation, err
		}
	}
	if err := eventually(ctx, "the Gateway to be accepted", accepted(1)); err != nil {
		return err
	}
	patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/listeners/-","value":{"name":"alt","port":8080,"protocol":"HTTP"}}]`))
	if err := direct.Patch(ctx, made, patch); err != nil {
		return err
	}
	if err := eventually(ctx, "the second generation to be accepted", accepted(2)); err != nil {
		return err
	}
	var service corev1.Service
	if err := eventually(ctx, "the Service to follow", func() (bool, error) {
		err := direct.Get(ctx, key, &service)
		return len(service.Spec.Ports) == 2, err
	}); err != nil {
		return err
	}
	// The controller brings back what somebody else takes away.
	if err := direct.Delete(ctx, &service); err != nil {
		return err
	}
	uid := service.UID
	if err := eventually(ctx, "the Service to come back", func() (bool, error) {
		err := client.IgnoreNotFound(direct.Get(ctx, key, &service))
		return service.UID != uid, err
	}); err != nil {
		return err
	}
	if err := direct.Delete(ctx, &found); err != nil {
		return err
	}
	owner := metav1.GetControllerOf(&service)
	return errors.Join(
		expect("the owner of the Service", owner != nil && owner.UID == found.UID, true),
		expect("the finalizers", fmt.Sprint(found.Finalizers), "["+holdGateway+"]"),
		eventually(ctx, "the Gateway to go", func() (bool, error) {
			err := direct.Get(ctx, key, &found)
			return apierrors.IsNotFound(err), ignoreGone(err)
		}),
		eventually(ctx, "what it owns to go", func() (bool, error) {
			err := direct.Get(ctx, key, &service)
			other := direct.Get(ctx, key, &appsv1.Deployment{})
			return apierrors.IsNotFound(err) && apierrors.IsNotFound(other), errors.Join(ignoreGone(err), ignoreGone(other))
		}),
		e.inProtobuf("POST", "/services"),
		e.inProtobuf("PUT", "/leases/"),
	)
}

func cacheIndex(ctx context.Context, e *env) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	chosen := labels.SelectorFromSet(labels.Set{"chosen": "true"})
	reader, err := cache.New(e.config, cache.Options{
		Scheme: scheme, DefaultNamespaces: map[string]cache.Config{e.namespace: {}},
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: chosen}},
	})
	if err != nil {
		return err
	}
	const byBackend = "backend"
	err = reader.IndexField(ctx, &gatewayv1.HTTPRoute{}, byBackend, func(object client.Object) []string {
		var names []string
		if route, ok := object.(*gatewayv1.HTTPRoute); ok {
			for _, hostname := range route.Spec.Hostnames {
				names = append(names, string(hostname))
			}
		}
		return names
	})
	if err != nil {
		return err
	}
	direct, err := e.runtimeClient()
	if err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		made := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}}
		made.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(name + ".example"), "both.example"}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name, Labels: map[string]string{"chosen": fmt.Sprint(name == "a")}}}
		if err := errors.Join(direct.Create(ctx, made), direct.Create(ctx, secret)); err != nil {
			return err
		}
	}
	go func() { _ = reader.Start(ctx) }()
	if !reader.WaitForCacheSync(ctx) {
		return errors.New("the cache does not sync")
	}
	count := func(list client.ObjectList, options ...client.ListOption) (int, error) {
		err := reader.List(ctx, list, options...)
		return meta.LenList(list), err
	}
	one, err := count(&gatewayv1.HTTPRouteList{}, client.MatchingFields{byBackend: "a.example"})
	if err != nil {
		return err
	}
	both, err := count(&gatewayv1.HTTPRouteList{}, client.MatchingFields{byBackend: "both.example"})
	if err != nil {
		return err
	}
	secrets, err := count(&corev1.SecretList{})
	if err != nil {
		return err
	}
	partial := &metav1.PartialObjectMetadataList{}
	partial.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ServiceList"})
	services, err := count(partial)
	if err != nil {
		return err
	}
	asked := e.wire.find(func(s sent) bool {
		return strings.HasSuffix(s.path, "/services") && strings.Contains(s.accept, "as=PartialObjectMetadata")
	})
	return errors.Join(
		expect("the number of routes for one hostname", one, 1),
		expect("the number of routes for both", both, 2),
		expect("the number of secrets chosen", secrets, 1),
		expect("the number of services", services, 0),
		expect("whether metadata alone was asked for", len(asked) > 0, true),
	)
}
