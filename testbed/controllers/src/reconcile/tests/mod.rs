#![allow(clippy::unwrap_used)]

mod authorities;
mod class;
mod clients;
mod gateway;
mod grpcroute;
mod httproute;
mod infrastructure;
mod listener;
mod listener_filters;
mod listener_set;
mod parents;
mod properties;
mod references;
mod tcproute;
mod tls;
mod tlsroute;
mod udproute;

use serde_json::Value;

use super::{Outcome, reconcile};
use crate::{
    settings::Settings,
    snapshot::{Bind, Kind, Snapshot},
    status::{Condition, DesiredStatus, StatusUpdate},
};

/// A class, a namespace, a Gateway with one open HTTP listener and a Service with one endpoint.
const BASE: &str = r#"
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
   metadata: {name: httproutes.gateway.networking.k8s.io, annotations: {gateway.networking.k8s.io/bundle-version: v1.6.1}},
   spec: {group: gateway.networking.k8s.io, names: {kind: HTTPRoute, plural: httproutes}}}
- {apiVersion: v1, kind: Namespace, metadata: {name: demo, labels: {team: red}}}
- {apiVersion: v1, kind: Namespace, metadata: {name: other, labels: {team: blue}}}
- {apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: ours, generation: 1},
   spec: {controllerName: gateproof.dev/reference}}
- apiVersion: gateway.networking.k8s.io/v1
  kind: Gateway
  metadata: {namespace: demo, name: gw, uid: gw, generation: 3, creationTimestamp: 2026-01-01T00:00:00Z}
  spec: {gatewayClassName: ours, listeners: [{name: http, port: 80, protocol: HTTP}]}
- apiVersion: v1
  kind: Service
  metadata: {namespace: demo, name: echo}
  spec: {ports: [{port: 8080}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {namespace: demo, name: echo-1, labels: {kubernetes.io/service-name: echo}}
  addressType: IPv4
  ports: [{port: 3000}]
  endpoints: [{addresses: [10.0.0.1]}]
"#;

/// A cluster under construction.
pub(super) struct World {
    pub(super) snapshot: Snapshot,
    pub(super) settings: Settings,
}

impl World {
    /// The base with further objects, which replace those of the same name.
    pub(super) fn with(objects: &str) -> Self {
        let mut world = Self { snapshot: Snapshot::default(), settings: Settings::default() };
        world.add(BASE);
        world.add(objects);
        world
    }

    pub(super) fn add(&mut self, objects: &str) {
        let objects: Vec<Value> = serde_yaml::from_str(objects).unwrap();
        for object in objects {
            self.snapshot.put(Kind::of(&object).unwrap(), object).unwrap();
        }
    }

    /// A route of this name with this spec, in YAML flow style; the parentRef is the base Gateway unless it says so.
    pub(super) fn http_route(&mut self, name: &str, spec: &str) {
        let parents = if spec.contains("parentRefs") { "" } else { "parentRefs: [{name: gw}], " };
        self.add(&format!(
            "- {{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, \
             metadata: {{namespace: demo, name: {name}, uid: {name}, generation: 7}}, spec: {{{parents}{spec}}}}}"
        ));
    }

    /// Reconciles until the data plane has answered; every port that it is asked for can be bound.
    pub(super) fn settle(&mut self) -> Outcome {
        self.settle_with(|_| Bind::Bound)
    }

    pub(super) fn settle_with(&mut self, bind: impl Fn(u16) -> Bind) -> Outcome {
        let first = reconcile(&self.snapshot, &self.settings);
        self.snapshot.addresses = first.addresses;
        let lanes = first.config.listeners.iter();
        self.snapshot.binds =
            lanes.map(|lane| ((lane.address, lane.port, lane.protocol.transport()), bind(lane.port))).collect();
        let second = reconcile(&self.snapshot, &self.settings);
        assert_eq!(second.config, first.config, "what the data plane said must not change what it is told");
        second
    }
}

/// The update of one object.
pub(super) fn update<'a>(outcome: &'a Outcome, kind: Kind, name: &str) -> Option<&'a StatusUpdate> {
    outcome.statuses.iter().find(|update| update.kind == kind && update.key.name == name)
}

