//! The embedded server against what a real one answered.
#![allow(clippy::unwrap_used)]

use gateproof_differential::compare::compare;
use gateproof_differential::corpus::Topic;
use gateproof_differential::server::Subject;
use gateproof_differential::{fixtures, golden, home, list, run};

#[tokio::test(flavor = "multi_thread")]
async fn every_difference_is_explained() {
    let topics = Topic::read_all(&home().join("corpus")).unwrap();
    let requests: usize = topics.iter().map(Topic::requests).sum();
    assert!(requests >= 400, "{requests} requests");
    let subject = Subject::embedded().await.unwrap();
    fixtures::install(&subject, &fixtures::read(&home().join("corpus/fixtures")).unwrap()).await.unwrap();
    let (real, _) = golden::read(&home().join("golden"), topics.iter().map(|topic| topic.name.as_str())).unwrap();
    let found = compare(&run::run(&subject, &topics).await.unwrap(), &real);
    let judged = list::judge(found, &list::read(&home().join("differences.yaml")).unwrap(), true).unwrap();
    let unexplained: Vec<String> = judged.unexplained.iter().map(ToString::to_string).collect();
    assert!(unexplained.is_empty(), "{} unexplained:\n{}", unexplained.len(), unexplained.join("\n"));
    assert!(judged.idle.is_empty(), "nothing differs any more at {:#?}", judged.idle);
}

#[test]
fn readers_find_every_difference() {
    let entries = list::read(&home().join("differences.yaml")).unwrap();
    let page = std::fs::read_to_string(home().join("../../docs/differences.md")).unwrap();
    assert!(page.contains(&list::markdown(&entries)), "docs/differences.md lacks:\n{}", list::markdown(&entries));
}
