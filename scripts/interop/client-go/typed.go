package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (e *env) runtimeClient() (client.Client, error) {
	return client.New(e.config, client.Options{Scheme: scheme})
}

// typedCreate writes every kind in protobuf and reads it back as JSON by a client that knows no types.
func typedCreate(ctx context.Context, e *env) error {
	typed, err := e.runtimeClient()
	if err != nil {
		return err
	}
	suffix := e.namespace + "-c"
	var wrong []error
	for _, wanted := range append(written(e.namespace), clusterWide(suffix)...) {
		object, _ := wanted.DeepCopyObject().(client.Object)
		gvk, err := typed.GroupVersionKindFor(object)
		if err != nil {
			return err
		}
		if definition, ok := asDefinition(object); ok {
			object.SetName(definition)
		}
		if err := typed.Create(ctx, object); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", gvk, err))
			continue
		}
		if object.GetNamespace() == "" {
			e.later(func(ctx context.Context) error { return ignoreGone(typed.Delete(ctx, object)) })
		}
		seen := &unstructured.Unstructured{}
		seen.SetGroupVersionKind(gvk)
		if err := typed.Get(ctx, client.ObjectKeyFromObject(object), seen); err != nil {
			wrong = append(wrong, fmt.Errorf("reading %s again: %w", gvk, err))
			continue
		}
		wrong = append(wrong, missing(gvk.String(), wanted, seen))
	}
	wrong = append(wrong, e.inProtobuf("POST", "/deployments"))
	return errors.Join(wrong...)
}

// missing compares what was wanted, as its own type writes it, with what the server shows: every member has to be there.
func missing(what string, wanted runtime.Object, seen *unstructured.Unstructured) error {
	if secret, ok := wanted.(*corev1.Secret); ok {
		secret = secret.DeepCopy()
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(value)
		}
		secret.StringData = nil
		wanted = secret
	}
	want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return err
	}
	delete(want, "status")
	if differing := differences("", want, seen.Object); len(differing) > 0 {
		return fmt.Errorf("%s came back changed:\n  %s", what, strings.Join(differing, "\n  "))
	}
	return nil
}

func differences(at string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		members, ok := got.(map[string]any)
		if !ok && len(want) > 0 {
			return []string{fmt.Sprintf("%s is %v, not %v", at, got, want)}
		}
		var all []string
		for name := range maps.Keys(want) {
			// The zero time that Go writes as null stands for nothing.
			if want[name] != nil {
				all = append(all, differences(at+"."+name, want[name], members[name])...)
			}
		}
		return all
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) < len(want) {
			return []string{fmt.Sprintf("%s is %v, not %v", at, got, want)}
		}
		var all []string
		for i := range want {
			all = append(all, differences(fmt.Sprintf("%s[%d]", at, i), want[i], items[i])...)
		}
		return all
	case int64, float64:
		// A whole number is read as one or the other.
		return different(at, fmt.Sprint(got), fmt.Sprint(want))
	default:
		return different(at, got, want)
	}
}

func different(at string, got, want any) []string {
	if !apiequality.Semantic.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s is %v, not %v", at, got, want)}
	}
	return nil
}

func deployment(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podTemplate(),
		},
	}
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func typedUpdate(ctx context.Context, e *env) error {
	deployments := e.kube.AppsV1().Deployments(e.namespace)
	made, err := deployments.Create(ctx, deployment(e.namespace, "web"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	stale := made.DeepCopy()
	changed := made.DeepCopy()
	changed.Spec.Replicas = ptr[int32](3)
	changed.Status.Replicas = 9
	if changed, err = deployments.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return err
	}
	reported := changed.DeepCopy()
	reported.Spec.Replicas = ptr[int32](7)
	reported.Status.ObservedGeneration = changed.Generation
	reported.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Unix(1_700_000_000, 0),
	}}
	if reported, err = deployments.UpdateStatus(ctx, reported, metav1.UpdateOptions{}); err != nil {
		return err
	}
	stale.Spec.Replicas = ptr[int32](5)
	_, conflict := deployments.Update(ctx, stale, metav1.UpdateOptions{})
	same, err := deployments.Update(ctx, reported.DeepCopy(), metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	return errors.Join(
		expect("the generation after an update", changed.Generation, made.Generation+1),
		expect("status.replicas after an update of spec", changed.Status.Replicas, 0),
		expect("spec.replicas after an update of status", *reported.Spec.Replicas, 3),
		expect("the generation after an update of status", reported.Generation, changed.Generation),
		expect("the number of conditions", len(reported.Status.Conditions), 1),
		expect("the resourceVersion after an update that changes nothing", same.ResourceVersion, reported.ResourceVersion),
		refused("an update of an old version", conflict, apierrors.IsConflict, "Conflict"),
		e.inProtobuf("PUT", "/deployments/web/status"),
	)
}

func upsert(ctx context.Context, e *env) error {
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	_, absent := maps.Get(ctx, "a", metav1.GetOptions{})
	_, noUpdate := maps.Update(ctx, configMap(e.namespace, "a", nil), metav1.UpdateOptions{})
	_, first := maps.Create(ctx, configMap(e.namespace, "a", nil), metav1.CreateOptions{})
	_, second := maps.Create(ctx, configMap(e.namespace, "a", nil), metav1.CreateOptions{})
	_, invalid := maps.Create(ctx, configMap(e.namespace, "Not A Name", nil), metav1.CreateOptions{})
	_, nowhere := e.kube.CoreV1().ConfigMaps("no-such-namespace").Create(ctx, configMap("", "a", nil), metav1.CreateOptions{})
	return errors.Join(
		first,
		refused("a read of nothing", absent, apierrors.IsNotFound, "NotFound"),
		refused("an update of nothing", noUpdate, apierrors.IsNotFound, "NotFound"),
		refused("a second creation", second, apierrors.IsAlreadyExists, "AlreadyExists"),
		refused("a bad name", invalid, apierrors.IsInvalid, "Invalid"),
		refused("an object in no namespace", nowhere, apierrors.IsNotFound, "NotFound"),
	)
}

