//! What definitions of other releases do to a controller.

use super::{Fault, Seam, tools::view};
use crate::{
    runtime::seams::{Seen, StatusesSeam},
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

/// Says nothing of routes while this is so.
struct Stops(fn(&Snapshot) -> bool);

impl StatusesSeam for Stops {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        if (self.0)(seen.snapshot) {
            statuses.retain(|update| !matches!(update.status, DesiredStatus::Route { .. }));
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
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
