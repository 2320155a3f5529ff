//! Named ways to misbehave, one at a time.
//!
//! A fault sits in exactly one seam, so the implementation itself knows of none. It declares the clauses that it
//! breaks; a suite that does not notice has a hole there.

mod arrivals;
mod attached;
mod bugs;
mod chains;
mod clients;
mod config;
mod copies;
mod endpoints;
pub(crate) mod exchange;
mod flaps;
mod foreign;
mod frames;
mod generations;
mod grpc;
mod http;
mod infrastructure;
mod kept;
mod lacking;
mod layer_4;
pub(crate) mod limits;
mod listener_filters;
mod listener_sets;
mod narrow;
mod overlooked;
mod own_certificates;
mod policies;
mod protection;
pub(crate) mod protocols;
mod releases;
mod routability;
mod sessions;
mod snapshot;
mod specs;
mod statuses;
mod stream_changes;
mod streams;
mod surface;
pub mod tamper;
mod tls;
pub(crate) mod tools;
mod transit;
mod trust_bundles;
mod udp;
mod unknown;
mod unseen;
mod v1_7;
mod winners;
mod words;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use gateproof_proxy::exchange::Exchange;
use serde_json::Value;

use crate::runtime::seams::{ConfigSeam, ObjectsSeam, Seams, SnapshotSeam, StatusWriterSeam, StatusesSeam};

/// A named misbehaviour.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Stable name, in kebab case.
    pub name: &'static str,
    /// What the implementation does wrong, as one sentence.
    pub summary: &'static str,
    /// IDs of the requirements that it breaks.
    pub clauses: &'static [&'static str],
    /// Where it sits.
    pub seam: Seam,
}

/// The seam that a fault sits in, with the maker of what it puts there: every run gets a fresh one.
#[derive(Clone, Copy, Debug)]
pub enum Seam {
    /// What the reconciler gets to see.
    Snapshot(fn() -> Box<dyn SnapshotSeam>),
    /// What the statuses should say.
    Statuses(fn() -> Box<dyn StatusesSeam>),
    /// How statuses get into the cluster.
    StatusWriter(fn(Arc<dyn StatusWriterSeam>) -> Arc<dyn StatusWriterSeam>),
    /// What the data plane is told.
    Config(fn() -> Box<dyn ConfigSeam>),
    /// What is made in the cluster for Gateways.
    Objects(fn() -> Box<dyn ObjectsSeam>),
    /// What the data plane does in one exchange.
    Exchange(fn() -> Arc<dyn Exchange>),
    /// Which CRDs the API server serves.
    ApiSurface(fn(&mut Vec<Value>)),
    /// In several, where one alone makes no mistake; the first says where it is listed.
    Several(&'static [Seam]),
}

impl Seam {
    /// The name of the seam.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Snapshot(_) => "snapshot",
            Self::Statuses(_) => "statuses",
            Self::StatusWriter(_) => "status writer",
            Self::Config(_) => "proxy config",
            Self::Objects(_) => "made objects",
            Self::Exchange(_) => "exchange",
            Self::ApiSurface(_) => "API surface",
            Self::Several(all) => match all {
                [first, ..] => first.name(),
                [] => "none",
            },
        }
    }
}

impl Seam {
    fn enter(self, seams: &mut Seams) {
        match self {
            Self::Snapshot(make) => seams.snapshot.push(make()),
            Self::Statuses(make) => seams.statuses.push(make()),
            Self::StatusWriter(wrap) => seams.writer = wrap(Arc::clone(&seams.writer)),
            Self::Config(make) => seams.config.push(make()),
            Self::Objects(make) => seams.objects.push(make()),
            Self::Exchange(_) | Self::ApiSurface(_) => {}
            Self::Several(all) => all.iter().for_each(|one| one.enter(seams)),
        }
    }

    fn exchange(self) -> Option<Arc<dyn Exchange>> {
        match self {
            Self::Exchange(make) => Some(make()),
            Self::Several(all) => all.iter().find_map(|one| one.exchange()),
            _ => None,
        }
    }

