//! Mistakes that real controllers made, each with where it was reported.

mod admitting;
mod attaching;
mod besides;
mod browsers;
mod bundles;
mod bystanders;
mod calls;
mod changing;
mod clear_text;
mod collisions;
mod connections;
mod copying;
mod domains;
mod emptiness;
mod encrypting;
mod endpoints;
mod entries;
mod first_gateways;
mod flows;
mod forwarding;
mod grants;
mod handshakes;
mod holding;
mod hostless;
mod idle;
mod interim;
mod judging;
mod leaving;
mod leftovers;
mod lengths;
mod literals;
mod losing_listeners;
mod making;
mod merging;
mod misdirected;
mod moving_away;
mod namesakes;
mod namespaces;
mod naming;
pub(super) mod paths;
mod ports;
mod queries;
mod readings;
mod redirects;
mod references;
mod renaming;
mod reserving;
mod room;
pub(super) mod routing;
mod server_names;
mod services;
mod sessions;
mod set_certificates;
mod sets;
mod shared;
mod sizes;
mod targets;
mod together;
mod transports;
mod upgrades;
mod values;
mod writing;

use super::Fault;

/// A fault that was made after a mistake of somebody's.
struct Bug {
    fault: Fault,
    /// Issues and pull requests, as `OWNER/NAME#NUMBER`.
    reported: &'static [&'static str],
}

fn all() -> impl Iterator<Item = &'static Bug> {
    let all = [
        paths::BUGS,
        routing::BUGS,
        services::BUGS,
        bystanders::BUGS,
        judging::BUGS,
        attaching::BUGS,
        besides::BUGS,
        merging::BUGS,
        handshakes::BUGS,
        sizes::BUGS,
        references::BUGS,
        entries::BUGS,
        leaving::BUGS,
        readings::BUGS,
        hostless::BUGS,
        leftovers::BUGS,
        upgrades::BUGS,
        naming::BUGS,
        connections::BUGS,
        together::BUGS,
        room::BUGS,
        admitting::BUGS,
        holding::BUGS,
        shared::BUGS,
        collisions::BUGS,
        changing::BUGS,
        transports::BUGS,
        idle::BUGS,
        values::BUGS,
        misdirected::BUGS,
        renaming::BUGS,
        server_names::BUGS,
        encrypting::BUGS,
        ports::BUGS,
        making::BUGS,
        literals::BUGS,
        moving_away::BUGS,
        endpoints::BUGS,
        forwarding::BUGS,
        bundles::BUGS,
        copying::BUGS,
        namesakes::BUGS,
        emptiness::BUGS,
        reserving::BUGS,
        queries::BUGS,
        domains::BUGS,
        targets::BUGS,
        sets::BUGS,
        browsers::BUGS,
        writing::BUGS,
        namespaces::BUGS,
        grants::BUGS,
        first_gateways::BUGS,
        set_certificates::BUGS,
        losing_listeners::BUGS,
        calls::BUGS,
        redirects::BUGS,
        interim::BUGS,
        flows::BUGS,
        lengths::BUGS,
        sessions::BUGS,
        clear_text::BUGS,
    ];
    all.into_iter().flatten()
}

/// The faults by themselves.
pub(super) fn faults() -> impl Iterator<Item = Fault> {
    all().map(|bug| bug.fault.clone())
}

/// Where the mistake behind a fault was reported; nothing if it was made up.
pub(super) fn reported(name: &str) -> &'static [&'static str] {
    all().find(|bug| bug.fault.name == name).map_or(&[], |bug| bug.reported)
}
