//! Listeners of protocol TLS, made ready for traffic.

use std::fmt;

use crate::clients::Validation;
use crate::config::{ClientValidation, Hostname, Problem, Refuses, StreamListener};
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
    /// Makes a listener ready. One whose certificates or authorities cannot be used has no routes, and says so in `problems`.
    pub fn new(listener: &StreamListener, problems: &mut Vec<Problem>) -> Self {
        let (terms, is_usable) = match terms(listener) {
            Ok(terms) => (terms, true),
            Err(reason) => {
                problems.push(Problem { subject: listener.listener.clone(), reason });
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
            terms,
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

/// What becomes of a connection that says no server name, as it belongs to no route: where that is not asked, that of the first.
pub fn draw_first(streams: &[CompiledStream]) -> TcpChoice {
    let first = streams.iter().flat_map(|stream| &stream.routes).next();
    first.map_or_else(|| TcpChoice::Refuse { reason: "there is no route".to_owned() }, CompiledTcp::draw)
}

/// How a listener answers handshakes, if it does, or why it cannot.
fn terms(listener: &StreamListener) -> Result<Option<TlsTerms>, String> {
    let Some(certificates) = &listener.certificates else { return Ok(None) };
    let keys = pem::load(certificates).map_err(|error| error.to_string())?;
    let within = |of: &ClientValidation| ClientValidation { refuses: Refuses::InHandshake, ..of.clone() };
    let clients = listener.clients.as_ref().map(|of| Validation::new(&within(of))).transpose()?;
    // The server name has chosen the listener already, so that its certificates answer whatever comes.
    Ok(Some(TlsTerms::streams(keys, clients)))
}

impl fmt::Debug for CompiledStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledStream").field("listener", &self.listener).field("hostnames", &self.hostnames).finish()
    }
}
