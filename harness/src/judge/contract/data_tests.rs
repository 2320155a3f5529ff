#![allow(clippy::unwrap_used)]
use std::collections::BTreeSet;

use super::super::GATEWAY_API;
use super::Contract;

/// The first five are those that GEP-1364 and its heirs count up; later releases added the others, and `Scheduled` is
/// what `Accepted` once was. No type is in both lists.
///
/// Holds GEP1364-26.
#[test]
fn the_positive_types_are_known() {
    let contract = Contract::parse(GATEWAY_API).unwrap();
    let subjects = || contract.kinds.iter().flat_map(|kind| &kind.subjects);
    let of = |negative: bool| -> BTreeSet<&str> {
        let terms = subjects().flat_map(|subject| &subject.conditions);
        terms.filter(|(_, terms)| terms.negative == negative).map(|(type_, _)| type_.as_str()).collect()
    };
    let positive = ["Accepted", "Programmed", "Ready", "ResolvedRefs", "SupportedVersion"];
    let later = ["AddressesAssigned", "AttachedListenerSets", "Scheduled"];
    assert_eq!(of(false), positive.into_iter().chain(later).collect());
    let negative =
        ["Conflicted", "Detached", "InsecureFrontendValidationMode", "OverlappingTLSConfig", "PartiallyInvalid"];
    assert_eq!(of(true), negative.into());
}
