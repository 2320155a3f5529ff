use crate::{model::RouteNamespaces, snapshot::Snapshot};

/// One end of a reference that a ReferenceGrant speaks about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct From<'a> {
    pub(crate) group: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) namespace: &'a str,
}

/// The other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct To<'a> {
    pub(crate) group: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

/// Whether the reference may be followed: inside a namespace always, across namespaces if one grant in the namespace of
/// the referent has both a matching `from` and a matching `to`.
pub(crate) fn permitted(snapshot: &Snapshot, from: From<'_>, to: To<'_>) -> bool {
    from.namespace == to.namespace
        || snapshot.reference_grants().filter(|(object, _)| object.meta.namespace == to.namespace).any(|(_, grant)| {
            let is_from = grant.from.iter().any(|allowed| {
                allowed.group == from.group && allowed.kind == from.kind && allowed.namespace == from.namespace
            });
            let is_to = grant.to.iter().any(|allowed| {
                let name = allowed.name.as_deref().filter(|name| !name.is_empty());
                allowed.group == to.group && allowed.kind == to.kind && name.is_none_or(|name| name == to.name)
            });
            is_from && is_to
        })
}

/// Whether an object of the namespace `from` may attach to one of the namespace `to`.
pub(super) fn lets_in(
    snapshot: &Snapshot,
    namespaces: &RouteNamespaces,
    unless_said: &str,
    to: &str,
    from: &str,
) -> bool {
    match namespaces.from.as_deref().unwrap_or(unless_said) {
        "All" => true,
        "Same" => to == from,
        "Selector" => {
            let labels = snapshot.namespace("", from).map(|(object, _)| &object.meta.labels);
            let selector = namespaces.selector.as_ref();
            selector.zip(labels).is_some_and(|(selector, labels)| selector.matches(labels))
        }
        _ => false,
    }
}
