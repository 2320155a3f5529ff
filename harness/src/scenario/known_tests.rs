#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::super::load;
use super::*;

const GOOD: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: KnownFailures
failures:
  - scenario: httproute-missing-*
    expectation: steps[4].settle.HTTPRoute/route.ResolvedRefs.status
    reason: '#12'
    expires: 2027-01-31
  - {contract: contract/*/observed-generation-current, reason: old, expires: 2027-01-31}
";

fn read(text: &str) -> Result<Vec<KnownFailure>, Vec<Diagnostic>> {
    let vocabulary = Vocabulary::builtin();
    let rules = ["contract/Gateway/observed-generation-current".to_owned(), "contract/Gateway/sorted".to_owned()];
    parse("k.yaml", text, &vocabulary, Nameable { scenarios: load::builtin_once(), rules: &rules })
}

#[test]
fn entries_are_read_with_their_places() {
    let entries = read(GOOD).unwrap();
    assert_eq!(entries.iter().map(|e| e.place.as_str()).collect::<Vec<_>>(), ["k.yaml:4", "k.yaml:8"]);
    assert_eq!(entries[0].scenario.as_deref(), Some("httproute-missing-*"));
    assert_eq!((entries[0].reason.as_str(), entries[0].expires.as_str()), ("#12", "2027-01-31"));
    assert_eq!(entries[1].contract.as_deref(), Some("contract/*/observed-generation-current"));
}

#[test]
fn an_empty_list_is_one() {
    let empty = "apiVersion: gateproof.dev/v1alpha1\nkind: KnownFailures\nfailures: []\n";
    assert_eq!(read(empty).unwrap(), []);
}

#[rstest]
#[case::field("reason: '#12'", "reson: '#12'", (6, 5), "unknown field of a KnownFailure `reson`")]
#[case::no_end("\n    expires: 2027-01-31\n", "\n", (4, 5), "KnownFailure lacks the field `expires`")]
#[case::no_day("2027-01-31", "2027-02-30", (7, 14), "`2027-02-30` is no day")]
#[case::another_form("2027-01-31", "20270131", (7, 14), "expected a day such as 2027-01-31, found a number")]
#[case::no_reason("'#12'", "' '", (6, 13), "the reason is empty")]
#[case::scenario("httproute-missing-*", "httproute-mising-backend", (4, 15), "unknown scenario `httproute-mising-backend`")]
#[case::glob("httproute-missing-*", "nosuch-*", (4, 15), "unknown scenario `nosuch-*`")]
#[case::expectation("steps[4].settle.HTTPRoute/route", "steps[40].settle.HTTPRoute/route", (5, 18), "unknown expectation `steps[40]")]
#[case::rule("/observed-generation-current", "/observed-generation-curent", (8, 16), "unknown contract rule `contract/*/observed-generation-curent`")]
#[case::both("reason: old", "reason: old, scenario: httproute-missing-*, expectation: steps*", (8, 113), "an expectation or a contract rule")]
#[case::neither("contract: contract/*/observed-generation-current, ", "", (8, 5), "neither `scenario` nor `contract`")]
#[case::kind("kind: KnownFailures", "kind: KnownFailure", (2, 7), "unknown value `KnownFailure`")]
#[case::twice("reason: '#12'", "reason: a\n    reason: b", (7, 5), "key `reason` is given twice")]
#[case::not_yaml("kind: KnownFailures", "kind: [", (4, 3), "not YAML")]
fn a_bad_file_is_refused_at_its_place(
    #[case] good: &str,
    #[case] bad: &str,
    #[case] place: (usize, usize),
    #[case] message: &str,
) {
    assert!(GOOD.contains(good));
    let problems = read(&GOOD.replacen(good, bad, 1)).unwrap_err();
    let first = &problems[0];
    assert!(first.message.contains(message), "{problems:#?}");
    assert_eq!((first.line, first.column), place, "{problems:#?}");
    assert_eq!(problems.len(), 1, "{problems:#?}");
}

#[test]
fn a_near_name_is_suggested() {
    let problems = read(&GOOD.replacen("httproute-missing-*", "httproute-mising-backend", 1)).unwrap_err();
    assert_eq!(problems[0].help.as_deref(), Some("did you mean `httproute-missing-backend`?"));
}

#[test]
fn a_file_without_a_document_is_refused() {
    assert_eq!(read("").unwrap_err().len(), 1);
}
