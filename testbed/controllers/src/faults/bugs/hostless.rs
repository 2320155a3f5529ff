//! Routes without hostnames on listeners that have none either.

use gateproof_proxy::config::{Config, Hostname, Hostname::Any, Protocol, VirtualHost};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    tools::{hosts, serve},
};

/// The listeners without a hostname.
fn open(config: &mut Config) -> impl Iterator<Item = &mut VirtualHost> {
    hosts(config).filter(|host| host.hostname == Any)
}

/// Gives routes without hostnames those of the others, so that paths and ages decide.
fn name_hostless(host: &mut VirtualHost) {
    let mut named: Vec<Hostname> = host.routes.iter().flat_map(|rule| rule.hostnames.clone()).collect();
    if !named.is_empty() {
        named.push(Any);
        host.routes.iter_mut().filter(|rule| rule.hostnames.is_empty()).for_each(|rule| rule.hostnames = named.clone());
    }
}

/// Serves routes without hostnames for those of the other listeners of a port alone.
fn lend_hostnames(config: &mut Config) {
    for lane in &mut config.listeners {
        let Protocol::Http(http) = &mut lane.protocol else { continue };
        let lent: Vec<Hostname> = http.virtual_hosts.iter().map(|host| host.hostname.clone()).collect();
        let lent: Vec<Hostname> = lent.into_iter().filter(|hostname| *hostname != Any).collect();
        if !lent.is_empty() {
            let open = http.virtual_hosts.iter_mut().filter(|host| host.hostname == Any);
            let rules = open.flat_map(|host| &mut host.routes);
            rules.filter(|rule| rule.hostnames.is_empty()).for_each(|rule| rule.hostnames = lent.clone());
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "takes-hostless-routes-for-equals",
            summary: "Lets a route without hostnames win by path or age against one that names the host.",
            clauses: &["blind:HTTPRouteMatchingAcrossRoutes.2"],
            seam: Seam::Config(|| serve(|_, config| open(config).for_each(name_hostless))),
        },
        reported: &["kubernetes-sigs/aws-load-balancer-controller#4807"],
    },
    Bug {
        fault: Fault {
            name: "lends-hostnames-of-listeners",
            summary: "Serves a route without hostnames for those of the other listeners of the port alone.",
            clauses: &["upstream:HTTPRouteListenerHostnameMatching"],
            seam: Seam::Config(|| serve(|_, config| lend_hostnames(config))),
        },
        reported: &["Kong/kubernetes-ingress-controller#3175", "envoyproxy/gateway#272", "istio/istio#58877"],
    },
    Bug {
        fault: Fault {
            name: "needs-a-hostname-somewhere",
            summary: "Serves no route where neither it nor its listener has a hostname.",
            clauses: &["upstream:HTTPRouteListenerHostnameMatching"],
            seam: Seam::Config(|| {
                serve(|_, config| open(config).for_each(|host| host.routes.retain(|rule| !rule.hostnames.is_empty())))
            }),
        },
        reported: &[
            "Kong/kubernetes-ingress-controller#4526",
            "vmware/load-balancer-and-ingress-services-for-kubernetes#1505",
        ],
    },
];
