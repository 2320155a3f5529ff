//! From Services to endpoints.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use gateproof_proxy::{
    compiled::CompiledRoute,
    config::{BackendTarget, Config, Filter, Protocol, Route},
    exchange::{BackendChoice, Exchange, RequestHead},
};
use serde_json::{Value, json};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        endpoints::keep_lanes,
        tools::{backends, each, hosts, rules, serve, serve_from, view},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Object, ObjectKey, Snapshot},
};

/// Sends what a route has for several ports of a Service to the first of them, where that is so of the Service.
fn merge_ports(config: &mut Config, is_so_of: impl Fn(&str) -> bool) {
    let mut first: BTreeMap<(String, String, String), BackendTarget> = BTreeMap::new();
    for rule in rules(config) {
        let (namespace, name) = (rule.id.namespace.clone(), rule.id.name.clone());
        for backend in &mut rule.backends {
            let Some((service, _)) = backend.id.rsplit_once(':').filter(|(service, _)| is_so_of(service)) else {
                continue;
            };
            let key = (namespace.clone(), name.clone(), service.to_owned());
            backend.target = first.entry(key).or_insert_with(|| backend.target.clone()).clone();
        }
    }
}

/// Sends all that a route has for a Service to the port that it names first, once the endpoints of that have changed.
#[derive(Default)]
struct MixesPorts(BTreeMap<String, Vec<Value>>);

impl ConfigSeam for MixesPorts {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let mut now: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for slice in seen.snapshot.all(Kind::EndpointSlice) {
            now.entry(service_of(&slice.raw).to_string()).or_default().push(slice.raw["endpoints"].clone());
        }
        let mut ports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (service, port) in backends(config).filter_map(|backend| backend.id.rsplit_once(':')) {
            ports.entry(service.to_owned()).or_default().insert(port.to_owned());
        }
        let of_several = ports.into_iter().filter(|(_, ports)| ports.len() > 1).map(|(service, _)| service);
        let mut changed = BTreeSet::new();
        for service in of_several {
            let now = now.remove(&service).unwrap_or_default();
            if *self.0.entry(service.clone()).or_insert_with(|| now.clone()) != now {
                changed.insert(service);
            }
        }
        merge_ports(config, |service| changed.contains(service));
    }
}

/// Gives all EndpointSlices of a Service whose target port has a name the numbers of the first.
fn resolve_names_once(snapshot: &mut Snapshot) {
    let named = snapshot.all(Kind::Service).filter(|service| service.raw["spec"]["ports"][0]["targetPort"].is_string());
    let named: Vec<_> = named.map(|service| service.key()).collect();
    let mut first: BTreeMap<ObjectKey, Value> = BTreeMap::new();
    snapshot.edit(Kind::EndpointSlice, |slice| {
        let key = service_of(slice);
        if named.contains(&key) {
            let number = first.entry(key).or_insert_with(|| slice["ports"][0]["port"].clone()).clone();
            each(slice, "/ports").for_each(|port| port["port"] = number.clone());
        }
    });
}

/// Takes the ports of a Service away that come behind another of their number.
fn forget_all_but_the_first_of_a_number(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Service, |service| {
        let Some(ports) = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut) else { return };
        let mut numbers = BTreeSet::new();
        ports.retain(|port| numbers.insert(port["port"].as_u64()));
    });
}

/// Takes the TCP ports of a Service away that come behind a UDP port of their number.
fn forget_tcp_ports_behind_udp(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Service, |service| {
        let Some(ports) = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut) else { return };
        let mut of_udp = BTreeSet::new();
        ports.retain(|port| {
            let number = port["port"].as_u64();
            if is_udp(port) {
                of_udp.insert(number);
            }
            is_udp(port) || !of_udp.contains(&number)
        });
    });
}

fn is_udp(port: &Value) -> bool {
    port["protocol"] == "UDP"
}

/// Has the TCP and the UDP port of a Service that have one number stand for each other.
fn exchange_protocols(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Service, |service| {
        let mut numbers = [BTreeSet::new(), BTreeSet::new()];
        for port in each(service, "/spec/ports") {
            numbers[usize::from(is_udp(port))].insert(port["port"].as_u64());
        }
        let [tcp, udp] = numbers;
        for port in each(service, "/spec/ports") {
            let number = port["port"].as_u64();
            if tcp.contains(&number) && udp.contains(&number) {
                port["protocol"] = if is_udp(port) { "TCP" } else { "UDP" }.into();
            }
        }
    });
}

