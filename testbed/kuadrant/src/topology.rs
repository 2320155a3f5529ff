//! How requests can go: listener, route and rule, and which policies sit where on the way.

use gateproof_proxy::config::Hostname;
use gateproof_proxy::matching::hostname::covers;
use serde_json::Value;

use crate::object::{Key, Kind, Snapshot, full_name, is_true, items, name, namespace, text};

/// One way of a request. Only those are listed whose listener is programmed and whose route its parent accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Path<'a> {
    /// The Gateway.
    pub gateway: &'a Value,
    /// The name of the listener.
    pub listener: &'a str,
    /// The port of the listener.
    pub port: u16,
    /// The route's kind.
    pub kind: Kind,
    /// The route.
    pub route: &'a Value,
    /// The place of the rule in the route.
    pub rule: usize,
    /// The controller of the Gateway's class.
    pub controller: &'a str,
}

impl Path<'_> {
    /// A text that no other path has.
    #[must_use]
    pub fn id(&self) -> String {
        let (gateway, route) = (full_name(self.gateway), full_name(self.route));
        format!("{gateway}/{}|{}|{route}#{}", self.listener, self.kind.name(), self.rule)
    }

    /// The hosts that the route answers for, or the listener's, or any.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        let own: Vec<String> =
            items(self.route, "/spec/hostnames").filter_map(|host| host.as_str().map(str::to_owned)).collect();
        if !own.is_empty() {
            return own;
        }
        let listener = items(self.gateway, "/spec/listeners").find(|listener| listener["name"] == self.listener);
        vec![listener.and_then(|listener| listener["hostname"].as_str()).unwrap_or("*").to_owned()]
    }

    /// How near to the request a policy sits: 0 at the Gateway, 1 at its listener, 2 at the route, 3 at its rule.
    #[must_use]
    pub fn level(&self, policy: &Value) -> Option<u8> {
        let target = &policy["spec"]["targetRef"];
        let section = target["sectionName"].as_str();
        let is = |kind: Kind, object: &Value| {
            target["kind"] == kind.name() && namespace(policy) == namespace(object) && target["name"] == name(object)
        };
        if is(Kind::Gateway, self.gateway) {
            return match section {
                None => Some(0),
                Some(section) => (section == self.listener).then_some(1),
            };
        }
        if is(self.kind, self.route) {
            let rule = text(&self.route["spec"]["rules"][self.rule], "/name");
            return match section {
                None => Some(2),
                Some(section) => (section == rule).then_some(3),
            };
        }
        None
    }
}

/// Every way there is.
#[must_use]
pub fn paths(snapshot: &Snapshot) -> Vec<Path<'_>> {
    let mut paths = Vec::new();
    for gateway in snapshot.all(Kind::Gateway) {
        let class = snapshot.get(Kind::GatewayClass, "", text(gateway, "/spec/gatewayClassName"));
        let controller = class.map(|class| text(class, "/spec/controllerName")).unwrap_or_default();
        for listener in items(gateway, "/spec/listeners").filter(|listener| is_programmed(gateway, listener)) {
            let routes = [Kind::HttpRoute, Kind::GrpcRoute];
            let routes = routes.into_iter().flat_map(|kind| snapshot.all(kind).map(move |route| (kind, route)));
            for (kind, route) in routes {
                if !is_attached(route, gateway, listener, controller) {
                    continue;
                }
                paths.extend(items(route, "/spec/rules").enumerate().map(|(rule, _)| Path {
                    gateway,
                    listener: text(listener, "/name"),
                    port: listener["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or_default(),
                    kind,
                    route,
                    rule,
                    controller,
                }));
            }
        }
    }
    paths
}

fn is_programmed(gateway: &Value, listener: &Value) -> bool {
    items(gateway, "/status/listeners")
        .any(|status| status["name"] == listener["name"] && is_true(status, "Programmed"))
}

/// Whether the parent of a route that is this listener, by its controller's word, accepted the route.
fn is_attached(route: &Value, gateway: &Value, listener: &Value, controller: &str) -> bool {
    let leads_here = |parent: &Value| {
        let reference = &parent["parentRef"];
        let same = |field: &str, value: &Value| reference[field].is_null() || reference[field] == *value;
        parent["controllerName"] == controller
            && reference["name"] == name(gateway)
            && reference["namespace"].as_str().unwrap_or(namespace(route)) == namespace(gateway)
            && reference["kind"].as_str().is_none_or(|kind| kind == "Gateway")
            && same("sectionName", &listener["name"])
            && same("port", &listener["port"])
            && is_true(parent, "Accepted")
    };
    items(route, "/status/parents").any(leads_here) && share_hosts(route, listener)
}

fn share_hosts(route: &Value, listener: &Value) -> bool {
    let own = Hostname::parse(text(listener, "/hostname"));
    let mut hosts = items(route, "/spec/hostnames").filter_map(Value::as_str).peekable();
    hosts.peek().is_none()
        || hosts.any(|host| {
            let other = Hostname::parse(host);
            let suffix = |hostname: &Hostname| hostname.to_string().trim_start_matches("*.").to_owned();
            own == other || covers(&own, &suffix(&other)) || covers(&other, &suffix(&own)) || own == Hostname::Any
        })
}

/// The object that a policy targets, and the section of it.
///
/// # Errors
/// What is not there, as its kind, namespace, name and section.
pub fn target<'a>(snapshot: &'a Snapshot, policy: &Value) -> Result<(Key, &'a Value), String> {
    let reference = &policy["spec"]["targetRef"];
    let (kind, of, section) = (text(reference, "/kind"), text(reference, "/name"), reference["sectionName"].as_str());
    let described = || match section {
        None => format!("{kind} {}/{of}", namespace(policy)),
        Some(section) => format!("{kind} {}/{of} section {section}", namespace(policy)),
    };
    let found = Kind::find(kind).and_then(|kind| Some((kind, snapshot.get(kind, namespace(policy), of)?)));
    let (kind, object) = found.ok_or_else(described)?;
    let sections = if kind == Kind::Gateway { "/spec/listeners" } else { "/spec/rules" };
    if let Some(section) = section
        && !items(object, sections).any(|part| part["name"] == section)
    {
        return Err(described());
    }
    Ok(((kind, namespace(object).to_owned(), name(object).to_owned()), object))
}
