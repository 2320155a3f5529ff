package services

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

func balanced(name string, change func(*corev1.Service)) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	if change != nil {
		change(service)
	}
	return service
}

func has(address string) func(*corev1.Service) {
	return func(service *corev1.Service) {
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	}
}

func TestAddresses(t *testing.T) {
	class := "another"
	for name, given := range map[string]struct {
		services []*corev1.Service
		// What the first one has afterwards.
		expected []string
	}{
		"the first of the network":     {services: []*corev1.Service{balanced("a", nil)}, expected: []string{"192.0.2.1"}},
		"one that nobody has":          {services: []*corev1.Service{balanced("a", nil), balanced("b", has("192.0.2.1"))}, expected: []string{"192.0.2.2"}},
		"none that is left":            {services: []*corev1.Service{balanced("a", nil), balanced("b", has("192.0.2.1")), balanced("c", has("192.0.2.2")), balanced("d", has("192.0.2.3"))}},
		"what it has":                  {services: []*corev1.Service{balanced("a", has("192.0.2.3"))}, expected: []string{"192.0.2.3"}},
		"what it asks for":             {services: []*corev1.Service{balanced("a", asks("192.0.2.2"))}, expected: []string{"192.0.2.2"}},
		"nothing but what it asks":     {services: []*corev1.Service{balanced("a", asks("192.0.2.2")), balanced("b", has("192.0.2.2"))}},
		"nothing from elsewhere":       {services: []*corev1.Service{balanced("a", asks("198.51.100.1"))}},
		"nothing of another class":     {services: []*corev1.Service{balanced("a", func(s *corev1.Service) { s.Spec.LoadBalancerClass = &class })}},
		"nothing for another type":     {services: []*corev1.Service{balanced("a", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })}},
		"taken back with its type":     {services: []*corev1.Service{balanced("a", func(s *corev1.Service) { has("192.0.2.1")(s); s.Spec.Type = corev1.ServiceTypeClusterIP })}},
		"another than it had and asks": {services: []*corev1.Service{balanced("a", func(s *corev1.Service) { has("192.0.2.1")(s); asks("192.0.2.2")(s) })}, expected: []string{"192.0.2.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			services := informers.NewSharedInformerFactory(client, 0).Core().V1().Services()
			for _, service := range given.services {
				if err := client.Tracker().Add(service); err != nil {
					t.Fatal(err)
				}
				if err := services.Informer().GetStore().Add(service); err != nil {
					t.Fatal(err)
				}
			}
			pool := pool{client: client, services: services.Lister(), network: netip.MustParsePrefix("192.0.2.0/30")}
			pool.give(context.Background())
			first, err := client.CoreV1().Services("default").Get(context.Background(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, ingress := range first.Status.LoadBalancer.Ingress {
				found = append(found, ingress.IP)
			}
			if !slices.Equal(found, given.expected) {
				t.Errorf("it has %v, expected %v", found, given.expected)
			}
		})
	}
}

func asks(address string) func(*corev1.Service) {
	return func(service *corev1.Service) { service.Spec.LoadBalancerIP = address }
}
