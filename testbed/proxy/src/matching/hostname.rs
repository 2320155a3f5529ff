//! Hostnames: whether one covers a host, and which of several covers it most specifically.

use crate::config::Hostname;

/// Whether `hostname` covers `host`, which is in lower case and carries no port. A wildcard stands for one or more
/// labels, never for none.
pub fn covers(hostname: &Hostname, host: &str) -> bool {
    match hostname {
        Hostname::Any => true,
        Hostname::Exact(exact) => exact == host,
        Hostname::Wildcard(suffix) => host
            .strip_suffix(suffix.as_str())
            .and_then(|rest| rest.strip_suffix('.'))
            .is_some_and(|label| !label.is_empty()),
    }
}

/// How specific a hostname is; larger is more specific. First the number of characters of a hostname that is no
/// wildcard, then the number of characters of any hostname (HTTPRoute `spec.hostnames`).
pub fn specificity(hostname: &Hostname) -> (usize, usize) {
    match hostname {
        Hostname::Any => (0, 0),
        Hostname::Exact(exact) => (exact.len(), exact.len()),
        Hostname::Wildcard(suffix) => (0, suffix.len() + "*.".len()),
    }
}

/// The position of the most specific of `hostnames` that covers `host`; the first of equals.
pub fn most_specific<'a>(hostnames: impl IntoIterator<Item = &'a Hostname>, host: &str) -> Option<usize> {
    hostnames
        .into_iter()
        .enumerate()
        .filter(|(_, hostname)| covers(hostname, host))
        .max_by_key(|(index, hostname)| (specificity(hostname), std::cmp::Reverse(*index)))
        .map(|(index, _)| index)
}

/// The host of a Host header or `:authority`: without port and brackets, in lower case, without a final dot.
pub fn host_of(authority: &str) -> String {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}