func dryRun(ctx context.Context, e *env) error {
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	all := []string{metav1.DryRunAll}
	answered, err := maps.Create(ctx, configMap(e.namespace, "dry", nil), metav1.CreateOptions{DryRun: all})
	if err != nil {
		return err
	}
	_, absent := maps.Get(ctx, "dry", metav1.GetOptions{})
	kept, err := maps.Create(ctx, configMap(e.namespace, "kept", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	gone := maps.Delete(ctx, "kept", metav1.DeleteOptions{DryRun: all})
	still, err := maps.Get(ctx, "kept", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return errors.Join(
		gone,
		expect("whether a dry creation answers with a uid", answered.UID != "", true),
		refused("a read of what was created dry", absent, apierrors.IsNotFound, "NotFound"),
		expect("the version after a dry deletion", still.ResourceVersion, kept.ResourceVersion),
	)
}

func strictFields(ctx context.Context, e *env) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "strict", "namespace": e.namespace},
		"data":     map[string]any{"k": "v"}, "dater": map[string]any{"k": "v"},
	}}
	maps := e.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(e.namespace)
	_, strict := maps.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	ignored, err := maps.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationIgnore})
	if err != nil {
		return err
	}
	_, stays := ignored.Object["dater"]
	return errors.Join(
		refused("an unknown field", strict, apierrors.IsBadRequest, "BadRequest"),
		expect("whether an unknown field stays", stays, false),
	)
}

func generateName(ctx context.Context, e *env) error {
	names := sets.New[string]()
	for range 20 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}
		made, err := e.kube.CoreV1().ConfigMaps(e.namespace).Create(ctx, object, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if !strings.HasPrefix(made.Name, "made-") || len(made.Name) != len("made-")+5 {
			return fmt.Errorf("the name %q was made of made-", made.Name)
		}
		names.Insert(made.Name)
	}
	return expect("the number of names", names.Len(), 20)
}

func paging(ctx context.Context, e *env) error {
	const total = 25
	maps := e.kube.CoreV1().ConfigMaps(e.namespace)
	labels := metav1.ListOptions{LabelSelector: "paged=true"}
	for i := range total {
		object := configMap(e.namespace, fmt.Sprintf("page-%02d", i), nil)
		object.Labels = map[string]string{"paged": "true"}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	first, err := maps.List(ctx, metav1.ListOptions{Limit: 10})
	if err != nil {
		return err
	}
	pages := 0
	names := sets.New[string]()
	p := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		pages++
		list, err := maps.List(ctx, options)
		if err == nil && pages == 2 {
			// A page shows the moment of the first one, whatever happens in between.
			late := configMap(e.namespace, "page-99", nil)
			late.Labels = map[string]string{"paged": "true"}
			_, err = maps.Create(ctx, late, metav1.CreateOptions{})
		}
		return list, err
	})
	p.PageSize = 10
	p.PageBufferSize = 0
	list, _, err := p.List(ctx, labels)
	if err != nil {
		return err
	}
	err = meta.EachListItem(list, func(object runtime.Object) error {
		accessor, err := meta.Accessor(object)
		names.Insert(accessor.GetName())
		return err
	})
	_, bad := maps.List(ctx, metav1.ListOptions{Limit: 10, Continue: "nonsense"})
	return errors.Join(
		err,
		expect("the number of pages", pages, 3),
		expect("the number of names in them", names.Len(), total),
		expect("the length of a page without a selector", len(first.Items), 10),
		expect("whether what is left is counted", first.RemainingItemCount != nil && *first.RemainingItemCount >= total-10, true),
		refused("a continue token that is none", bad, apierrors.IsBadRequest, "BadRequest"),
	)
}

func selectors(ctx context.Context, e *env) error {
	pods := e.kube.CoreV1().Pods(e.namespace)
	for i, tier := range []string{"front", "back", "none"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: tier, Labels: map[string]string{"tier": tier}}, Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i), Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}
		if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	var wrong []error
	for _, one := range []struct {
		options metav1.ListOptions
		want    int
	}{
		{metav1.ListOptions{LabelSelector: "tier in (front,back)"}, 2},
		{metav1.ListOptions{LabelSelector: "tier,tier!=front"}, 2},
		{metav1.ListOptions{LabelSelector: "!tier"}, 0},
		{metav1.ListOptions{LabelSelector: "tier notin (front)"}, 2},
		{metav1.ListOptions{FieldSelector: "metadata.name=back"}, 1},
		{metav1.ListOptions{FieldSelector: "spec.nodeName=node-2,status.phase!=Failed"}, 1},
	} {
		list, err := pods.List(ctx, one.options)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		wrong = append(wrong, expect(fmt.Sprintf("the number for %v", one.options), len(list.Items), one.want))
	}
	_, bad := pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.nothing=1"})
	return errors.Join(append(wrong, refused("an unknown field selector", bad, apierrors.IsBadRequest, "BadRequest"))...)
}
