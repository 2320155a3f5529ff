//! Listeners of protocol TLS, made ready for traffic.

use std::fmt;

use crate::config::{Hostname, Problem, StreamListener};
use crate::draw::{CompiledTcp, TcpChoice};
use crate::matching::hostname::most_specific;
use crate::pem;
use crate::tls::TlsTerms;

/// One Gateway listener of protocol TLS.
pub struct CompiledStream {
    /// The name of the Gateway listener.
    pub listener: String,
    /// The hostname of the Gateway listener.
    pub hostname: Hostname,
    /// How handshakes are answered; not given: they are passed on.
    pub terms: Option<TlsTerms>,
    /// Hostnames of routes, each with the position of its route.
    hostnames: Vec<(Hostname, usize)>,
    routes: Vec<CompiledTcp>,
}

impl CompiledStream {
    /// Makes a listener ready. One whose certificates cannot be used has no routes, and says so in `problems`.
    pub fn new(listener: &StreamListener, problems: &mut Vec<Problem>) -> Self {
        let keys = listener.certificates.as_deref().map(pem::load).transpose();
        let (keys, is_usable) = match keys {
            Ok(keys) => (keys, true),
            Err(error) => {
                problems.push(Problem { subject: listener.listener.clone(), reason: error.to_string() });
                (None, false)
            }
        };
        let routes = || listener.routes.iter().filter(|_| is_usable);
        let hostnames = routes().enumerate().flat_map(|(at, route)| {
            let every = route.hostnames.is_empty().then_some(Hostname::Any);
            route.hostnames.iter().cloned().chain(every).map(move |hostname| (hostname, at))
        });
        Self {
            listener: listener.listener.clone(),
            hostname: listener.hostname.clone(),
            // The server name has chosen the listener already, so that its certificates answer whatever comes.
            terms: keys.map(TlsTerms::streams),
            hostnames: hostnames.collect(),
            routes: routes().map(|route| CompiledTcp::new(route.backends.clone())).collect(),
        }
    }

    /// Draws what becomes of the next connection with this server name.
    pub fn draw(&self, server_name: Option<&str>) -> TcpChoice {
        let name = server_name.unwrap_or_default();
        let found = most_specific(self.hostnames.iter().map(|(hostname, _)| hostname), name);
        let route = found.and_then(|at| self.routes.get(self.hostnames.get(at)?.1));
        match route {
            Some(route) => route.draw(),
            None => {
                TcpChoice::Refuse { reason: format!("no route of listener {} has this server name", self.listener) }
            }
        }
    }
}

impl fmt::Debug for CompiledStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledStream").field("listener", &self.listener).field("hostnames", &self.hostnames).finish()
    }
}
