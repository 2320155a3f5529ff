//! Groups whose objects make something real, because operators act on them: those of the domains of built-in dialects with a canary.

use std::sync::LazyLock;

use gateproof_suites::dialects::OTHERS;

use super::Dialect;

/// A built-in dialect that has a canary, with the domains in which it has groups.
#[derive(Debug)]
pub struct Guarded {
    /// Its name.
    pub name: String,
    domains: Vec<String>,
}

impl Guarded {
    /// Whether a group is below one of the domains, at whatever depth.
    pub fn covers(&self, group: &str) -> bool {
        let is_below = |rest: &str| rest.is_empty() || rest.ends_with('.');
        self.domains.iter().any(|domain| group.strip_suffix(&**domain).is_some_and(is_below))
    }
}

/// What guards a group, if anything does.
pub fn guarding(group: &str) -> Option<&'static Guarded> {
    GUARDED.iter().find(|guarded| guarded.covers(group))
}

/// What guards a group of which this dialect has no canary to ask: it has no group of those domains itself, so it needs none.
pub fn unguarded_by(group: &str, own: &Dialect) -> Option<&'static Guarded> {
    guarding(group).filter(|guarded| !own.groups().iter().any(|group| guarded.covers(group)))
}

static GUARDED: LazyLock<Vec<Guarded>> = LazyLock::new(|| {
    let with_canary = OTHERS.iter().filter(|other| other.canary.is_some());
    let dialects = with_canary.filter_map(|other| Dialect::parse(other.dialect).ok());
    let guarded = |dialect: Dialect| Guarded {
        name: dialect.name().to_owned(),
        domains: dialect.groups().iter().map(|group| domain(group).to_owned()).collect(),
    };
    dialects.map(guarded).collect()
});

/// What stands behind the first part of the name of a group.
fn domain(group: &str) -> &str {
    group.split_once('.').map_or(group, |(_, domain)| domain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::listed("resources.azure.com", true)]
    #[case::of_the_domain("compute.azure.com", true)]
    #[case::the_domain("azure.com", true)]
    #[case::deeper("secrets.keyvault.azure.com", true)]
    #[case::another("notazure.com", false)]
    #[case::nobodys("example.com", false)]
    #[case::core("", false)]
    fn a_domain_is_guarded_whole(#[case] group: &str, #[case] is_guarded: bool) {
        assert_eq!(guarding(group).is_some(), is_guarded);
        assert_eq!(unguarded_by(group, &Dialect::gateway_api()).is_some(), is_guarded);
    }

    #[test]
    fn a_dialect_with_such_a_group_has_a_canary_of_its_own() {
        let aso = OTHERS.iter().find(|other| other.name == "aso").unwrap();
        assert!(unguarded_by("compute.azure.com", &Dialect::parse(aso.dialect).unwrap()).is_none());
    }
}
