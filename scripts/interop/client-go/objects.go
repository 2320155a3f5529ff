package main

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// metadata that reaches every field of ObjectMeta that a client may set.
func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:   namespace,
		Name:        name,
		Labels:      map[string]string{"app": "web", "empty": ""},
		Annotations: map[string]string{"example.dev/note": "ünïcode \"quoted\"\n"},
		Finalizers:  nil,
	}
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			ServiceAccountName:            "web",
			AutomountServiceAccountToken:  ptr(false),
			TerminationGracePeriodSeconds: ptr[int64](0),
			NodeSelector:                  map[string]string{"kubernetes.io/os": "linux"},
			SecurityContext:               &corev1.PodSecurityContext{RunAsUser: ptr[int64](65532), RunAsNonRoot: ptr(true)},
			InitContainers:                []corev1.Container{{Name: "init", Image: "example.dev/init:1", Command: []string{"true"}}},
			Containers: []corev1.Container{{
				Name:  "proxy",
				Image: "example.dev/proxy:v1.2.3",
				Args:  []string{"--level", "-1", ""},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
				Env: []corev1.EnvVar{
					{Name: "PLAIN", Value: "a=b"},
					{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
					{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k", Optional: ptr(true),
					}}},
				},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")},
					Limits:   corev1.ResourceList{"memory": resource.MustParse("1Gi")},
				},
				ReadinessProbe: &corev1.Probe{
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
						Path: "/ready", Port: intstr.FromString("http"), HTTPHeaders: []corev1.HTTPHeader{{Name: "X-A", Value: "b"}},
					}},
					InitialDelaySeconds: 1, FailureThreshold: 2,
				},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8081)}}},
				Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
					Command: []string{"/bin/sh", "-c", "exit 0"},
				}}},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr(false), ReadOnlyRootFilesystem: ptr(true),
					Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE"}},
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/proxy", ReadOnly: true}},
			}},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "web"},
					Items:                []corev1.KeyToPath{{Key: "k", Path: "p", Mode: ptr[int32](0o400)}},
				}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
					Medium: corev1.StorageMediumMemory, SizeLimit: ptr(resource.MustParse("16Mi")),
				}}},
				{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
						Audience: "proxy", ExpirationSeconds: ptr[int64](3600), Path: "token",
					}}},
				}}},
			},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
					Weight: 100,
					PodAffinityTerm: corev1.PodAffinityTerm{
						LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
							{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "other"}},
						}},
						TopologyKey: "kubernetes.io/hostname",
					},
				}},
			}},
			Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr[int64](5)}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			}},
			HostAliases: []corev1.HostAlias{{IP: "192.0.2.1", Hostnames: []string{"a.example"}}},
		},
	}
}

// written is one object of each kind that controllers write, with fields of every type that protobuf has to carry.
func written(namespace string) []runtime.Object {
	meta := named(namespace, "web")
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	// A second without a fraction, since Time has none; MicroTime has six digits.
	second := metav1.NewTime(time.Unix(1_700_000_000, 0))
	micro := metav1.NewMicroTime(time.Unix(1_700_000_000, 123_456_000))
	template := podTemplate()
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: meta, Secrets: []corev1.ObjectReference{{Name: "s"}}, AutomountServiceAccountToken: ptr(false)},
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": "v", "empty": ""}, BinaryData: map[string][]byte{"b": {0, 255}}, Immutable: ptr(false)},
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"tls.crt": []byte("c"), "raw": {0xff, 0x00}}, StringData: map[string]string{"text": "t"}, Type: "example.dev/t"},
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, LoadBalancerSourceRanges: []string{"192.0.2.0/24"},
			SessionAffinity:       corev1.ServiceAffinityClientIP,
			SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr[int32](60)}},
			Ports: []corev1.ServicePort{
				{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http"), AppProtocol: ptr("kubernetes.io/h2c")},
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(5353)},
			},
		}},
		//nolint:staticcheck // Endpoints are old, and written still.
		&corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: "192.0.2.10", Hostname: "a", NodeName: ptr("n"), TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "p"}}},
			Ports:     []corev1.EndpointPort{{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP}},
		}}},
		&discoveryv1.EndpointSlice{
			ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{"192.0.2.10"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr(true), Serving: ptr(false)},
				Zone: ptr("z"), Hints: &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z"}}},
			}},
			Ports: []discoveryv1.EndpointPort{{Name: ptr("http"), Port: ptr[int32](8080), Protocol: ptr(corev1.ProtocolTCP)}},
		},
		&corev1.Pod{ObjectMeta: meta, Spec: template.Spec},
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: ptr[int32](0), Selector: selector, Template: template, MinReadySeconds: 3, RevisionHistoryLimit: ptr[int32](0),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr(intstr.FromString("10%")), MaxSurge: ptr(intstr.FromInt32(2)),
			}},
		}},
		&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{
			Selector: selector, Template: template,
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType},
		}},
		&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: ptr[int32](0), Selector: selector, Template: template}},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"", "apps"}, Resources: []string{"pods/status"}, ResourceNames: []string{"a"}, Verbs: []string{"get", "patch"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "web"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "web", Namespace: namespace}, {Kind: "User", APIGroup: rbacv1.GroupName, Name: "u"}},
		},
		&coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr("me"), LeaseDurationSeconds: ptr[int32](15), AcquireTime: &micro, RenewTime: &micro, LeaseTransitions: ptr[int32](0),
		}},
		&corev1.Event{
			ObjectMeta: meta, InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "web", Namespace: namespace},
			Reason: "Made", Message: "m", Type: "Normal", FirstTimestamp: second, LastTimestamp: second, Count: 2,
			Source: corev1.EventSource{Component: "c"}, ReportingController: "example.dev/c", ReportingInstance: "i", Action: "a",
		},
		&eventsv1.Event{
			ObjectMeta: named(namespace, "web-grouped"), EventTime: micro, ReportingController: "example.dev/c", ReportingInstance: "i",
			Action: "Do", Reason: "Done", Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "web", Namespace: namespace},
			Note: "n", Type: "Warning", Series: &eventsv1.EventSeries{Count: 2, LastObservedTime: micro},
		},
	}
}

// clusterWide is one object of each kind without a namespace.
func clusterWide(name string) []runtime.Object {
	meta := named("", name)
	return []runtime.Object{
		&corev1.Namespace{ObjectMeta: meta},
		&corev1.Node{ObjectMeta: meta, Spec: corev1.NodeSpec{PodCIDR: "10.1.0.0/24", Taints: []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}}}},
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/healthz"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "g"}},
		},
		widgetDefinition(name),
	}
}
