//! What definitions of other releases do to a controller.

use std::collections::BTreeSet;

use gateproof_proxy::{Config, config::Protocol};
use serde_json::Value;

use super::{
    Fault, Seam,
    tools::{say, serve_past, view},
};
use crate::{
    runtime::seams::{ConfigSeam, Seen, SnapshotSeam, StatusesSeam},
    settings::{NEWEST_MINOR, recognises},
    snapshot::{Kind, Object, Snapshot},
    status::{DesiredStatus, StatusUpdate},
};

const BUNDLE_VERSION: &str = "gateway.networking.k8s.io/bundle-version";

/// The releases that definitions say they are of.
fn releases(snapshot: &Snapshot) -> impl Iterator<Item = &str> {
    snapshot.crds().filter_map(|(object, _)| object.meta.annotations.get(BUNDLE_VERSION)).map(String::as_str)
}

/// Whether a release is not the newest that is known, but an older one.
fn is_older(release: &str) -> bool {
    recognises(release) && !release.starts_with(&format!("v1.{NEWEST_MINOR}."))
}

/// The fields that the spec of an HTTPRoute has in the releases that are known.
const FIELDS: [&str; 4] = ["parentRefs", "hostnames", "rules", "useDefaultGateways"];

fn has_unknown_field(route: &Value) -> bool {
    let fields = route["spec"].as_object();
    fields.is_some_and(|fields| fields.keys().any(|field| !FIELDS.contains(&field.as_str())))
}

/// Whether rules of HTTPRoutes have timeouts by their definition.
fn has_timeouts(snapshot: &Snapshot) -> bool {
    let rules = "/schema/openAPIV3Schema/properties/spec/properties/rules/items/properties/timeouts";
    let mut of_routes = snapshot.crds().filter(|(object, _)| object.meta.name.starts_with("httproutes."));
    of_routes.any(|(object, _)| {
        let versions = object.raw["spec"]["versions"].as_array();
        versions.is_some_and(|versions| versions.iter().all(|version| version.pointer(rules).is_some()))
    })
}

/// Says nothing of routes while this is so.
struct Stops(fn(&Snapshot) -> bool);

impl StatusesSeam for Stops {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        if (self.0)(seen.snapshot) {
            statuses.retain(|update| !matches!(update.status, DesiredStatus::Route { .. }));
        }
    }
}

/// Notices that definitions are others than they were at first.
struct Watchful {
    first: Option<BTreeSet<String>>,
    /// Whether it is about those that have come since, or about those that have gone.
    is_about: fn(&BTreeSet<String>, &BTreeSet<String>) -> bool,
    noticed: bool,
}

impl Watchful {
    fn new(is_about: fn(&BTreeSet<String>, &BTreeSet<String>) -> bool) -> Self {
        Self { first: None, is_about, noticed: false }
    }

    /// Whether that has happened by now, if it was undone since or not.
    fn notices(&mut self, snapshot: &Snapshot) -> bool {
        let now: BTreeSet<String> = snapshot.crds().map(|(object, _)| object.meta.name.clone()).collect();
        let known = self.first.get_or_insert_with(|| now.clone());
        self.noticed |= (self.is_about)(known, &now);
        // Of one that came and goes, it is the going that counts.
        known.extend(now);
        self.noticed
    }
}

fn have_come(known: &BTreeSet<String>, now: &BTreeSet<String>) -> bool {
    !now.is_subset(known)
}

fn have_gone(known: &BTreeSet<String>, now: &BTreeSet<String>) -> bool {
    !known.is_subset(now)
}

/// Sees nothing new any more.
struct Stares {
    watchful: Watchful,
    last: Snapshot,
}

impl Stares {
    fn boxed(is_about: fn(&BTreeSet<String>, &BTreeSet<String>) -> bool) -> Box<dyn SnapshotSeam> {
        Box::new(Self { watchful: Watchful::new(is_about), last: Snapshot::default() })
    }
}

impl SnapshotSeam for Stares {
    fn view(&mut self, snapshot: Snapshot) -> Snapshot {
        if !self.watchful.notices(&snapshot) {
            self.last = snapshot;
        }
        self.last.clone()
    }
}

/// Has lost every route, and gets none again.
struct Empties(Watchful);

