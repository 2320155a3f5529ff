use super::class::Class;
use crate::{
    model::GatewaySpec,
    snapshot::{Object, Snapshot},
};

/// A Gateway whose class exists, is ours and is accepted. Any other Gateway is not touched at all.
pub(crate) struct Scoped<'a> {
    pub(crate) object: &'a Object,
    pub(crate) spec: &'a GatewaySpec,
}

impl Scoped<'_> {
    pub(crate) fn uid(&self) -> &str {
        &self.object.meta.uid
    }
}

/// The Gateways in scope, oldest first.
pub(crate) fn in_scope<'a>(snapshot: &'a Snapshot, classes: &[Class<'_>]) -> Vec<Scoped<'a>> {
    let accepted = |name: &str| classes.iter().any(|class| class.object.meta.name == name && class.accepted.is_true());
    let mut gateways: Vec<_> = snapshot
        .gateways()
        .filter(|(_, spec)| accepted(&spec.gateway_class_name))
        .map(|(object, spec)| Scoped { object, spec })
        .collect();
    gateways.sort_by_key(|gateway| gateway.object.meta.precedence());
    gateways
}
