package services

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	zone       = "cluster.local."
	timeToLive = 5
)

// names answers for Services: their own address, those of their ready endpoints if they have none, or another name. Nothing else is
// known, since nothing leaves the node.
type names struct {
	services listers.ServiceLister
	byOwner  cache.Indexer
}

const byService = "service"

// index finds the slices of a Service without a walk over all.
func (n *names) index(informer cache.SharedIndexInformer) error {
	n.byOwner = informer.GetIndexer()
	return informer.AddIndexers(cache.Indexers{byService: func(object any) ([]string, error) {
		slice, is := object.(*discoveryv1.EndpointSlice)
		if !is {
			return nil, nil
		}
		return []string{slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]}, nil
	}})
}

func (n *names) serve(ctx context.Context, listen, network string) error {
	server := &dns.Server{Addr: listen, Net: network, Handler: n}
	stop := context.AfterFunc(ctx, func() {
		if err := server.Shutdown(); err != nil {
			fmt.Fprintln(os.Stderr, "node: ending the names:", err)
		}
	})
	defer stop()
	if err := server.ListenAndServe(); err != nil {
		return fmt.Errorf("serving names at %s %s: %w", network, listen, err)
	}
	return nil
}

// ServeDNS answers one question.
func (n *names) ServeDNS(to dns.ResponseWriter, asked *dns.Msg) {
	answer := new(dns.Msg)
	answer.SetReply(asked)
	answer.Authoritative = true
	if len(asked.Question) == 1 {
		answer.Answer, answer.Rcode = n.answer(asked.Question[0])
	} else {
		answer.Rcode = dns.RcodeFormatError
	}
	size := dns.MinMsgSize
	if option := asked.IsEdns0(); option != nil {
		size = int(option.UDPSize())
	}
	if _, tcp := to.RemoteAddr().(*net.TCPAddr); tcp {
		size = dns.MaxMsgSize
	}
	answer.Truncate(size)
	if err := to.WriteMsg(answer); err != nil {
		fmt.Fprintln(os.Stderr, "node: answering for a name:", err)
	}
}

func (n *names) answer(question dns.Question) ([]dns.RR, int) {
	// NAME.NAMESPACE.svc.cluster.local
	labels := dns.SplitDomainName(strings.ToLower(question.Name))
	within := strings.HasSuffix(strings.ToLower(question.Name), ".svc."+zone)
	if !within || len(labels) != 5 {
		return nil, dns.RcodeNameError
	}
	service, err := n.services.Services(labels[1]).Get(labels[0])
	switch {
	case apierrors.IsNotFound(err):
		return nil, dns.RcodeNameError
	case err != nil:
		return nil, dns.RcodeServerFailure
	}
	header := dns.RR_Header{Name: question.Name, Class: dns.ClassINET, Ttl: timeToLive}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		header.Rrtype = dns.TypeCNAME
		return []dns.RR{&dns.CNAME{Hdr: header, Target: dns.Fqdn(service.Spec.ExternalName)}}, dns.RcodeSuccess
	}
	addresses := service.Spec.ClusterIPs
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		if addresses, err = n.ready(service); err != nil {
			return nil, dns.RcodeServerFailure
		}
	}
	var records []dns.RR
	for _, address := range addresses {
		switch ip := net.ParseIP(address); {
		case ip == nil:
		case ip.To4() != nil && question.Qtype == dns.TypeA:
			header.Rrtype = dns.TypeA
			records = append(records, &dns.A{Hdr: header, A: ip})
		case ip.To4() == nil && question.Qtype == dns.TypeAAAA:
			header.Rrtype = dns.TypeAAAA
			records = append(records, &dns.AAAA{Hdr: header, AAAA: ip})
		}
	}
	return records, dns.RcodeSuccess
}

// ready are the addresses of a Service's endpoints that are ready, or of all if it publishes them.
func (n *names) ready(service *corev1.Service) ([]string, error) {
	slices, err := n.byOwner.ByIndex(byService, service.Namespace+"/"+service.Name)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, object := range slices {
		slice, is := object.(*discoveryv1.EndpointSlice)
		if !is {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
			if ready || service.Spec.PublishNotReadyAddresses {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
	}
	return addresses, nil
}
