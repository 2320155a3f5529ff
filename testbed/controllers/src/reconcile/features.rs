//! What a GatewayClass says that its implementation can do: what the definitions that are installed have a place for.

use serde_json::Value;

use super::installed::{is_experimental, is_served, is_since, schemas};
use crate::{
    settings::{
        EXPERIMENTAL_FEATURES, FEATURES_OF_FIELDS, FEATURES_OF_KINDS, FEATURES_SINCE, FORMER_FEATURES,
        OLDER_EXPERIMENTAL_FEATURES, SUPPORTED_FEATURES, Settings,
    },
    snapshot::{Kind, Snapshot},
};

/// `GatewayClass.status.supportedFeatures`.
pub(super) struct Claims {
    pub(super) supported_features: Vec<String>,
    /// Whether the release has features as plain names.
    pub(super) as_names: bool,
}

impl Claims {
    pub(super) fn of(snapshot: &Snapshot, settings: &Settings) -> Claims {
        // A feature is an object since v1.2, a string before, and at v1.0 one of a list.
        let schema = schemas(snapshot, Kind::GatewayClass)
            .find_map(|schema| schema.pointer("/properties/status/properties/supportedFeatures/items"));
        let mut supported_features = supported_features(snapshot);
        let is_lacking = |feature: &String| settings.lacks.iter().any(|one| one.features().contains(&feature.as_str()));
        supported_features.retain(|feature| !is_lacking(feature) && has_field(snapshot, feature));
        // A feature is that of the cluster as much as of who serves it (GEP-5075).
        supported_features.retain(|feature| feature != "ClusterTrustBundle" || !snapshot.lacks_trust_bundles);
        let (until, former) = FORMER_FEATURES;
        if !is_since(snapshot, until) {
            for (name, before) in former {
                supported_features
                    .iter_mut()
                    .filter(|feature| feature == name)
                    .for_each(|one| (*before).clone_into(one));
            }
        }
        if let Some(known) = schema.and_then(|schema| schema["enum"].as_array()) {
            supported_features.retain(|feature| known.iter().any(|known| known == feature));
        }
        Claims { supported_features, as_names: schema.is_some_and(|schema| schema["type"] == "string") }
    }
}

fn supported_features(snapshot: &Snapshot) -> Vec<String> {
    let (since, newer) = FEATURES_SINCE;
    let further: [&[&str]; 2] = match (is_since(snapshot, since), is_experimental(snapshot)) {
        (true, true) => [newer, EXPERIMENTAL_FEATURES],
        (true, false) => [newer, &[]],
        (false, true) => [OLDER_EXPERIMENTAL_FEATURES, &[]],
        (false, false) => [&[], &[]],
    };
    let of_kinds = FEATURES_OF_KINDS.iter().filter(|(kind, _)| is_served(snapshot, *kind)).map(|(_, feature)| feature);
    let mut all: Vec<String> =
        SUPPORTED_FEATURES.iter().chain(further.concat().iter()).chain(of_kinds).map(ToString::to_string).collect();
    all.sort_unstable();
    all
}

/// Whether a feature asks for no field that the definition of its kind lacks. Of a kind without schemas nothing is known.
fn has_field(snapshot: &Snapshot, feature: &str) -> bool {
    FEATURES_OF_FIELDS.iter().filter(|(_, _, features)| features.contains(&feature)).all(|(kind, field, _)| {
        let mut schemas = schemas(snapshot, *kind).peekable();
        schemas.peek().is_none() || schemas.any(|schema| has(&schema["properties"]["spec"], field))
    })
}

/// Whether a schema has the field below it, whose path goes through the items of lists.
fn has(schema: &Value, path: &str) -> bool {
    let field = path.split('.').try_fold(schema, |at, name| {
        let at = at.get("items").unwrap_or(at);
        at.get("properties")?.get(name)
    });
    field.is_some()
}