impl ConfigSeam for Empties {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        if self.0.notices(seen.snapshot) {
            for listener in &mut config.listeners {
                if let Protocol::Http(http) = &mut listener.protocol {
                    http.virtual_hosts.clear();
                }
            }
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "stops-when-definitions-come",
        summary: "Takes nothing up any more once there is a definition that was not there at its start.",
        clauses: &["IMPL-08"],
        seam: Seam::Snapshot(|| Stares::boxed(have_come)),
    },
    Fault {
        name: "stops-when-definitions-go",
        summary: "Takes nothing up any more once a definition is gone that was there.",
        clauses: &["IMPL-08"],
        seam: Seam::Snapshot(|| Stares::boxed(have_gone)),
    },
    Fault {
        name: "loses-routes-when-definitions-go",
        summary: "Serves no HTTPRoute and no GRPCRoute any more once a definition is gone that was there.",
        clauses: &["IMPL-08"],
        seam: Seam::Config(|| Box::new(Empties(Watchful::new(have_gone)))),
    },
    Fault {
        name: "serves-routes-of-gone-definitions",
        summary: "Serves every TCPRoute that it ever knew once their definition is gone.",
        clauses: &["IMPL-08"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| {
                let is_defined = snapshot.crds().any(|(object, _)| object.meta.name.starts_with("tcproutes."));
                let mut restored = snapshot.clone();
                memory.keep_removed(&mut restored, Kind::TcpRoute);
                if !is_defined {
                    *snapshot = restored;
                }
            })
        }),
    },
    Fault {
        name: "stops-at-newer-definitions",
        summary: "Says nothing of routes while one of the definitions is of a release that it does not know.",
        clauses: &["IMPL-05"],
        seam: Seam::Statuses(|| Box::new(Stops(|snapshot| releases(snapshot).any(|release| !recognises(release))))),
    },
    Fault {
        name: "stops-at-older-definitions",
        summary: "Says nothing of routes while some of the definitions are of an older release than others.",
        clauses: &["IMPL-06"],
        seam: Seam::Statuses(|| {
            Box::new(Stops(|snapshot| releases(snapshot).any(is_older) && !releases(snapshot).all(is_older)))
        }),
    },
    Fault {
        name: "stops-at-fields-of-later-releases",
        summary: "Says nothing of HTTPRoutes that have a field which it does not know.",
        clauses: &["IMPL-05"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                statuses.retain(|update| {
                    let route = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name);
                    update.kind != Kind::HttpRoute || !route.is_some_and(|route| has_unknown_field(&route.raw))
                });
            })
        }),
    },
    Fault {
        name: "stops-without-fields-of-later-releases",
        summary: "Says nothing of routes while the definition of HTTPRoutes has no timeouts.",
        clauses: &["IMPL-06"],
        seam: Seam::Statuses(|| Box::new(Stops(|snapshot| !has_timeouts(snapshot)))),
    },
    Fault {
        name: "takes-silent-definitions-for-known",
        summary: "Says SupportedVersion=True although a definition does not say of which release it is.",
        clauses: &["IMPL-19"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                let Some(known) = releases(snapshot).find(|release| recognises(release)).map(str::to_owned) else {
                    return;
                };
                snapshot.edit(Kind::CustomResourceDefinition, |crd| {
                    if crd["metadata"]["annotations"].get(BUNDLE_VERSION).is_none() {
                        crd["metadata"]["annotations"][BUNDLE_VERSION] = known.clone().into();
                    }
                });
            })
        }),
    },
    Fault {
        name: "looks-at-one-definition",
        summary: "Takes for SupportedVersion the release of the definition of GatewayClasses alone.",
        clauses: &["IMPL-19"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                let own = |(object, _): (&Object, _)| {
                    let name = object.meta.name.starts_with("gatewayclasses.");
                    name.then(|| object.meta.annotations.get(BUNDLE_VERSION).cloned()).flatten()
                };
                let Some(release) = snapshot.crds().find_map(own) else { return };
                snapshot.edit(Kind::CustomResourceDefinition, |crd| {
                    crd["metadata"]["annotations"][BUNDLE_VERSION] = release.clone().into();
                });
            })
        }),
    },
];