/// Serves lanes as if the ports of Services that have one number stood for each other, where it says so.
fn exchange_ports(seen: Seen<'_>, config: &mut Config, keep: fn(Protocol, &mut Protocol)) {
    keep_lanes(seen.otherwise(exchange_protocols).config, config, keep);
}

/// Says of slices without ports that they have the one at which their Service is asked.
fn invent_ports_of_slices(snapshot: &mut Snapshot) {
    let known = |service: &Arc<Object>| (service.key(), service.raw["spec"]["ports"][0]["port"].clone());
    let numbers: BTreeMap<ObjectKey, Value> = snapshot.all(Kind::Service).map(known).collect();
    snapshot.edit(Kind::EndpointSlice, |slice| {
        if let Some(number) = numbers.get(&service_of(slice)).filter(|_| has_no_ports(slice)) {
            slice["ports"] = json!([{"port": number}]);
        }
    });
}

/// Leaves a Service that has a slice without ports no endpoints.
fn give_up_beside_slices_without_ports(snapshot: &mut Snapshot) {
    let without = snapshot.all(Kind::EndpointSlice).filter(|slice| has_no_ports(&slice.raw));
    let given_up: BTreeSet<ObjectKey> = without.map(|slice| service_of(&slice.raw)).collect();
    snapshot.retain(Kind::EndpointSlice, |slice| !given_up.contains(&service_of(&slice.raw)));
}

fn has_no_ports(slice: &Value) -> bool {
    slice["ports"].as_array().is_none_or(Vec::is_empty)
}

/// The Service that an EndpointSlice belongs to.
fn service_of(slice: &Value) -> ObjectKey {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &slice["metadata"];
    ObjectKey::new(text(&metadata["namespace"]), text(&metadata["labels"]["kubernetes.io/service-name"]))
}

/// The largest weight that it can tell from larger ones.
const WEIGHT: u32 = 65_535;

/// The parts into which some data planes cut what weights share.
const PARTS: u64 = 10_000;

/// Whether every share of a rule is a whole number of those parts.
fn shares_are_whole(rule: &Route) -> bool {
    let weights = || rule.backends.iter().map(|to| u64::from(to.weight));
    let all: u64 = weights().sum();
    all == 0 || weights().all(|weight| (weight * PARTS).is_multiple_of(all))
}

/// Applies the filters of the first backend with a share to the requests for all that have filters.
struct FiltersAsTheFirst;

impl Exchange for FiltersAsTheFirst {
    fn on_backend(&self, _: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        let first = route.rule.backends.iter().position(|to| to.weight > 0 && !to.filters.is_empty());
        match (first, drawn) {
            (Some(first), BackendChoice::Forward { endpoint, h2c, .. }) => {
                BackendChoice::Forward { backend: first, endpoint, h2c }
            }
            (_, drawn) => drawn,
        }
    }
}

/// Has no backend for a rule that rewrites what several backends with filters share.
struct LosesShares;

impl Exchange for LosesShares {
    fn on_backend(&self, _: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        let rewrites = route.rule.filters.iter().any(|filter| matches!(filter, Filter::UrlRewrite(_)));
        let filtered = route.rule.backends.iter().filter(|to| !to.filters.is_empty()).count();
        if rewrites && filtered > 1 {
            return BackendChoice::Fail { backend: None, status: 500, reason: "no such cluster".to_owned() };
        }
        drawn
    }
}

