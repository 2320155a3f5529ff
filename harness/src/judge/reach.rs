//! Whether no route to a port is the target's answer.
//!
//! Some networks say of a port that nobody serves that there is no route to its host. Others say so because there is none from
//! here. Where the very address accepts a connection at another port right after, it is the former, and the port is refused. What was
//! so before does not count: the way may have been lost since. A Gateway that is gone takes its address with it, though, and often the
//! route to it: if it answered before, that there is no way to it now is what its going comes to. One that goes over from the class
//! under test to another is gone for its controller, whatever its status still says.

use std::net::IpAddr;

use serde_json::Value;

use super::action::{Action, Next};
use super::conditions::array;
use super::contrast::unclaimed;
use super::env::Env;
use super::history::Latest;
use super::request::request_id;
use crate::log::{Elapsed, Exchange, HttpRequest, ProbeError, ProbeRequest, Role};
use crate::scenario::Probe;

/// Most ports to try.
const PORTS: usize = 8;

/// An exchange without a way to the address as it counts where that is the target's doing.
fn refused(mut exchange: Exchange, because: &str) -> Exchange {
    if let Some(ProbeError::NoRoute { why, .. } | ProbeError::Unreachable(why)) = &exchange.error {
        exchange.error = Some(ProbeError::ConnectRefused(format!("{why}, {because}")));
    }
    exchange
}

/// The exchange as it counts if it is asked whether nothing answers at a Gateway that did, is gone now, and could not be connected to.
pub(super) fn taken_down(exchange: &Exchange, probe: &Probe, env: &Env<'_>) -> Option<Exchange> {
    if !probe.answer.is_silence()
        || exchange.connected_to.is_some()
        || !matches!(exchange.error, Some(ProbeError::NoRoute { .. } | ProbeError::Unreachable(_)))
    {
        return None;
    }
    let gateway = &probe.target.gateway;
    let has_left = |class: &String| env.history.has_left(gateway, class);
    let because = match env.history.latest(gateway) {
        Latest::Gone => "where a Gateway answered that is gone",
        _ if env.bindings.gateway_class.as_ref().is_some_and(has_left) => {
            "where a Gateway answered that is of another class now"
        }
        _ => return None,
    };
    Some(refused(exchange.clone(), because))
}

/// The questions at the other ports of the listeners of a Gateway, after requests to one of them that found no route.
#[derive(Debug, Clone)]
pub(super) struct Reaching {
    host: String,
    ports: Vec<u16>,
    owed: usize,
    /// What the network has no route to.
    to: IpAddr,
    is_reached: bool,
    /// What is to be judged by the answers.
    exchanges: Vec<Exchange>,
}

impl Reaching {
    /// Whether there is anything to ask, and what.
    pub(super) fn after(exchange: &Exchange, gateway: Option<&Value>) -> Option<Reaching> {
        let Some(ProbeError::NoRoute { to, .. }) = &exchange.error else { return None };
        let (host, port) = match &exchange.request {
            ProbeRequest::Http(request) => (&request.host, request.port),
            ProbeRequest::Tcp { host, port, .. } | ProbeRequest::Udp { host, port, .. } => (host, *port),
        };
        let mut ports = Vec::new();
        for listener in array(gateway?.pointer("/spec/listeners")) {
            let other = listener["port"].as_u64().and_then(|other| u16::try_from(other).ok());
            ports.extend(other.filter(|other| *other != port && !ports.contains(other)));
        }
        ports.truncate(PORTS);
        let owed = ports.len();
        let (host, to, exchanges) = (host.clone(), to.ip(), vec![exchange.clone()]);
        (owed > 0).then_some(Reaching { host, ports, owed, to, is_reached: false, exchanges })
    }

    /// Takes in another request that found no route.
    pub(super) fn add(&mut self, exchange: &Exchange) -> bool {
        let is_same = matches!(&exchange.error, Some(ProbeError::NoRoute { to, .. }) if to.ip() == self.to);
        if is_same {
            self.exchanges.push(exchange.clone());
        }
        is_same
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

    /// An answer came. With the last one: the requests, as they count.
    pub(super) fn answered(&mut self, exchange: &Exchange) -> Option<Vec<Exchange>> {
        self.is_reached |= exchange.connected_to.is_some_and(|address| address.ip() == self.to);
        self.owed = self.owed.saturating_sub(1);
        let is_reached = self.is_reached;
        let judged = |exchange: Exchange| match is_reached {
            true => refused(exchange, "though the address answers at another port"),
            false => exchange,
        };
        (self.owed == 0).then(|| std::mem::take(&mut self.exchanges).into_iter().map(judged).collect())
    }
}
