use super::features::Claims;
use super::installed::BUNDLE_VERSION;
use super::verdict::Verdict;
use crate::{
    settings::{Settings, recognises},
    snapshot::{Kind, Object, Snapshot},
    status::{DesiredStatus, StatusUpdate},
};

/// A GatewayClass that names our controller.
pub(crate) struct Class<'a> {
    pub(crate) object: &'a Object,
    pub(crate) accepted: Verdict,
    supported_version: Verdict,
    supported_features: Vec<String>,
    /// Whether the release has features as plain names.
    as_names: bool,
}

/// Every class of ours; those of other controllers are none of our business.
pub(crate) fn review<'a>(snapshot: &'a Snapshot, settings: &Settings) -> Vec<Class<'a>> {
    let supported_version = supported_version(snapshot);
    let Claims { supported_features, as_names } = Claims::of(snapshot, settings);
    snapshot
        .gateway_classes()
        .filter(|(_, class)| class.controller_name == settings.controller_name)
        .map(|(object, class)| Class {
            object,
            accepted: match &class.parameters_ref {
                None => Verdict::yes("Accepted", "Gateways of this class are served"),
                Some(parameters) => Verdict::no(
                    "InvalidParameters",
                    format!("parametersRef {} {} is not supported: leave it out", parameters.kind, parameters.name),
                ),
            },
            supported_version: supported_version.clone(),
            supported_features: supported_features.clone(),
            as_names,
        })
        .collect()
}

/// Unknown releases are served as well as possible, so this does not take `Accepted` away.
fn supported_version(snapshot: &Snapshot) -> Verdict {
    let mut installed = snapshot
        .crds()
        .filter(|(_, crd)| crd.group == crate::model::GATEWAY_GROUP)
        .map(|(object, _)| (object, object.meta.annotations.get(BUNDLE_VERSION)))
        .peekable();
    if installed.peek().is_none() {
        return Verdict::no("UnsupportedVersion", "no CRD of Gateway API was found");
    }
    let unknown: Vec<String> = installed
        .filter(|(_, version)| !version.is_some_and(|version| recognises(version)))
        .map(|(object, version)| match version {
            Some(version) => format!("{} has bundle-version {version}", object.meta.name),
            None => format!("{} has no bundle-version", object.meta.name),
        })
        .collect();
    if unknown.is_empty() {
        Verdict::yes("SupportedVersion", "The installed Gateway API is known")
    } else {
        Verdict::no("UnsupportedVersion", format!("{}; served as well as possible", unknown.join(", ")))
    }
}

pub(crate) fn statuses(classes: &[Class<'_>], settings: &Settings) -> Vec<StatusUpdate> {
    let status = |class: &Class<'_>| StatusUpdate {
        kind: Kind::GatewayClass,
        key: class.object.key(),
        generation: class.object.meta.generation,
        controller_name: settings.controller_name.clone(),
        status: DesiredStatus::GatewayClass {
            conditions: vec![
                class.accepted.condition("Accepted"),
                class.supported_version.condition("SupportedVersion"),
            ],
            supported_features: class.supported_features.clone(),
            as_names: class.as_names,
        },
    };
    classes.iter().map(|class| status(class).stamped()).collect()
}
