use gateproof_proxy::config::Hostname;
use proptest::prelude::*;

use super::super::hostname::intersect;

fn hostnames() -> impl Strategy<Value = String> {
    let label = prop_oneof![Just("a"), Just("b"), Just("com")];
    (any::<bool>(), prop::collection::vec(label, 1..4)).prop_map(|(wild, labels)| {
        let name = labels.join(".");
        if wild { format!("*.{name}") } else { name }
    })
}

fn takes(pattern: &Hostname, host: &str) -> bool {
    match pattern {
        Hostname::Any => true,
        Hostname::Exact(name) => name == host,
        Hostname::Wildcard(suffix) => host.ends_with(&format!(".{suffix}")) && host.len() > suffix.len() + 1,
    }
}

proptest! {
    #[test]
    fn an_intersection_takes_what_both_take(one in hostnames(), other in hostnames(), host in hostnames()) {
        prop_assume!(!host.starts_with('*'));
        let (one, other) = (Hostname::parse(&one), Hostname::parse(&other));
        let both = takes(&one, &host) && takes(&other, &host);
        prop_assert_eq!(intersect(&one, &other).is_some_and(|hosts| takes(&hosts, &host)), both);
    }

    #[test]
    fn intersecting_does_not_depend_on_the_order(one in hostnames(), other in hostnames()) {
        let (one, other) = (Hostname::parse(&one), Hostname::parse(&other));
        prop_assert_eq!(intersect(&one, &other), intersect(&other, &one));
    }
}
