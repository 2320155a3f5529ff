use gateproof_proxy::config::Hostname;

/// The hosts that both hostnames take, if there are any: the more specific of the two.
pub fn intersect(one: &Hostname, other: &Hostname) -> Option<Hostname> {
    use Hostname::{Any, Exact, Wildcard};
    let below = |host: &str, suffix: &str| {
        host.strip_suffix(suffix).is_some_and(|labels| labels.len() > 1 && labels.ends_with('.'))
    };
    match (one, other) {
        (Any, host) | (host, Any) => Some(host.clone()),
        (Exact(a), Exact(b)) => (a == b).then(|| one.clone()),
        (Exact(host), Wildcard(suffix)) | (Wildcard(suffix), Exact(host)) => {
            below(host, suffix).then(|| Exact(host.clone()))
        }
        (Wildcard(a), Wildcard(b)) => {
            if a == b || below(a, b) {
                Some(one.clone())
            } else {
                below(b, a).then(|| other.clone())
            }
        }
    }
}

/// The hostnames of a route of which a listener takes some hosts, as they are written: the listener lets no others in, and which
/// of two routes comes first is decided by what is written. `None` if there are none, empty if the route takes whatever comes.
pub(crate) fn effective(listener: &Hostname, route: &[String]) -> Option<Vec<Hostname>> {
    if route.is_empty() {
        return Some(Vec::new());
    }
    let hosts = route.iter().map(|host| Hostname::parse(host)).filter(|host| intersect(listener, host).is_some());
    let hosts: Vec<Hostname> = hosts.collect();
    (!hosts.is_empty()).then_some(hosts)
}