/// Counts a weight once for each endpoint of its Service.
fn weigh_endpoints(config: &mut Config) {
    for backend in backends(config) {
        if let BackendTarget::Endpoints(all) | BackendTarget::H2cEndpoints(all) = &backend.target {
            let endpoints = u32::try_from(all.len()).unwrap_or(u32::MAX);
            backend.weight = backend.weight.saturating_mul(endpoints.max(1));
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "weighs-endpoints",
            summary: "Gives a Service with two endpoints twice the share that its weight says.",
            clauses: &["blind:HTTPRouteWeight.2"],
            seam: Seam::Config(|| serve(|_, config| weigh_endpoints(config))),
        },
        reported: &["envoyproxy/gateway#1494"],
    },
    Bug {
        fault: Fault {
            name: "filters-all-shares-alike",
            summary: "Applies the filters of the first backend with a share to the requests for the others.",
            clauses: &[
                "upstream:HTTPRouteRequestHeaderModifierBackendWeights",
                "blind:HTTPRouteRequestHeaderModifierBackendWeights.2",
                "blind:HTTPRouteBackendURLRewrite.1",
            ],
            seam: Seam::Exchange(|| Arc::new(FiltersAsTheFirst)),
        },
        reported: &["envoyproxy/gateway#5230"],
    },
    Bug {
        fault: Fault {
            name: "loses-shares-behind-rewrites",
            summary: "Answers 500 where a rule rewrites what several backends with filters of their own share.",
            clauses: &["upstream:HTTPRouteRewritePath"],
            seam: Seam::Exchange(|| Arc::new(LosesShares)),
        },
        reported: &["envoyproxy/gateway#7019"],
    },
    Bug {
        fault: Fault {
            name: "knows-one-port-of-a-service",
            summary: "Sends the requests of all rules of a route for one Service to the port that the first of them names.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| serve(|_, config| merge_ports(config, |_| true))),
        },
        reported: &["aws/aws-application-networking-k8s#444"],
    },
    Bug {
        fault: Fault {
            name: "resolves-port-names-once",
            summary: "Dials all endpoints of a Service whose target port has a name on the port of the first.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| serve_from(resolve_names_once)),
        },
        reported: &["Kong/kong-operator#2691", "haproxytech/kubernetes-ingress#737"],
    },
    Bug {
        fault: Fault {
            name: "knows-one-port-of-a-number",
            summary: "Has no way to the TCP port of a Service whose UDP port has the same number and comes first.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| serve_from(forget_tcp_ports_behind_udp)),
        },
        reported: &["Kong/kubernetes-ingress-controller#1080", "kubernetes/ingress-nginx#984"],
    },
    Bug {
        fault: Fault {
            name: "refuses-ports-by-the-first-of-a-number",
            summary: "Says UnsupportedProtocol of a route to a port of a Service where another port of the number, with another protocol, comes \
                      first.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Snapshot(|| view(forget_all_but_the_first_of_a_number)),
        },
        reported: &["Kong/kubernetes-ingress-controller#1080"],
    },
    Bug {
        fault: Fault {
            name: "finds-tcp-ports-for-datagrams",
            summary: "Sends the datagrams for a port of a Service to what is behind the TCP port of the same number.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| {
                serve(|seen, config| {
                    exchange_ports(seen, config, |old, now| {
                        if let (Protocol::Udp(old), Protocol::Udp(now)) = (old, now) {
                            *now = old;
                        }
                    });
                })
            }),
        },
        reported: &["istio/istio#12742", "kubernetes-sigs/aws-load-balancer-controller#2275"],
    },
    Bug {
        fault: Fault {
            name: "finds-udp-ports-for-streams",
            summary: "Sends the connections for a port of a Service to what is behind the UDP port of the same number.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| {
                serve(|seen, config| {
                    exchange_ports(seen, config, |old, now| {
                        if let (Protocol::Tcp(old), Protocol::Tcp(now)) = (old, now) {
                            *now = old;
                        }
                    });
                })
            }),
        },
        reported: &["istio/istio#12742", "kubernetes-sigs/aws-load-balancer-controller#2275"],
    },
    Bug {
        fault: Fault {
            name: "mixes-ports-once-endpoints-change",
            summary: "Sends all requests of a route for a Service to the port that it names first, once the endpoints of that have changed.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| Box::<MixesPorts>::default()),
        },
        reported: &["apache/shenyu#6493"],
    },
    Bug {
        fault: Fault {
            name: "invents-ports-of-slices",
            summary: "Dials the endpoints of an EndpointSlice without ports on the port of the Service.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| serve_from(invent_ports_of_slices)),
        },
        reported: &["zalando/skipper#3151", "kubernetes/ingress-nginx#9149"],
    },
    Bug {
        fault: Fault {
            name: "gives-up-beside-slices-without-ports",
            summary: "Has no endpoints of a Service that has an EndpointSlice without ports.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| serve_from(give_up_beside_slices_without_ports)),
        },
        reported: &["traefik/traefik#13481"],
    },
    Bug {
        fault: Fault {
            name: "caps-weights",
            summary: "Takes no weight for more than 65,535.",
            clauses: &["upstream:HTTPRouteWeight"],
            seam: Seam::Config(|| {
                serve(|_, config| backends(config).for_each(|backend| backend.weight = backend.weight.min(WEIGHT)))
            }),
        },
        reported: &["Kong/kong-operator#2515"],
    },
    Bug {
        fault: Fault {
            name: "drops-rules-with-uneven-shares",
            summary: "Has no rule whose shares are no whole numbers of ten thousandths.",
            clauses: &["upstream:HTTPRouteWeight"],
            seam: Seam::Config(|| {
                serve(|_, config| hosts(config).for_each(|host| host.routes.retain(shares_are_whole)))
            }),
        },
        reported: &["hashicorp/consul#16455", "hashicorp/consul#16531"],
    },
];
