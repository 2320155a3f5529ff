//! Which API groups a dialect may have.

use super::kind::DialectKind;

/// API groups that an API server of Kubernetes may serve itself.
const OF_KUBERNETES: [&str; 24] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Whether an API group is one of Kubernetes itself. Others below `k8s.io` are of those who define their kinds.
pub fn is_of_kubernetes(group: &str) -> bool {
    OF_KUBERNETES.contains(&group)
}

/// The first group that cannot be one of a dialect, and why.
pub(super) fn unfit_group<'g>(groups: &'g [String], kinds: &[DialectKind]) -> Option<(&'g String, &'static str)> {
    let is_label = |label: &str| {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.chars().all(legal) && !label.starts_with('-') && !label.ends_with('-')
    };
    groups.iter().enumerate().find_map(|(index, group)| {
        let problem = match index {
            _ if groups[..index].contains(group) => "is there twice: leave one out",
            0 if is_of_kubernetes(group) => {
                "is one of Kubernetes itself: a dialect may have kinds of it beside its own, and what references without a group mean \
                 is one of its own; put that first"
            }
            _ if is_of_kubernetes(group) && kinds.iter().all(|kind| kind.group.as_ref() != Some(group)) => {
                "is one of Kubernetes itself, and no kind is of it: its objects may be applied without it; leave it out"
            }
            _ if is_of_kubernetes(group) => return None,
            _ if !group.contains('.') || !group.split('.').all(is_label) => {
                "is no API group: those of definitions are domains in lower case, without a version"
            }
            _ => return None,
        };
        Some((group, problem))
    })
}
