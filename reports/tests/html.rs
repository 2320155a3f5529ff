//! The page of a run: what it holds, how large it is, and that nothing in it is markup that others wrote.
#![allow(clippy::unwrap_used)]

mod made_up;
mod support;

use base64::Engine as _;
use gateproof_report::diff::{self, Gate, Side, diff};
use gateproof_report::html::{About, Evidence, Object, PAGE, Page, without_news};
use gateproof_report::known::KnownState;
use gateproof_report::record::{Finding, Outcome, RunRecord, Severity};
use gateproof_report::{annotations, markdown, terminal};
use made_up::{evidence, page, run, varied, with_hostile_names};
use serde_json::{Value, json};
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

/// A page of a record, with evidence by name.
fn page_with(record: &RunRecord, all: Vec<(&str, Evidence)>) -> Value {
    let mut page = Page::of(record, About::default()).unwrap();
    all.into_iter().for_each(|(name, evidence)| page.put(name, evidence).unwrap());
    data(&page.render().unwrap())
}

/// A record may be larger than a page: what was seen has its least, and of that which fits least the last have nothing.
#[test]
fn a_large_record_leaves_room_for_some_evidence() {
    let mut record = run(600);
    for one in &mut record.scenarios {
        one.outcome = Outcome::Failed;
        one.summary = "x".repeat(7_900).into();
    }
    let all = record.scenarios.iter().map(|one| (one.name.as_str(), evidence(0, false))).collect();
    let data = page_with(&record, all);
    let shown = data["evidence"].as_object().unwrap();
    let size = data["evidence"].to_string().len();
    assert!((300_000..450_000).contains(&size), "{size}");
    assert!(shown.values().all(|one| one["cut"].as_str().unwrap().starts_with("all but writes")));
    assert!(shown.contains_key("scenario-0000") && !shown.contains_key("scenario-0599"), "{}", shown.len());
    assert_eq!((&data["cuts"]["whole"], &data["cuts"]["shortened"]), (&json!(0), &json!(600)));
}

/// One with much to tell does not cost the others theirs.
#[test]
fn the_largest_gives_way_first() {
    let mut record = run(6);
    record.scenarios.iter_mut().for_each(|one| one.outcome = Outcome::Failed);
    let names: Vec<String> = record.scenarios.iter().map(|one| one.name.clone()).collect();
    let mut large = evidence(3, true);
    large.rows = (0..200).flat_map(|_| large.rows.clone()).collect();
    let mut all: Vec<_> = names.iter().enumerate().map(|(at, name)| (&**name, evidence(at, true))).collect();
    all[3].1 = large;
    let data = page_with(&record, all);
    let cut: Vec<&str> =
        names.iter().map(|name| &**name).filter(|name| data["evidence"][name].get("cut").is_some()).collect();
    assert_eq!(cut, ["scenario-0003"]);
}

/// What passed has its ends: nothing that was written, and of what was there before it the last version.
#[test]
fn of_what_passed_the_outline_is_shown() {
    let mut record = run(2);
    let mut seen = evidence(1, true);
    let mut before = Object::named("GatewayClass/shared".to_owned());
    (0..3).for_each(|version| before.saw(0, false, &json!({"spec": {"a": 1}, "status": {"b": version}})));
    seen.objects.insert(0, before);
    let put = || vec![("scenario-0001", seen.clone()), ("no-such-scenario", seen.clone())];
    let shown = page_with(&record, put());
    assert_eq!(shown["evidence"].as_object().unwrap().keys().collect::<Vec<_>>(), ["scenario-0001"]);
    let shown = &shown["evidence"]["scenario-0001"];
    assert_eq!(shown["objects"][0]["versions"], json!([{"at": 0, "parts": {"spec": {"a": 1}, "status": {"b": 2}}}]));
    let count = |place: &str| shown.pointer(place).unwrap().as_array().unwrap().len();
    assert_eq!((count("/objects/1/versions"), count("/rows")), (5, 8));
    assert_eq!((&shown["writes"][0]["verb"], shown["writes"][0].get("sent")), (&json!("apply"), None));
    assert!(shown["cut"].as_str().unwrap().starts_with("the middle of what is long"));
    // The same of one that failed is there as it was.
    record.scenarios[1].outcome = Outcome::Failed;
    assert_eq!(page_with(&record, put())["evidence"]["scenario-0001"], serde_json::to_value(&seen).unwrap());
}

