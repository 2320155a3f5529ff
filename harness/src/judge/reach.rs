//! Whether no route to a port is the target's answer.
//!
//! Some networks say of a port that nobody serves that there is no route to its host. Others say so because there is none from
//! here. Where the very address accepts connections at another port, it is the former, and the port is refused.

use std::borrow::Cow;

use serde_json::Value;

use super::action::{Action, Next};
use super::conditions::array;
use super::contrast::unclaimed;
use super::env::Env;
use super::request::request_id;
use crate::log::{Elapsed, Exchange, HttpRequest, ProbeError, ProbeRequest, Role};

/// Most ports to try.
const PORTS: usize = 8;

/// An exchange as it counts by what is known of the address.
pub(super) fn seen<'e>(exchange: &'e Exchange, env: &Env<'_>) -> Cow<'e, Exchange> {
    match &exchange.error {
        Some(ProbeError::NoRoute { to, why }) if env.reached.contains(&to.ip()) => {
            let error = ProbeError::ConnectRefused(format!("{why}, though the address answers at other ports"));
            Cow::Owned(Exchange { error: Some(error), ..exchange.clone() })
        }
        _ => Cow::Borrowed(exchange),
    }
}

/// The questions at the other ports of the listeners of a Gateway, after a request to one of them that found no route.
#[derive(Debug, Clone)]
pub(super) struct Reaching {
    host: String,
    ports: Vec<u16>,
    owed: usize,
}

impl Reaching {
    /// Whether there is anything to ask, and what.
    pub(super) fn after(exchange: &Exchange, gateway: Option<&Value>) -> Option<Reaching> {
        let Some(ProbeError::NoRoute { .. }) = &exchange.error else { return None };
        let (host, port) = match &exchange.request {
            ProbeRequest::Http(request) => (&request.host, request.port),
            ProbeRequest::Tcp { host, port, .. } => (host, *port),
        };
        let mut ports = Vec::new();
        for listener in array(gateway?.pointer("/spec/listeners")) {
            let other = listener["port"].as_u64().and_then(|other| u16::try_from(other).ok());
            ports.extend(other.filter(|other| *other != port && !ports.contains(other)));
        }
        ports.truncate(PORTS);
        let owed = ports.len();
        (owed > 0).then(|| Reaching { host: host.clone(), ports, owed })
    }

    pub(super) fn next(&self, now: Elapsed, env: &Env<'_>) -> Next {
        let ask = |(attempt, port): (u32, &u16)| Action::Probe {
            step: env.step.index,
            attempt,
            role: Role::Reach,
            id: request_id(env, Role::Reach, attempt),
            // Whatever is answered: it is the connection that counts.
            request: ProbeRequest::from(HttpRequest {
                host: self.host.clone(),
                port: *port,
                method: "GET".to_owned(),
                target: "/".to_owned(),
                authority: unclaimed(env),
                ..HttpRequest::default()
            }),
            not_before: now,
        };
        Next::Perform((0..).zip(&self.ports).map(ask).collect())
    }

    /// An answer came. Says whether it was the last.
    pub(super) fn answered(&mut self) -> bool {
        self.owed = self.owed.saturating_sub(1);
        self.owed == 0
    }
}
