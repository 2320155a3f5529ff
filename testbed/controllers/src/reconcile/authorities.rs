//! Where authorities come from that a policy for backends or a Gateway names.

use super::installed;
use crate::{
    settings::{Dispensable, Settings},
    snapshot::{Kind, Snapshot},
};

/// A kind of object that holds authorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// In a namespace.
    ConfigMap,
    /// In none, so that nobody has to permit anything.
    TrustBundle,
}

impl Source {
    /// What a reference is to, or why that can hold no authorities, as a phrase that follows the reference.
    pub(super) fn of(snapshot: &Snapshot, group: &str, kind: &str) -> Result<Self, String> {
        let bundle = (Kind::ClusterTrustBundle.group(), Kind::ClusterTrustBundle.name());
        let reads_bundles = reads_bundles(snapshot);
        match (group, kind) {
            ("", "ConfigMap") => Ok(Self::ConfigMap),
            other if other == bundle && reads_bundles => Ok(Self::TrustBundle),
            _ => {
                let group = if group.is_empty() { "core" } else { group };
                let bundles = if reads_bundles { " and ClusterTrustBundles" } else { "" };
                Err(format!("of group {group}: only core ConfigMaps{bundles} work"))
            }
        }
    }

    /// The authorities in PEM, or why there are none, as a phrase that follows the reference.
    pub(super) fn read(self, snapshot: &Snapshot, namespace: &str, name: &str) -> Result<String, String> {
        let (found, kind) = match self {
            Self::ConfigMap => (snapshot.config_map(namespace, name).map(|(_, map)| &map.authorities), "ConfigMap"),
            Self::TrustBundle => {
                let bundle = snapshot.trust_bundle("", name).map(|(_, bundle)| &bundle.authorities);
                (bundle, Kind::ClusterTrustBundle.name())
            }
        };
        match found {
            None => Err(format!(": no such {kind}")),
            Some(Ok(pem)) => Ok(pem.clone()),
            Some(Err(why)) => Err(format!(" {why}")),
        }
    }
}

/// Whether ClusterTrustBundles are read: they have to be served, and what is installed has to speak of them.
fn reads_bundles(snapshot: &Snapshot) -> bool {
    !snapshot.lacks_trust_bundles && installed::is_experimental(snapshot) && installed::is_since(snapshot, 7)
}

/// The snapshot as an implementation sees it that does without ClusterTrustBundles; nothing if it does not.
pub(super) fn narrowed(snapshot: &Snapshot, settings: &Settings) -> Option<Snapshot> {
    settings.lacks.contains(&Dispensable::TrustBundles).then(|| {
        let mut narrowed = snapshot.clone();
        narrowed.lacks_trust_bundles = true;
        narrowed
    })
}
