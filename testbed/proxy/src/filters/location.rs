//! The `Location` of a redirect.

use super::path::{self, NoPrefix};
use crate::config::RequestRedirect;
use crate::matching::path::PathPredicate;

/// What of a request a redirect is made of.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// `http` or `https`, as the client used it.
    pub scheme: &'a str,
    /// The host that the client asked for, without port.
    pub host: &'a str,
    /// The port that the listener declares.
    pub listener_port: u16,
    /// The raw path.
    pub path: &'a str,
    /// The raw query.
    pub query: Option<&'a str>,
    /// The path match that held.
    pub matched: &'a PathPredicate,
}

/// The value of `Location`. A port that is the well-known one of the scheme is left out.
///
/// # Errors
/// [`NoPrefix`] if the prefix shall be replaced where none matched.
pub fn location(redirect: &RequestRedirect, origin: &Origin<'_>) -> Result<String, NoPrefix> {
    let scheme = redirect.scheme.as_deref().unwrap_or(origin.scheme).to_ascii_lowercase();
    let host = redirect.hostname.as_deref().unwrap_or(origin.host);
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let port = match (redirect.port, &redirect.scheme) {
        (Some(port), _) => Some(port),
        (None, Some(_)) => well_known_port(&scheme),
        (None, None) => Some(origin.listener_port),
    };
    let port =
        port.filter(|port| well_known_port(&scheme) != Some(*port)).map(|port| format!(":{port}")).unwrap_or_default();
    let path = match &redirect.path {
        Some(modifier) => path::modify(modifier, origin.matched, origin.path)?,
        None => origin.path.to_owned(),
    };
    let query = origin.query.map(|query| format!("?{query}")).unwrap_or_default();
    Ok(format!("{scheme}://{host}{port}{path}{query}"))
}

fn well_known_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}
