//! From a request's head to a rule, by hostname and match.

use std::sync::Arc;

use crate::compiled::{CompiledListener, CompiledRoute, CompiledVirtualHost, Service};
use crate::matching::MatchPredicate;
use crate::matching::hostname::{covers, most_specific};
use crate::request::RequestHead;
use crate::tls::TlsTerms;

/// What the matcher found.
#[derive(Debug, Clone)]
pub enum MatchOutcome {
    /// A rule answers.
    Rule {
        /// The rule.
        route: Arc<CompiledRoute>,
        /// The match that held.
        predicate: Arc<MatchPredicate>,
    },
    /// No listener or no rule fits: 404.
    NoRule,
    /// The host belongs to another listener than the one that the handshake chose: 421.
    Misdirected,
}

/// The listener that a request came to, seen as a set of virtual hosts.
#[derive(Debug, Clone, Copy)]
pub struct Routing<'a> {
    /// The virtual hosts.
    pub hosts: &'a [CompiledVirtualHost],
    terms: Option<&'a TlsTerms>,
}

impl<'a> Routing<'a> {
    /// The routing of a listener; nothing if it does not speak HTTP, or not with this scheme.
    pub fn of(listener: &'a CompiledListener, scheme: &str) -> Option<Self> {
        match (&listener.service, scheme) {
            (Service::Http(hosts), "http") => Some(Self { hosts, terms: None }),
            (Service::Https { hosts, terms, .. }, "https") => Some(Self { hosts, terms: Some(terms) }),
            _ => None,
        }
    }

    /// The virtual host that a host belongs to: the one with the most specific hostname, and only that one.
    pub fn virtual_host(&self, host: &str) -> Option<usize> {
        most_specific(self.hosts.iter().map(|candidate| &candidate.hostname), host)
    }

    /// The rule for a request.
    pub fn route(&self, request: &RequestHead) -> MatchOutcome {
        match self.virtual_host(&request.host) {
            None => MatchOutcome::NoRule,
            Some(index) if self.is_misdirected(index, request) => MatchOutcome::Misdirected,
            Some(index) => self.route_in(index, request),
        }
    }

    /// The virtual host that a request belongs to and came to.
    pub fn host_of(&self, request: &RequestHead) -> Option<&'a CompiledVirtualHost> {
        let index = self.virtual_host(&request.host).filter(|index| !self.is_misdirected(*index, request))?;
        self.hosts.get(index)
    }

    fn is_misdirected(&self, index: usize, request: &RequestHead) -> bool {
        self.terms.is_some_and(|terms| terms.listener_for(request.server_name.as_deref()) != Some(index))
    }

    /// The rule for a request among those of one virtual host.
    pub fn route_in(&self, index: usize, request: &RequestHead) -> MatchOutcome {
        let subject = request.subject();
        self.hosts
            .get(index)
            .and_then(|host| {
                host.candidates
                    .iter()
                    .find(|candidate| covers(&candidate.hostname, &request.host) && candidate.predicate.holds(&subject))
            })
            .map_or(MatchOutcome::NoRule, |candidate| MatchOutcome::Rule {
                route: candidate.route.clone(),
                predicate: candidate.predicate.clone(),
            })
    }
}
