//! The embedded server against what a real one answered.
#![allow(clippy::unwrap_used)]

use gateproof_differential::compare::compare;
use gateproof_differential::corpus::Topic;
use gateproof_differential::server::Subject;
use gateproof_differential::{Setting, fixtures, golden, home, list, run};
use rstest::rstest;

#[rstest]
#[case(Setting::SingleStack, 400)]
#[case(Setting::DualStack, 100)]
#[tokio::test(flavor = "multi_thread")]
async fn every_difference_is_explained(#[case] setting: Setting, #[case] at_least: usize) {
    let topics = Topic::read_all(&setting.corpus()).unwrap();
    let names: Vec<&str> = topics.iter().map(|topic| topic.name.as_str()).collect();
    let requests: usize = topics.iter().map(Topic::requests).sum();
    assert!(requests >= at_least, "{requests} requests");
    let subject = Subject::embedded(setting).await.unwrap();
    fixtures::install(&subject, &fixtures::read(&home().join("corpus/fixtures")).unwrap()).await.unwrap();
    let (real, _) = golden::read(&setting.golden(), names.iter().copied()).unwrap();
    let found = compare(&run::run(&subject, &topics).await.unwrap(), &real);
    let judged = list::judge(found, &list::read(&home().join("differences.yaml")).unwrap(), &names).unwrap();
    let unexplained: Vec<String> = judged.unexplained.iter().map(ToString::to_string).collect();
    assert!(unexplained.is_empty(), "{} unexplained:\n{}", unexplained.len(), unexplained.join("\n"));
    assert!(judged.idle.is_empty(), "nothing differs any more at {:#?}", judged.idle);
}

#[test]
fn every_difference_is_of_something_that_is_asked() {
    let mut known = vec!["generated".to_owned(), "bundles".to_owned()];
    for setting in [Setting::SingleStack, Setting::DualStack] {
        known.extend(Topic::read_all(&setting.corpus()).unwrap().into_iter().map(|topic| topic.name));
    }
    let entries = list::read(&home().join("differences.yaml")).unwrap();
    for place in entries.iter().flat_map(|entry| &entry.places) {
        assert!(place.split_once('/').is_some_and(|(topic, _)| known.iter().any(|one| one == topic)), "{place}");
    }
}

#[test]
fn readers_find_every_difference() {
    let entries = list::read(&home().join("differences.yaml")).unwrap();
    let page = std::fs::read_to_string(home().join("../../docs/differences.md")).unwrap();
    assert!(page.contains(&list::markdown(&entries)), "docs/differences.md lacks:\n{}", list::markdown(&entries));
}
