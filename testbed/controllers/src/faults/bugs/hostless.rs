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

/// Changes the listeners without a hostname that stand beside listeners of their port with these.
fn beside_named(config: &mut Config, change: fn(&mut VirtualHost, &[Hostname])) {
    for lane in &mut config.listeners {
        let Protocol::Http(http) = &mut lane.protocol else { continue };
        let all = http.virtual_hosts.iter().map(|host| host.hostname.clone());
        let named: Vec<Hostname> = all.filter(|hostname| *hostname != Any).collect();
        if !named.is_empty() {
            http.virtual_hosts.iter_mut().filter(|host| host.hostname == Any).for_each(|host| change(host, &named));
        }
    }
}

/// Serves routes without hostnames for those of the other listeners alone.
fn lend_hostnames(host: &mut VirtualHost, named: &[Hostname]) {
    host.routes.iter_mut().filter(|rule| rule.hostnames.is_empty()).for_each(|rule| rule.hostnames = named.to_vec());
}

fn drop_hostless(host: &mut VirtualHost, _: &[Hostname]) {
    host.routes.retain(|rule| !rule.hostnames.is_empty());
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "takes-hostless-routes-for-equals",
            summary: "Lets a route without hostnames win by path or age against one that names the host.",
            clauses: &["OWN-16"],
            seam: Seam::Config(|| serve(|_, config| open(config).for_each(name_hostless))),
        },
        reported: &["kubernetes-sigs/aws-load-balancer-controller#4807"],
    },
    Bug {
        fault: Fault {
            name: "lends-hostnames-of-listeners",
            summary: "Serves a route without hostnames for those of the other listeners of the port alone.",
            clauses: &["OWN-16", "GRPC-04", "upstream:GatewayHTTPListenerIsolation"],
            seam: Seam::Config(|| serve(|_, config| beside_named(config, lend_hostnames))),
        },
        reported: &["Kong/kubernetes-ingress-controller#3175", "envoyproxy/gateway#272", "istio/istio#58877"],
    },
    Bug {
        fault: Fault {
            name: "needs-a-hostname-somewhere",
            summary: "Serves no route where neither it nor its listener has a hostname, beside a listener that has one.",
            clauses: &["OWN-16", "GRPC-04", "upstream:GatewayHTTPListenerIsolation"],
            seam: Seam::Config(|| serve(|_, config| beside_named(config, drop_hostless))),
        },
        reported: &[
            "Kong/kubernetes-ingress-controller#4526",
            "vmware/load-balancer-and-ingress-services-for-kubernetes#1505",
        ],
    },
];
