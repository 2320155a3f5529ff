//! Which definitions are installed.

use serde_json::Value;

use crate::{
    settings::minor,
    snapshot::{Kind, Object, Snapshot},
};

const CHANNEL: &str = "gateway.networking.k8s.io/channel";
pub(super) const BUNDLE_VERSION: &str = "gateway.networking.k8s.io/bundle-version";

/// Whether the CRDs that are installed are all of this minor release of v1, or of newer ones.
pub(super) fn is_since(snapshot: &Snapshot, release: u32) -> bool {
    let installed = snapshot.crds().filter(|(_, crd)| crd.group == crate::model::GATEWAY_GROUP);
    let mut minors = installed.map(|(object, _)| minor(object.meta.annotations.get(BUNDLE_VERSION)?)).peekable();
    minors.peek().is_some() && minors.all(|minor| minor.is_some_and(|minor| minor >= release))
}

/// Whether one of the definitions that are installed says that it is of the experimental channel.
pub(super) fn is_experimental(snapshot: &Snapshot) -> bool {
    let channel = |object: &Object| object.meta.annotations.get(CHANNEL).is_some_and(|of| of == "experimental");
    snapshot.crds().any(|(object, _)| channel(object))
}

/// Whether the definition of a kind is there.
pub(super) fn is_served(snapshot: &Snapshot, kind: Kind) -> bool {
    definitions(snapshot, kind).next().is_some()
}

/// The schema of each version of a kind.
pub(super) fn schemas(snapshot: &Snapshot, kind: Kind) -> impl Iterator<Item = &Value> {
    let versions = definitions(snapshot, kind).flat_map(|one| one.raw["spec"]["versions"].as_array());
    versions.flatten().filter_map(|version| version.pointer("/schema/openAPIV3Schema"))
}

fn definitions(snapshot: &Snapshot, kind: Kind) -> impl Iterator<Item = &Object> {
    let of_kind = snapshot.crds().filter(move |(_, crd)| crd.group == kind.group() && crd.names.kind == kind.name());
    of_kind.map(|(object, _)| object)
}
