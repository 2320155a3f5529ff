package services

import (
	"slices"
	"testing"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

func TestNames(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	services, endpoints := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	names := &names{services: services.Lister()}
	if err := names.index(endpoints.Informer()); err != nil {
		t.Fatal(err)
	}
	no := false
	for _, service := range []*corev1.Service{
		named("plain", corev1.ServiceSpec{ClusterIP: "10.96.0.7", ClusterIPs: []string{"10.96.0.7", "fd00::7"}}),
		named("headless", corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, ClusterIPs: []string{corev1.ClusterIPNone}}),
		named("early", corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true}),
		named("elsewhere", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}),
	} {
		if err := services.Informer().GetStore().Add(service); err != nil {
			t.Fatal(err)
		}
	}
	for _, service := range []string{"headless", "early"} {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			Endpoints: []discoveryv1.Endpoint{
				{Addresses: []string{"10.244.0.2"}},
				{Addresses: []string{"10.244.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &no}},
			},
		}
		if err := endpoints.Informer().GetIndexer().Add(slice); err != nil {
			t.Fatal(err)
		}
	}
	for _, asked := range []struct {
		name     string
		kind     uint16
		code     int
		expected []string
	}{
		{"plain.ns.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"10.96.0.7"}},
		{"Plain.NS.svc.Cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"10.96.0.7"}},
		{"plain.ns.svc.cluster.local.", dns.TypeAAAA, dns.RcodeSuccess, []string{"fd00::7"}},
		{"plain.ns.svc.cluster.local.", dns.TypeTXT, dns.RcodeSuccess, nil},
		{"headless.ns.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"10.244.0.2"}},
		{"headless.ns.svc.cluster.local.", dns.TypeAAAA, dns.RcodeSuccess, nil},
		{"early.ns.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"10.244.0.2", "10.244.0.3"}},
		{"elsewhere.ns.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"example.com."}},
		{"plain.other.svc.cluster.local.", dns.TypeA, dns.RcodeNameError, nil},
		{"a.plain.ns.svc.cluster.local.", dns.TypeA, dns.RcodeNameError, nil},
		{"plain.ns.svc.cluster.local.example.com.", dns.TypeA, dns.RcodeNameError, nil},
		{"example.com.", dns.TypeA, dns.RcodeNameError, nil},
	} {
		t.Run(asked.name+dns.TypeToString[asked.kind], func(t *testing.T) {
			records, code := names.answer(dns.Question{Name: asked.name, Qtype: asked.kind, Qclass: dns.ClassINET})
			var found []string
			for _, record := range records {
				switch record := record.(type) {
				case *dns.A:
					found = append(found, record.A.String())
				case *dns.AAAA:
					found = append(found, record.AAAA.String())
				case *dns.CNAME:
					found = append(found, record.Target)
				}
			}
			if code != asked.code || !slices.Equal(found, asked.expected) {
				t.Errorf("%s %v, expected %s %v", dns.RcodeToString[code], found, dns.RcodeToString[asked.code], asked.expected)
			}
		})
	}
}

func named(name string, spec corev1.ServiceSpec) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: spec}
}
