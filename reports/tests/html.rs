//! The page of a run: what it holds, how large it is, and that nothing in it is markup that others wrote.
#![allow(clippy::unwrap_used)]

mod made_up;
mod support;

use base64::Engine as _;
use gateproof_report::html::{About, PAGE, Page};
use gateproof_report::record::{Outcome, RunRecord};
use made_up::{evidence, page, run, with_hostile_names};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What the page's own script reads.
fn data(page: &str) -> Value {
    let (_, behind) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(behind.split_once("</script>").unwrap().0).unwrap()
}

fn between<'a>(page: &'a str, begin: &str, end: &str) -> &'a str {
    page.split_once(begin).unwrap().1.split_once(end).unwrap().0
}

#[test]
fn the_policy_names_style_and_script_and_nothing_else() {
    let page = page(&run(3));
    let digest = |text: &str| {
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text.as_bytes()));
        format!("'sha256-{digest}'")
    };
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let style = digest(between(&page, "<style>", "</style>"));
    let script = digest(between(&page, "<script>", "</script>"));
    let expected =
        format!("default-src 'none'; script-src {script}; style-src {style}; base-uri 'none'; form-action 'none'");
    assert_eq!(policy, expected);
}

#[test]
fn nothing_that_others_wrote_is_markup() {
    let page = page(&with_hostile_names());
    let data = between(&page, "id=\"data\">", "</script>");
    assert!(!data.contains(['<', '\u{2028}', '\u{2029}']));
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2));
    let script = between(&page, "<script>", "</script>");
    for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttp"] {
        assert!(!script.contains(way), "{way}");
    }
}

#[test]
fn the_same_log_gives_the_same_bytes() {
    assert_eq!(page(&run(40)), page(&run(40)));
}

#[test]
fn it_holds_the_record_as_it_is() {
    let record = run(5);
    assert_eq!(data(&page(&record))["record"], serde_json::to_value(&record).unwrap());
}

/// A fifth of them fails, with a hundred versions and as many attempts each.
#[test]
fn seven_hundred_scenarios_have_five_megabytes_at_most() {
    let record = run(700);
    let page = page(&record);
    assert!(page.len() < 5_000_000 && page.len() > PAGE / 2, "{}", page.len());
    let cuts = &data(&page)["cuts"];
    let count = |name: &str| cuts[name].as_u64().unwrap();
    let failed = record.scenarios.iter().filter(|one| one.outcome == Outcome::Failed).count() as u64;
    assert_eq!(count("whole") + count("shortened"), failed, "{cuts}");
    assert_eq!(count("passed") + count("passedWithout"), 700 - failed, "{cuts}");
    assert!(count("shortened") > 0 && count("whole") > 0 && count("passedWithout") > 0, "{cuts}");
}

#[test]
fn where_there_is_room_nothing_is_left_out() {
    let page = page(&run(10));
    let data = data(&page);
    assert_eq!(
        (&data["cuts"]["whole"], &data["cuts"]["shortened"], &data["cuts"]["passedWithout"]),
        (&2.into(), &0.into(), &0.into())
    );
    let shown = &data["evidence"]["scenario-0000"];
    assert_eq!(shown, &serde_json::to_value(evidence(0, true)).unwrap());
}

#[test]
fn it_grows_as_the_run_does() {
    let (small, large) = (page(&run(1000)).len(), page(&run(10_000)).len());
    assert!(large < 12 * small, "{small} {large}");
}

/// A message may have any length, and the page has not.
#[test]
fn a_message_of_a_hundred_megabytes_is_cut() {
    let mut record = run(1);
    record.scenarios[0].findings[0].seen = "<".repeat(100_000_000);
    let page = page(&record);
    assert!(page.len() < 1_000_000, "{}", page.len());
    let data = data(&page);
    let seen = data["record"]["scenarios"][0]["findings"][0]["seen"].as_str().unwrap();
    assert!(seen.ends_with(" bytes more)"), "{}", &seen[seen.len() - 40..]);
    assert_eq!(data["cuts"]["texts"], 1);
}

fn verdict(record: &RunRecord) -> (String, String) {
    let page = Page::of(record, About::default()).unwrap().render().unwrap();
    let verdict = &data(&page)["verdict"];
    (verdict["tone"].as_str().unwrap().to_owned(), verdict["text"].as_str().unwrap().to_owned())
}

#[rstest::rstest]
#[case::passed(&[Outcome::Passed, Outcome::Passed], "passed", "All of 2 scenarios passed.")]
#[case::failed(&[Outcome::Passed, Outcome::Failed, Outcome::Late], "failed", "2 of 3 scenarios failed, for 2 reasons.")]
#[case::known(
    &[Outcome::Passed, Outcome::KnownFailure],
    "passed",
    "1 of 2 scenarios passed, and nothing failed newly. 1 failed as your file of known failures says."
)]
#[case::open(&[Outcome::Passed, Outcome::Inconclusive], "open", "All of 1 scenario passed. 1 could not be tested.")]
#[case::nothing(&[Outcome::Skipped], "open", "Nothing was tested.")]
fn the_first_sentence(#[case] outcomes: &[Outcome], #[case] tone: &str, #[case] text: &str) {
    let mut record = run(outcomes.len());
    for (scenario, outcome) in record.scenarios.iter_mut().zip(outcomes) {
        scenario.outcome = *outcome;
    }
    assert_eq!(verdict(&record), (tone.to_owned(), text.to_owned()));
}
