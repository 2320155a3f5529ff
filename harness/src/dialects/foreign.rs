//! Which API groups are of which built-in dialect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use gateproof_suites::dialects::OTHERS;

use super::Dialect;
use super::groups::is_of_kubernetes;

/// The built-in dialect that an API group is of, if it is not one of this dialect's own. What several have is the first one's.
pub fn dialect_of(group: &str, own: &Dialect) -> Option<&'static str> {
    first_with(group).filter(|_| !own.has_group(group))
}

/// Whether the kinds of a group, which this dialect has too, are those of another built-in dialect that it builds upon.
pub fn is_borrowed(group: &str, by: &Dialect) -> bool {
    first_with(group).is_some_and(|first| first != by.name())
}

/// The kinds of a group that objects of a dialect may be of; none if that is no group of its own, or one of Kubernetes itself, whose other
/// kinds need no dialect. Of a group that it borrows those of the built-in dialects are there, too.
pub fn kinds_in(group: &str, dialect: &Dialect) -> Option<BTreeSet<String>> {
    if !dialect.has_group(group) || is_of_kubernetes(group) {
        return None;
    }
    let borrowed = GROUPS.get(group).filter(|(first, _)| first != dialect.name()).map(|(_, kinds)| kinds);
    Some(of_group(dialect, group).chain(borrowed.into_iter().flatten().cloned()).collect())
}

fn of_group<'d>(dialect: &'d Dialect, group: &'d str) -> impl Iterator<Item = String> + 'd {
    dialect.kinds().filter(move |kind| dialect.group_of(&kind.kind) == group).map(|kind| kind.kind.clone())
}

/// Every group of a built-in dialect, with the name of the first that has it, and the kinds that any of them has in it.
static GROUPS: LazyLock<BTreeMap<String, (String, BTreeSet<String>)>> = LazyLock::new(|| {
    let others = OTHERS.iter().filter_map(|files| Dialect::parse(files.dialect).ok());
    let mut groups = BTreeMap::new();
    for dialect in std::iter::once((*Dialect::gateway_api()).clone()).chain(others) {
        for group in dialect.groups() {
            let first = || (dialect.name().to_owned(), BTreeSet::new());
            let (_, kinds) = groups.entry(group.clone()).or_insert_with(first);
            kinds.extend(of_group(&dialect, group));
        }
    }
    groups
});

/// The first built-in dialect that has a group.
fn first_with(group: &str) -> Option<&'static str> {
    GROUPS.get(group).map(|(first, _)| first.as_str())
}

/// Whether a built-in dialect has the kinds of another beside its own: that which references without a group mean there is one of its
/// groups.
pub fn has_both(name: &str, other: &Dialect) -> bool {
    let files = OTHERS.iter().find(|files| files.name == name);
    files.and_then(|files| Dialect::parse(files.dialect).ok()).is_some_and(|dialect| dialect.has_group(other.group()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn named(name: &str) -> Dialect {
        let files = OTHERS.into_iter().find(|files| files.name == name).unwrap();
        Dialect::parse(files.dialect).unwrap()
    }

    #[rstest]
    #[case::of_another("kuadrant.io", "aso", Some("kuadrant"))]
    #[case::what_two_have("gateway.networking.k8s.io", "aso", Some("gateway-api"))]
    #[case::its_own("kuadrant.io", "kuadrant", None)]
    #[case::what_it_shares("gateway.networking.k8s.io", "kuadrant", None)]
    #[case::nobodys("example.com", "kuadrant", None)]
    fn a_group_is_of_the_first_dialect_that_has_it(
        #[case] group: &str,
        #[case] own: &str,
        #[case] dialect: Option<&str>,
    ) {
        assert_eq!(dialect_of(group, &named(own)), dialect);
    }

    #[rstest]
    #[case::what_another_had_first("gateway.networking.k8s.io", "kuadrant", true)]
    #[case::its_own("kuadrant.io", "kuadrant", false)]
    #[case::nobodys("example.com", "kuadrant", false)]
    fn what_a_dialect_builds_upon_is_of_another(#[case] group: &str, #[case] by: &str, #[case] is_borrowed: bool) {
        assert_eq!(super::is_borrowed(group, &named(by)), is_borrowed);
    }

    /// Of its own group what it names, of a borrowed one what there is, and of others nothing is said.
    #[rstest]
    #[case::its_own("kuadrant.io", "AuthPolicy", Some(true))]
    #[case::misspelt("kuadrant.io", "AuthPolice", Some(false))]
    #[case::borrowed("gateway.networking.k8s.io", "ReferenceGrant", Some(true))]
    #[case::misspelt_there("gateway.networking.k8s.io", "ReferenceGrand", Some(false))]
    #[case::of_another_group("kuadrant.io", "HTTPRoute", Some(false))]
    #[case::nobodys("example.com", "AuthPolicy", None)]
    fn kinds_of_its_groups_are_known(#[case] group: &str, #[case] kind: &str, #[case] is_known: Option<bool>) {
        assert_eq!(kinds_in(group, &named("kuadrant")).map(|kinds| kinds.contains(kind)), is_known);
    }

    #[test]
    fn one_may_have_the_kinds_of_another() {
        let gateway_api = Dialect::gateway_api();
        assert!(has_both("kuadrant", &gateway_api) && !has_both("aso", &gateway_api));
        assert!(!has_both("gateway-api", &named("aso")));
    }
}