#[test]
fn long_texts_of_what_was_seen_are_cut() {
    let mut seen = evidence(0, false);
    seen.rows[0].came[0].text = "x".repeat(1_000_000);
    let shown = page_with(&run(1), vec![("scenario-0000", seen)]);
    let text = shown["evidence"]["scenario-0000"]["rows"][0]["came"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.len() < 17_000 && text.ends_with("… (984000 bytes more)"), "{}", text.len());
}

#[test]
fn what_is_news_can_be_taken_out_again() {
    let mut record = run(3);
    // What looks like the field, where texts stand.
    record.scenarios[0].summary = "\"news\":null,\"news\":{}".into();
    let plain = page(&record);
    let before = run(2);
    let news = diff(&Side::of([&before]).unwrap(), &Side::of([&record]).unwrap(), &Gate::default());
    let mut with_news = Page::of(&record, About { news: Some(news), ..made_up::about() }).unwrap();
    for (number, scenario) in record.scenarios.iter().enumerate() {
        with_news.put(&scenario.name, evidence(number, true)).unwrap();
    }
    let with_news = with_news.render().unwrap();
    assert_ne!(with_news, plain);
    assert_eq!(without_news(&with_news), Some(plain.clone()));
    for other in [&*plain, "", "<p>", &plain[..plain.len() / 2]] {
        assert_eq!(without_news(other), None);
    }
}

/// By profile, of those that need core features only and of the others; of executions the worst counts.
#[test]
fn profiles_are_counted() {
    let profiles = &data(&page(&varied()))["profiles"];
    let tally = |passed: u32, failed: u32, open: u32| json!({"passed": passed, "failed": failed, "open": open});
    assert_eq!(profiles, &json!([{"name": "GATEWAY-HTTP", "core": tally(32, 8, 0), "extended": tally(0, 2, 2)}]));
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

#[rstest::rstest]
#[case::one_reason(|_: &mut RunRecord| {}, "failed", "1 of 2 scenarios failed, for one reason.")]
#[case::a_broken_rule(|run: &mut RunRecord| {
    run.scenarios.truncate(0);
    run.contract = varied().contract;
}, "failed", "Nothing was tested. 1 rule of the status contract is broken.")]
#[case::out_of_date(|run: &mut RunRecord| {
    run.scenarios.remove(0);
    run.known_failures = varied().known_failures;
    run.known_failures[0].state = KnownState::UnexpectedPass;
}, "failed", "All of 1 scenario passed. 1 entry of that file is out of date.")]
#[case::broken_off(|run: &mut RunRecord| {
    run.scenarios.remove(0);
    run.interrupted = true;
}, "open", "The run was broken off. All of 1 scenario passed.")]
fn what_else_the_first_sentence_says(#[case] edit: fn(&mut RunRecord), #[case] tone: &str, #[case] text: &str) {
    let mut record = run(2);
    edit(&mut record);
    assert_eq!(verdict(&record), (tone.to_owned(), text.to_owned()));
}

/// The same with something that steers a terminal in every text but the words that a record chooses from.
fn steering(record: &RunRecord) -> RunRecord {
    fn edit(key: &str, value: &mut Value) {
        match value {
            Value::String(text) if !["outcome", "severity", "state"].contains(&key) => {
                text.push_str("\u{1b}[2K\u{202e}\n::x")
            }
            Value::Array(all) => all.iter_mut().for_each(|one| edit(key, one)),
            Value::Object(fields) => fields.iter_mut().for_each(|(name, one)| edit(name, one)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(record).unwrap();
    edit("", &mut value);
    serde_json::from_value(value).unwrap()
}

/// Whoever is sent a record, and has it told, is told of it and of nothing else.
#[test]
fn a_record_of_others_steers_nobodys_terminal() {
    let mut record = varied();
    record.scenarios[1].findings = vec![Finding { severity: Severity::Warning, ..made_up::finding("late") }];
    record.outside_profiles = vec!["scenario-0001".to_owned()];
    let theirs = steering(&record);
    let [before, here] = [&record, &theirs].map(|one| Side::of([one]).unwrap());
    let news = diff(&before, &here, &Gate::default());
    for (what, text) in [
        ("summary", terminal::summary(&theirs)),
        ("markdown", markdown::render(&theirs)),
        ("annotations", annotations::render(&theirs)),
        ("diff", diff::render(&news)),
    ] {
        assert!(text.contains("scenario-0000"), "{what} {text}");
        let before = |at: usize| &text[text.floor_char_boundary(at.saturating_sub(80))..at];
        assert_eq!(text.find(['\u{1b}', '\u{202e}']).map(before), None, "{what}");
        assert!(!text.contains("\n::x"), "{what}: {text}");
    }
}
