//! The pure core: what every status should say and what the data plane should do, given what is in the cluster.

mod addresses;
mod apart;
mod attach;
mod authorities;
pub(crate) mod backends;
mod certificates;
mod class;
mod clients;
mod config;
mod encryption;
mod features;
mod filters;
mod gateway;
mod gateway_status;
mod grants;
mod grpcroute;
mod hostname;
pub(crate) mod httproute;
pub mod infrastructure;
mod installed;
mod listener;
mod listener_filters;
mod listener_set;
mod parents;
mod policies;
mod scope;
mod sets;
mod tcproute;
pub(crate) mod verdict;

pub(crate) use clients::has_authority as has_client_authority;

#[cfg(test)]
mod tests;

pub use gateproof_proxy::config::Config;
pub use hostname::intersect;

use crate::{
    settings::Settings,
    snapshot::{Addresses, Snapshot},
    status::StatusUpdate,
};

/// What follows from a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Desired status of every object that the implementation speaks for.
    pub statuses: Vec<StatusUpdate>,
    /// What the data plane should serve.
    pub config: Config,
    /// Who has which address now; to be put into the next snapshot, so that a Gateway keeps its address.
    pub addresses: Addresses,
}

/// Works out what follows from a snapshot. The configuration does not depend on what the data plane said about ports;
/// the statuses do.
pub fn reconcile(snapshot: &Snapshot, settings: &Settings) -> Outcome {
    let narrowed = authorities::narrowed(snapshot, settings);
    let snapshot = narrowed.as_ref().unwrap_or(snapshot);
    let classes = class::review(snapshot, settings);
    let in_scope = scope::in_scope(snapshot, &classes);
    let addresses = addresses::allocate(&in_scope, &snapshot.addresses, settings);
    let gateways = gateway::review(&in_scope, snapshot, settings, &addresses);
    let mut routes = attach::routes(snapshot, &gateways);
    if settings.keeps_kinds_apart {
        apart::refuse_younger(&mut routes);
    }

    let mut statuses = class::statuses(&classes, settings);
    statuses.extend(gateway_status::statuses(&gateways, &routes, snapshot, settings));
    statuses.extend(listener_set::statuses(&gateways, &routes, snapshot, settings));
    statuses.extend(parents::statuses(&routes, settings));
    statuses.extend(policies::statuses(snapshot, &gateways, &routes, settings));
    let config = config::build(snapshot, &gateways, &routes);
    Outcome { statuses, config, addresses }
}
