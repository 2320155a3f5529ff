package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func deleteCollection(ctx context.Context, e *env) error {
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	for i := range 6 {
		object := configMap(e.namespace, fmt.Sprintf("c-%d", i), nil)
		object.Labels = map[string]string{"odd": fmt.Sprint(i % 2)}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	options := metav1.ListOptions{LabelSelector: "odd=1"}
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, options); err != nil {
		return err
	}
	odd, err := maps.List(ctx, options)
	if err != nil {
		return err
	}
	even, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "odd=0"})
	if err != nil {
		return err
	}
	return errors.Join(expect("the number left of the selected", len(odd.Items), 0), expect("the number of the others", len(even.Items), 3))
}

func preconditions(ctx context.Context, e *env) error {
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	made, err := maps.Create(ctx, configMap(e.namespace, "a", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	other := types.UID("00000000-0000-0000-0000-000000000000")
	wrong := maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	old := maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr("1")}})
	right := maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &made.UID, ResourceVersion: &made.ResourceVersion}})
	again := maps.Delete(ctx, "a", metav1.DeleteOptions{})
	return errors.Join(
		right,
		refused("a deletion with another uid", wrong, apierrors.IsConflict, "Conflict"),
		refused("a deletion with another version", old, apierrors.IsConflict, "Conflict"),
		refused("a second deletion", again, apierrors.IsNotFound, "NotFound"),
		e.inProtobuf("DELETE", "/configmaps/a"),
	)
}

func finalizers(ctx context.Context, e *env) error {
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	object := configMap(e.namespace, "held", nil)
	object.Finalizers = []string{"example.dev/hold"}
	if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := maps.Delete(ctx, "held", metav1.DeleteOptions{}); err != nil {
		return err
	}
	held, err := maps.Get(ctx, "held", metav1.GetOptions{})
	if err != nil {
		return err
	}
	more := held.DeepCopy()
	more.Finalizers = append(more.Finalizers, "example.dev/late")
	_, late := maps.Update(ctx, more, metav1.UpdateOptions{})
	free := held.DeepCopy()
	free.Finalizers = nil
	_, err = maps.Update(ctx, free, metav1.UpdateOptions{})
	_, gone := maps.Get(ctx, "held", metav1.GetOptions{})
	return errors.Join(
		err,
		expect("whether a held object has a deletion time", held.DeletionTimestamp != nil, true),
		refused("a finalizer added late", late, apierrors.IsInvalid, "Invalid"),
		refused("a read after the last finalizer", gone, apierrors.IsNotFound, "NotFound"),
	)
}

