package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
)

func patches(ctx context.Context, e *env) error {
	deployments := e.kube.AppsV1().Deployments(e.namespace)
	if _, err := deployments.Create(ctx, deployment(e.namespace, "web"), metav1.CreateOptions{}); err != nil {
		return err
	}
	patch := func(kind types.PatchType, text string, below ...string) error {
		_, err := deployments.Patch(ctx, "web", kind, []byte(text), metav1.PatchOptions{FieldManager: "interop"}, below...)
		return err
	}
	// A strategic merge patch finds the container by its name; the others replace what they name.
	err := errors.Join(
		patch(types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"example.dev/proxy:v2"},{"name":"side","image":"example.dev/side:1"}]}}}}`),
		patch(types.JSONPatchType, `[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/replicas","value":4},{"op":"add","path":"/metadata/labels","value":{"a.b/c":"x"}}]`),
		patch(types.MergePatchType, `{"metadata":{"annotations":{"one":"1","two":null}},"spec":{"template":{"spec":{"nodeSelector":null}}}}`),
		patch(types.MergePatchType, `{"status":{"replicas":4,"readyReplicas":2}}`, "status"),
	)
	if err != nil {
		return err
	}
	failing := patch(types.JSONPatchType, `[{"op":"test","path":"/spec/replicas","value":1}]`)
	malformed := patch(types.MergePatchType, `{"spec":`)
	invalid := patch(types.MergePatchType, `{"spec":{"replicas":-1}}`)
	stale := patch(types.MergePatchType, `{"metadata":{"resourceVersion":"1"},"spec":{"replicas":9}}`)
	found, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	containers := found.Spec.Template.Spec.Containers
	if len(containers) != 2 {
		return fmt.Errorf("%d containers came of the strategic merge patch, not 2", len(containers))
	}
	images := map[string]string{}
	for _, container := range containers {
		images[container.Name] = container.Image
	}
	return errors.Join(
		expect("the image of the container patched", images["proxy"], "example.dev/proxy:v2"),
		expect("the image of the container added", images["side"], "example.dev/side:1"),
		expect("the replicas", *found.Spec.Replicas, 4),
		expect("the label", found.Labels["a.b/c"], "x"),
		expect("the annotation", found.Annotations["one"], "1"),
		expect("the number of node selectors", len(found.Spec.Template.Spec.NodeSelector), 0),
		expect("the ready replicas", found.Status.ReadyReplicas, 2),
		refused("a JSON patch whose test fails", failing, apierrors.IsInvalid, "Invalid"),
		refused("a patch that is no JSON", malformed, apierrors.IsBadRequest, "BadRequest"),
		refused("a patch to something invalid", invalid, apierrors.IsInvalid, "Invalid"),
		refused("a patch of an old version", stale, apierrors.IsConflict, "Conflict"),
	)
}

func apply(ctx context.Context, e *env) error {
	deployments := e.kube.AppsV1().Deployments(e.namespace)
	container := func(image string) *applyappsv1.DeploymentApplyConfiguration {
		labels := map[string]string{"app": "web"}
		return applyappsv1.Deployment("web", e.namespace).WithSpec(applyappsv1.DeploymentSpec().
			WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(applycorev1.PodTemplateSpec().WithLabels(labels).WithSpec(applycorev1.PodSpec().
				WithContainers(applycorev1.Container().WithName("proxy").WithImage(image)))))
	}
	replicas := applyappsv1.Deployment("web", e.namespace).WithSpec(applyappsv1.DeploymentSpec().WithReplicas(2))
	one := metav1.ApplyOptions{FieldManager: "one"}
	two := metav1.ApplyOptions{FieldManager: "two"}
	made, err := deployments.Apply(ctx, container("example.dev/proxy:1"), one)
	if err != nil {
		return err
	}
	scaled, err := deployments.Apply(ctx, replicas, two)
	if err != nil {
		return err
	}
	_, conflict := deployments.Apply(ctx, container("example.dev/proxy:2"), two)
	forced, err := deployments.Apply(ctx, container("example.dev/proxy:2"), metav1.ApplyOptions{FieldManager: "two", Force: true})
	if err != nil {
		return err
	}
	own, err := applyappsv1.ExtractDeployment(forced, "two")
	if err != nil {
		return err
	}
	same, err := deployments.Apply(ctx, container("example.dev/proxy:2"), two)
	if err != nil {
		return err
	}
	status := applycorev1.Namespace(e.namespace).WithStatus(applycorev1.NamespaceStatus().WithConditions(
		applycorev1.NamespaceCondition().WithType("interop.dev/Seen").WithStatus(corev1.ConditionTrue).WithReason("R"),
	))
	seen, err := e.kube.CoreV1().Namespaces().ApplyStatus(ctx, status, one)
	if err != nil {
		return err
	}
	errs := []error{
		expect("the replicas by default", *made.Spec.Replicas, 1),
		expect("the replicas after a second manager", *scaled.Spec.Replicas, 2),
		refused("a field of another manager", conflict, apierrors.IsConflict, "Conflict"),
		expect("the image after force", forced.Spec.Template.Spec.Containers[0].Image, "example.dev/proxy:2"),
		// What an apply leaves out, it gives up: the replicas had one owner and fall back to their default.
		expect("the replicas given up", *forced.Spec.Replicas, 1),
		expect("the version after the same again", same.ResourceVersion, forced.ResourceVersion),
		expect("the number of conditions applied to status", len(seen.Status.Conditions), 1),
	}
	if own.Spec == nil || own.Spec.Template == nil || len(own.Spec.Template.Spec.Containers) != 1 {
		errs = append(errs, errors.New("what the second manager owns cannot be extracted"))
	}
	var causes []string
	if status := apierrors.APIStatus(nil); errors.As(conflict, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			causes = append(causes, string(cause.Type)+" "+cause.Field)
		}
	}
	want := `[FieldManagerConflict .spec.template.spec.containers[name="proxy"].image]`
	return errors.Join(append(errs, expect("the causes of the conflict", fmt.Sprint(causes), want))...)
}