    fn reshape(self, crds: &mut Vec<Value>) {
        match self {
            Self::ApiSurface(change) => change(crds),
            Self::Several(all) => all.iter().for_each(|one| one.reshape(crds)),
            _ => {}
        }
    }
}

impl Fault {
    /// Takes its place in the seams of the runtime, after what is there.
    pub fn enter(&self, seams: &mut Seams) {
        self.seam.enter(seams);
    }

    /// Where such a mistake of a real controller was reported, as `OWNER/NAME#NUMBER`; nothing if none is known.
    pub fn reported(&self) -> &'static [&'static str] {
        bugs::reported(self.name)
    }

    /// What it puts into the seam of the data plane.
    pub fn exchange(&self) -> Option<Arc<dyn Exchange>> {
        self.seam.exchange()
    }

    /// Changes the CRDs that the API server is about to serve.
    pub fn reshape(&self, crds: &mut Vec<Value>) {
        self.seam.reshape(crds);
    }
}

/// Every fault, by seam; those about calls and HTTP/2 and those that came with v1.7 come last, whatever their seam, and behind
/// them those that real controllers had.
pub fn catalogue() -> &'static [Fault] {
    static ALL: LazyLock<Vec<Fault>> = LazyLock::new(|| {
        let made_up = [
            snapshot::FAULTS,
            arrivals::FAULTS,
            http::websocket::SNAPSHOT,
            statuses::gateways::FAULTS,
            statuses::listeners::FAULTS,
            statuses::routes::FAULTS,
            writer::FAULTS,
            specs::FAULTS,
            config::certificates::FAULTS,
            config::backends::FAULTS,
            config::attachment::FAULTS,
            config::hosts::FAULTS,
            config::rules::FAULTS,
            http::config::FAULTS,
            http::headers::FAULTS,
            http::locations::FAULTS,
            http::mirrors::FAULTS,
            http::matching::FAULTS,
            http::tls::FAULTS,
            http::cors::CONFIG,
            http::retry::CONFIG,
            exchange::FAULTS,
            transit::FAULTS,
            http::exchange::FAULTS,
            http::cors::EXCHANGE,
            http::websocket::EXCHANGE,
            http::retry::EXCHANGE,
            surface::FAULTS,
            releases::FAULTS,
            unknown::FAULTS,
            flaps::FAULTS,
            grpc::statuses::FAULTS,
            grpc::config::FAULTS,
            grpc::exchange::FAULTS,
            v1_7::FAULTS,
            limits::FAULTS,
            unseen::FAULTS,
            udp::FAULTS,
            kept::FAULTS,
            listener_sets::FAULTS,
            listener_sets::clients::FAULTS,
            listener_sets::ends::FAULTS,
            listener_sets::gateways::FAULTS,
            listener_sets::routes::FAULTS,
            attached::FAULTS,
            foreign::FAULTS,
            generations::FAULTS,
            tls::FAULTS,
            policies::FAULTS,
            clients::FAULTS,
            chains::FAULTS,
            sessions::FAULTS,
            winners::FAULTS,
            own_certificates::FAULTS,
            protection::FAULTS,
            trust_bundles::FAULTS,
            routability::FAULTS,
            listener_filters::FAULTS,
            lacking::FAULTS,
            streams::FAULTS,
            stream_changes::FAULTS,
            layer_4::FAULTS,
            endpoints::FAULTS,
            infrastructure::FAULTS,
            protocols::FAULTS,
            words::FAULTS,
            overlooked::FAULTS,
            overlooked::traffic::FAULTS,
            narrow::FAULTS,
            narrow::grants::FAULTS,
            narrow::requests::FAULTS,
            narrow::routes::FAULTS,
            narrow::traffic::FAULTS,
        ];
        made_up.concat().into_iter().chain(bugs::faults()).collect()
    });
    &ALL
}

/// The fault of that name.
pub fn find(name: &str) -> Option<&'static Fault> {
    catalogue().iter().find(|fault| fault.name == name)
}