func ownerReferences(ctx context.Context, e *env) error {
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	family := func(name string) error {
		owner, err := maps.Create(ctx, configMap(e.namespace, name, nil), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		child := configMap(e.namespace, name+"-child", nil)
		child.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: owner.UID, Controller: ptr(true), BlockOwnerDeletion: ptr(true),
		}}
		_, err = maps.Create(ctx, child, metav1.CreateOptions{})
		return err
	}
	gone := func(name string) error {
		return eventually(ctx, name+" to go", func() (bool, error) {
			_, err := maps.Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), ignoreGone(err)
		})
	}
	drop := func(name string, policy metav1.DeletionPropagation) error {
		return maps.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	}
	for _, step := range []func() error{
		func() error { return family("back") },
		func() error { return drop("back", metav1.DeletePropagationBackground) },
		func() error { return gone("back-child") },
		func() error { return family("fore") },
		func() error { return drop("fore", metav1.DeletePropagationForeground) },
		func() error { return gone("fore") },
		func() error { return gone("fore-child") },
		func() error { return family("left") },
		func() error { return drop("left", metav1.DeletePropagationOrphan) },
		func() error { return gone("left") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	orphan, err := maps.Get(ctx, "left-child", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("the orphan: %w", err)
	}
	return expect("the number of owners of the orphan", len(orphan.OwnerReferences), 0)
}

func namespaceEnd(ctx context.Context, e *env) error {
	name, err := e.newNamespace(ctx, "end")
	if err != nil {
		return err
	}
	maps := e.kube.CoreV1().ConfigMaps(name)
	held := configMap(name, "held", nil)
	held.Finalizers = []string{"example.dev/hold"}
	if _, err := maps.Create(ctx, held, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := maps.Create(ctx, configMap(name, "plain", nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	namespaces := e.kube.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	ending, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, late := maps.Create(ctx, configMap(name, "late", nil), metav1.CreateOptions{})
	if err := eventually(ctx, "the plain object to go", func() (bool, error) {
		_, err := maps.Get(ctx, "plain", metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreGone(err)
	}); err != nil {
		return err
	}
	if err := eventually(ctx, "the held object to be let go", func() (bool, error) {
		_, err := maps.Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return true, ignoreGone(err)
	}); err != nil {
		return err
	}
	return errors.Join(
		expect("the phase", ending.Status.Phase, corev1.NamespaceTerminating),
		refused("an object in a namespace that ends", late, apierrors.IsForbidden, "Forbidden"),
		eventually(ctx, "the namespace to go", func() (bool, error) {
			_, err := namespaces.Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), ignoreGone(err)
		}),
	)
}

// asDefinition gives the name that a CustomResourceDefinition must have.
func asDefinition(object runtime.Object) (string, bool) {
	crd, ok := object.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return "", false
	}
	return crd.Spec.Names.Plural + "." + crd.Spec.Group, true
}

// widgetDefinition is a kind of its own for each check that wants one.
func widgetDefinition(unique string) *apiextensionsv1.CustomResourceDefinition {
	group := unique + ".interop.dev"
	one := 1.0
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList", ShortNames: []string{"wd"}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
					{Name: "Color", Type: "string", JSONPath: ".spec.color", Description: "What it looks like"},
				},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": {
							Type: "object", Required: []string{"color"},
							Properties: map[string]apiextensionsv1.JSONSchemaProps{
								"color": {Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"red"`)}, {Raw: []byte(`"blue"`)}}},
								"size":  {Type: "integer", Format: "int32", Minimum: &one, Default: &apiextensionsv1.JSON{Raw: []byte(`7`)}},
								"parts": {
									Type: "array", XListType: ptr("map"), XListMapKeys: []string{"name"}, MaxItems: ptr[int64](10),
									Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
										Type: "object", Required: []string{"name"},
										Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": {Type: "string", MaxLength: ptr[int64](20)}, "at": {XIntOrString: true}},
									}},
								},
								"extra": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}},
							},
							XValidations: apiextensionsv1.ValidationRules{{Rule: "self.color != 'red' || self.size < 10", Message: "red ones are small", FieldPath: ".size"}},
						},
						"status": {Type: "object", XPreserveUnknownFields: ptr(true)},
					},
				}},
			}},
		},
	}
}

func definition(ctx context.Context, e *env) error {
	client, err := apiextensions.NewForConfig(e.config)
	if err != nil {
		return err
	}
	crd := widgetDefinition(e.namespace)
	e.later(func(ctx context.Context) error {
		return ignoreGone(client.ApiextensionsV1().CustomResourceDefinitions().Delete(ctx, crd.Name, metav1.DeleteOptions{}))
	})
	if err := define(ctx, client, crd); err != nil {
		return err
	}
	widgets := e.dynamic.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: "v1", Resource: "widgets"}).Namespace(e.namespace)
	widget := func(name string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": crd.Spec.Group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": name},
			"spec": spec, "status": map[string]any{"seen": true}, "unknown": "x",
		}}
	}
	var made *unstructured.Unstructured
	// Between Established and the first request that is served there may be a moment.
	if err := eventually(ctx, "a widget to be taken", func() (bool, error) {
		made, err = widgets.Create(ctx, widget("a", map[string]any{"color": "red"}), metav1.CreateOptions{})
		return err == nil, err
	}); err != nil {
		return err
	}
	size, _, _ := unstructured.NestedInt64(made.Object, "spec", "size")
	_, hasStatus := made.Object["status"]
	_, hasUnknown := made.Object["unknown"]
	_, noColor := widgets.Create(ctx, widget("b", map[string]any{}), metav1.CreateOptions{})
	_, badColor := widgets.Create(ctx, widget("b", map[string]any{"color": "green"}), metav1.CreateOptions{})
	_, tooLarge := widgets.Create(ctx, widget("b", map[string]any{"color": "red", "size": int64(11)}), metav1.CreateOptions{})
	part := map[string]any{"name": "p"}
	_, twice := widgets.Create(ctx, widget("b", map[string]any{"color": "blue", "parts": []any{part, part}}), metav1.CreateOptions{})
	made.Object["status"] = map[string]any{"free": "form"}
	reported, err := widgets.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	free, _, _ := unstructured.NestedString(reported.Object, "status", "free")
	return errors.Join(
		expect("the size by default", size, 7),
		expect("whether status is kept at creation", hasStatus, false),
		expect("whether an unknown field is kept", hasUnknown, false),
		expect("the status written", free, "form"),
		expect("the generation after status", reported.GetGeneration(), 1),
		refused("a widget without a colour", noColor, apierrors.IsInvalid, "Invalid"),
		refused("a colour that is none", badColor, apierrors.IsInvalid, "Invalid"),
		refused("a large red one", tooLarge, apierrors.IsInvalid, "Invalid"),
		refused("a part that is there twice", twice, apierrors.IsInvalid, "Invalid"),
		e.inProtobuf("POST", "/customresourcedefinitions"),
	)
}

func scaleSubresource(ctx context.Context, e *env) error {
	deployments := e.kube.AppsV1().Deployments(e.namespace)
	if _, err := deployments.Create(ctx, deployment(e.namespace, "web"), metav1.CreateOptions{}); err != nil {
		return err
	}
	scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	before := scale.Spec.Replicas
	scale.Spec.Replicas = 5
	if _, err := deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil {
		return err
	}
	_, err = deployments.Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":6}}`), metav1.PatchOptions{}, "scale")
	if err != nil {
		return err
	}
	var found *appsv1.Deployment
	if found, err = deployments.Get(ctx, "web", metav1.GetOptions{}); err != nil {
		return err
	}
	return errors.Join(
		expect("the replicas before", before, 1),
		expect("the selector", scale.Status.Selector, "app=web"),
		expect("the replicas after", *found.Spec.Replicas, 6),
		expect("the generation after", found.Generation, 3),
	)
}
