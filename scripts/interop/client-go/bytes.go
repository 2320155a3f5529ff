package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
)

// printBytes prints one line for each object that clients send: its bytes in protobuf as hex, and the JSON that says the
// same, both by the encoders of the Go types.
func printBytes(out io.Writer) error {
	codecs := serializer.NewCodecFactory(scheme)
	encode := func(media string, object runtime.Object) ([]byte, error) {
		info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
		kinds, _, err := scheme.ObjectKinds(object)
		if err != nil {
			return nil, err
		}
		return runtime.Encode(codecs.EncoderForVersion(info.Serializer, kinds[0].GroupVersion()), object)
	}
	for _, object := range append(small(written("n")), requests()...) {
		bytes, err := encode(runtime.ContentTypeProtobuf, object)
		if err != nil {
			return err
		}
		text, err := encode(runtime.ContentTypeJSON, object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s %s\n", hex.EncodeToString(bytes), strings.TrimSpace(string(text))); err != nil {
			return err
		}
	}
	return nil
}

// small keeps one whole pod template, in the Deployment; four would show nothing more.
func small(objects []runtime.Object) []runtime.Object {
	plain := corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i"}},
		Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}
	for _, object := range objects {
		switch object := object.(type) {
		case *corev1.Pod:
			object.Spec = plain
		case *appsv1.DaemonSet:
			object.Spec.Template.Spec = plain
		case *appsv1.ReplicaSet:
			object.Spec.Template.Spec = plain
		}
	}
	return append(objects, clusterWide("web")...)
}

// requests are the bodies that are not kept.
func requests() []runtime.Object {
	resource := &authorizationv1.ResourceAttributes{Namespace: "n", Verb: "get", Group: "g", Version: "v1", Resource: "r", Subresource: "s", Name: "a"}
	return []runtime.Object{
		&metav1.DeleteOptions{
			GracePeriodSeconds: ptr[int64](0), PropagationPolicy: ptr(metav1.DeletePropagationForeground), DryRun: []string{"All"},
			Preconditions: &metav1.Preconditions{UID: ptr(types.UID("u")), ResourceVersion: ptr("7")},
		},
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "t", Audiences: []string{"a", "b"}}},
		&authenticationv1.SelfSubjectReview{},
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			Audiences: []string{"a"}, ExpirationSeconds: ptr[int64](600),
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "p", UID: "u"},
		}},
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: resource, User: "u", Groups: []string{"g"}, UID: "x", Extra: map[string]authorizationv1.ExtraValue{"k": {"a", "b"}},
		}},
		&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/p", Verb: "get"},
		}},
		&authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n"}, Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: resource, User: "u"},
		},
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "n"}},
		&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", ResourceVersion: "7", UID: "u", Generation: 3, OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "K", Name: "o", UID: "u", Controller: ptr(true), BlockOwnerDeletion: ptr(false)},
			}},
			Spec: autoscalingv1.ScaleSpec{Replicas: 3}, Status: autoscalingv1.ScaleStatus{Replicas: 2, Selector: "a=b"},
		},
	}
}
