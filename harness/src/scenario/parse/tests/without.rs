//! Features that a target must lack.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::scenario::scope::{Lacking, lacking};

fn of(without: &str) -> String {
    let without = format!("  features: [Gateway, HTTPRoute]\n  without: [{without}]\n");
    with("delete: [HTTPRoute/route]").replacen("  features: [Gateway, HTTPRoute]\n", &without, 1)
}

#[test]
fn a_scenario_may_be_about_who_lacks_features() {
    let scenario = parse("a.yaml", &of("TLSRoute, TCPRoute"), &vocabulary()).unwrap().remove(0);
    assert_eq!(scenario.without, ["TLSRoute", "TCPRoute"]);
    let features = vec!["TCPRoute".to_owned(), "TLSRoute".to_owned()];
    assert_eq!(lacking(&scenario), Lacking { definitions: Vec::new(), features });
}

#[test]
fn no_target_claims_a_feature_and_lacks_it() {
    let help = Some("a target claims a feature or does not".to_owned());
    assert_eq!(problems(&of("HTTPRoute")), [(7, "`HTTPRoute` is among `features` too".to_owned(), help)]);
    let help = Some("did you mean `TLSRoute`?".to_owned());
    assert_eq!(problems(&of("TLSRout")), [(7, "unknown feature `TLSRout`".to_owned(), help)]);
}
