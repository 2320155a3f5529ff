package services

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// pool gives every Service of type LoadBalancer an address of a network, and takes it back with the Service.
type pool struct {
	client   kubernetes.Interface
	services listers.ServiceLister
	network  netip.Prefix
}

// give writes the addresses that are missing or too many. What is taken is read from the Services, so it knows after a restart too.
func (p *pool) give(ctx context.Context) {
	all, err := p.services.List(labels.Everything())
	if err != nil {
		fmt.Fprintln(os.Stderr, "node: listing Services:", err)
		return
	}
	taken := make(map[netip.Addr]bool)
	for _, service := range all {
		if address, has := current(service); has {
			taken[address] = true
		}
	}
	for _, service := range all {
		status, changed := p.wanted(service, taken)
		if !changed {
			continue
		}
		next := service.DeepCopy()
		next.Status.LoadBalancer = status
		// A conflict means that there is a newer Service, of which the watch tells.
		if _, err := p.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{}); err != nil {
			fmt.Fprintf(os.Stderr, "node: Service %s/%s: %v\n", service.Namespace, service.Name, err)
		}
	}
}

// wanted is what the status of a Service should be, and whether it is not.
func (p *pool) wanted(service *corev1.Service, taken map[netip.Addr]bool) (corev1.LoadBalancerStatus, bool) {
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.DeletionTimestamp != nil {
		none := corev1.LoadBalancerStatus{}
		return none, service.DeletionTimestamp == nil && !equality.Semantic.DeepEqual(service.Status.LoadBalancer, none)
	}
	if service.Spec.LoadBalancerClass != nil {
		return corev1.LoadBalancerStatus{}, false
	}
	has, any := current(service)
	asked, err := netip.ParseAddr(service.Spec.LoadBalancerIP)
	if err == nil && asked != has && p.network.Contains(asked) && !taken[asked] {
		return p.take(asked, taken), true
	}
	// One that cannot be had is waited for, as with any load balancer.
	if any || service.Spec.LoadBalancerIP != "" {
		return corev1.LoadBalancerStatus{}, false
	}
	for address := p.network.Masked().Addr().Next(); p.network.Contains(address); address = address.Next() {
		if !taken[address] {
			return p.take(address, taken), true
		}
	}
	fmt.Fprintf(os.Stderr, "node: no address of %s is left for Service %s/%s\n", p.network, service.Namespace, service.Name)
	return corev1.LoadBalancerStatus{}, false
}

func (p *pool) take(address netip.Addr, taken map[netip.Addr]bool) corev1.LoadBalancerStatus {
	taken[address] = true
	mode := corev1.LoadBalancerIPModeVIP
	return corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: address.String(), IPMode: &mode}}}
}

func current(service *corev1.Service) (netip.Addr, bool) {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if address, err := netip.ParseAddr(ingress.IP); err == nil {
			return address, true
		}
	}
	return netip.Addr{}, false
}

// notify sends when something changed. One waiting notice stands for all.
func notify(changed chan<- struct{}) cache.ResourceEventHandler {
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { tell() },
		UpdateFunc: func(any, any) { tell() },
		DeleteFunc: func(any) { tell() },
	}
}
