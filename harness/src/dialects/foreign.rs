//! Which API groups are of which built-in dialect.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use gateproof_suites::dialects::OTHERS;

use super::Dialect;

/// The built-in dialect that an API group is of, if it is not one of this dialect's own. What several have is the first one's.
pub fn dialect_of(group: &str, own: &Dialect) -> Option<&'static str> {
    first_with(group).filter(|_| !own.has_group(group))
}

/// Whether the kinds of a group, which this dialect has too, are those of another built-in dialect that it builds upon.
pub fn is_borrowed(group: &str, by: &Dialect) -> bool {
    first_with(group).is_some_and(|first| first != by.name())
}

/// The first built-in dialect that has a group.
fn first_with(group: &str) -> Option<&'static str> {
    static GROUPS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
        let others = OTHERS.iter().filter_map(|files| Dialect::parse(files.dialect).ok());
        let mut groups = BTreeMap::new();
        for dialect in std::iter::once((*Dialect::gateway_api()).clone()).chain(others) {
            for group in dialect.groups() {
                groups.entry(group.clone()).or_insert_with(|| dialect.name().to_owned());
            }
        }
        groups
    });
    GROUPS.get(group).map(String::as_str)
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

    #[test]
    fn one_may_have_the_kinds_of_another() {
        let gateway_api = Dialect::gateway_api();
        assert!(has_both("kuadrant", &gateway_api) && !has_both("aso", &gateway_api));
        assert!(!has_both("gateway-api", &named("aso")));
    }
}
