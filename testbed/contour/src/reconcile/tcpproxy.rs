//! Streams of a root at whose end, or behind which, TLS is.

use gateproof_proxy::config::{TcpBackend, TcpTarget};

use super::{Proxy, Round, lookup, policies, routes};

/// What a tcpproxy comes to.
enum Next<'p> {
    Backends(Vec<TcpBackend>),
    /// It includes that of another.
    Include(&'p Proxy),
}

/// Where the streams of a proxy go, by whatever chain of includes; nothing if something is wrong with it.
pub(super) fn backends<'p>(round: &mut Round<'p>, root: &'p Proxy) -> Option<Vec<TcpBackend>> {
    let mut visited = Vec::new();
    let mut at = root;
    loop {
        match next(round, at, &mut visited)? {
            Next::Backends(backends) => return Some(backends),
            Next::Include(found) => at = found,
        }
    }
}

/// Follows a tcpproxy by one. `visited` are the proxies on the way here.
fn next<'p>(round: &mut Round<'p>, proxy: &'p Proxy, visited: &mut Vec<(String, String)>) -> Option<Next<'p>> {
    let Some(tcpproxy) = &proxy.spec.tcpproxy else { return Some(Next::Backends(Vec::new())) };
    visited.push((proxy.namespace.clone(), proxy.name.clone()));
    let include = tcpproxy.include.as_ref().or(tcpproxy.includes.as_ref());
    let verdict = round.verdict(proxy);
    if !tcpproxy.services.is_empty() && include.is_some() {
        verdict.error("TCPProxyError", "NoServicesAndInclude", "a tcpproxy has services or an include, and not both");
        return None;
    }
    let strategy = policies::strategy(tcpproxy.load_balancer_policy.as_ref());
    if ["Cookie", "RequestHash"].contains(&strategy) {
        verdict.warn("TCPProxyError", format!("the strategy {strategy} of a tcpproxy is ignored"));
    }
    if !tcpproxy.services.is_empty() {
        return forwarded(round, proxy).map(Next::Backends);
    }
    let Some(include) = include else {
        verdict.error("TCPProxyError", "NothingDefined", "a tcpproxy needs services or an include");
        return None;
    };
    let home = if include.namespace.is_empty() { &proxy.namespace } else { &include.namespace };
    let id = (home.clone(), include.name.clone());
    let Some(found) = round.proxies.get(&id) else {
        let message = format!("there is no HTTPProxy {}/{}", id.0, id.1);
        round.verdict(proxy).error("TCPProxyIncludeError", "IncludeNotFound", message);
        return None;
    };
    if found.spec.virtualhost.is_some() {
        let message = format!("{} is a root of its own", found.id());
        round.verdict(proxy).error("TCPProxyIncludeError", "RootIncludesRoot", message);
        return None;
    }
    round.orphans.remove(&id);
    if visited.contains(&id) {
        let names = visited.iter().chain([&id]).map(|(namespace, name)| format!("{namespace}/{name}"));
        let message = format!("includes go in a circle: {}", names.collect::<Vec<_>>().join(" -> "));
        round.verdict(proxy).error("TCPProxyIncludeError", "IncludeCreatesCycle", message);
        return None;
    }
    round.verdict(found);
    Some(Next::Include(found))
}

fn forwarded(round: &mut Round<'_>, proxy: &Proxy) -> Option<Vec<TcpBackend>> {
    let services = proxy.spec.tcpproxy.as_ref().map_or(&[][..], |tcpproxy| &tcpproxy.services);
    let weights: u32 = services.iter().map(|service| service.weight).sum();
    let mut backends = Vec::new();
    for service in services {
        let upstream = match lookup::service(round, &proxy.namespace, &service.name, service.port) {
            Ok(upstream) => upstream,
            Err(why) => {
                let message = format!("the tcpproxy leads nowhere: {why}");
                round.verdict(proxy).error("TCPProxyError", "ServiceUnresolvedReference", message);
                return None;
            }
        };
        let protocol = service.protocol.as_deref().unwrap_or(upstream.protocol);
        let target = match routes::encrypted(round, proxy, service, protocol) {
            Ok(Some(tls)) => TcpTarget::Encrypted { endpoints: upstream.endpoints, tls },
            Ok(None) => TcpTarget::Endpoints(upstream.endpoints),
            Err((r#type, reason, why)) => {
                round.verdict(proxy).error(r#type, reason, why);
                return None;
            }
        };
        let weight = if weights == 0 { 1 } else { service.weight };
        backends.push(TcpBackend { id: upstream.id, weight, target });
    }
    Some(backends)
}