fn render(conditions: &[Condition]) -> String {
    let one = |condition: &Condition| format!("{}={}/{}", condition.r#type, condition.status, condition.reason);
    conditions.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The conditions of an object or, for a route, of each of its parents.
pub(super) fn conditions(outcome: &Outcome, kind: Kind, name: &str) -> Vec<String> {
    match update(outcome, kind, name).map(|update| &update.status) {
        None => Vec::new(),
        Some(
            DesiredStatus::GatewayClass { conditions, .. }
            | DesiredStatus::Gateway { conditions, .. }
            | DesiredStatus::ListenerSet { conditions, .. },
        ) => {
            vec![render(conditions)]
        }
        Some(DesiredStatus::Route { parents } | DesiredStatus::Policy { ancestors: parents }) => {
            parents.iter().map(|parent| render(&parent.conditions)).collect()
        }
    }
}

/// The listeners of the base Gateway: name, attached routes, kinds and conditions.
pub(super) fn listeners(outcome: &Outcome) -> Vec<String> {
    let Some(DesiredStatus::Gateway { listeners, .. }) =
        update(outcome, Kind::Gateway, "gw").map(|update| &update.status)
    else {
        return Vec::new();
    };
    let kinds =
        |kinds: &[crate::model::RouteKind]| kinds.iter().map(|kind| kind.kind.clone()).collect::<Vec<_>>().join("+");
    let one = |of: &crate::status::ListenerStatus| {
        format!("{} {} [{}] {}", of.name, of.attached_routes, kinds(&of.supported_kinds), render(&of.conditions))
    };
    listeners.iter().map(one).collect()
}

/// The message of a condition of a route's first parent, or of the object itself.
pub(super) fn message(outcome: &Outcome, kind: Kind, name: &str, r#type: &str) -> String {
    let mut update = update(outcome, kind, name).unwrap().clone();
    let lists = update.condition_lists();
    lists[0].iter().find(|condition| condition.r#type == r#type).unwrap().message.clone()
}

/// What the data plane does: a line for each virtual host or TCP port, and one for each rule below it.
pub(super) fn lanes(outcome: &Outcome) -> Vec<String> {
    use gateproof_proxy::config::{BackendTarget, Protocol, TcpBackend, TcpTarget, VirtualHost};
    fn to(backends: &[TcpBackend]) -> String {
        let to = backends.iter().map(|backend| match &backend.target {
            TcpTarget::Endpoints(to) => format!("{}x{to:?}", backend.weight),
            TcpTarget::Encrypted { endpoints, .. } => format!("{}xtls{endpoints:?}", backend.weight),
            TcpTarget::Refuse { .. } => format!("{}xrefuse", backend.weight),
        });
        to.collect::<Vec<_>>().join(" ")
    }
    let mut lines = Vec::new();
    let http = |lines: &mut Vec<String>, lane: String, host: &VirtualHost| {
        lines.push(format!("{lane} {}", host.hostname));
        for route in &host.routes {
            let hosts: Vec<String> = route.hostnames.iter().map(ToString::to_string).collect();
            let to = route.backends.iter().map(|backend| match &backend.target {
                BackendTarget::Endpoints(to) => format!("{}x{to:?}", backend.weight),
                BackendTarget::H2cEndpoints(to) => format!("{}xh2c{to:?}", backend.weight),
                BackendTarget::Tls { endpoints, tls, .. } => {
                    format!("{}xtls:{}{endpoints:?}", backend.weight, tls.server_name)
                }
                BackendTarget::Fail { status, .. } | BackendTarget::Answer { status, .. } => {
                    format!("{}x{status}", backend.weight)
                }
            });
            lines.push(format!(
                "  {}.{} [{}] -> {}",
                route.id.name,
                route.id.rule,
                hosts.join(","),
                to.collect::<Vec<_>>().join(" ")
            ));
        }
    };
    for lane in &outcome.config.listeners {
        let name = format!("{}:{}", lane.address, lane.port);
        match &lane.protocol {
            Protocol::Http(of) => of.virtual_hosts.iter().for_each(|host| http(&mut lines, name.clone(), host)),
            Protocol::Https(of) => {
                of.iter().for_each(|tls| http(&mut lines, format!("{name} tls"), &tls.virtual_host));
            }
            Protocol::Tls(of) => {
                of.https.iter().for_each(|tls| http(&mut lines, format!("{name} tls"), &tls.virtual_host));
                for stream in &of.streams {
                    let mode = if stream.certificates.is_some() { "terminate" } else { "pass" };
                    let routes = stream.routes.iter().map(|route| {
                        let hosts: Vec<String> = route.hostnames.iter().map(ToString::to_string).collect();
                        format!("[{}] {}", hosts.join(","), route.backends.len())
                    });
                    let routes: Vec<String> = routes.collect();
                    lines.push(format!("{name} {mode} {} {}", stream.hostname, routes.join(" ")));
                }
            }
            Protocol::Tcp(of) => lines.push(format!("{name} tcp -> {}", to(&of.backends))),
            Protocol::Udp(of) => lines.push(format!("{name} udp -> {}", to(&of.backends))),
        }
    }
    lines
}
