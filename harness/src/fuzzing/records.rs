//! What is written to disk and read again.

use gateproof_report::conformance::{About, ConformanceReport, KnownTest, Place, lint, misplaced, submission};
use gateproof_report::matrix::{Choice, Known, html, markdown, matrix, read as read_leniently};

use crate::log::codec::{Encoder, read};

/// A log is refused with a line that it has, or its events are written and read back the same.
pub fn event_log(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let events = match read(&text) {
        Ok(events) => events,
        Err(error) => {
            assert!((1..=text.lines().count()).contains(&error.line), "{error}");
            return;
        }
    };
    let mut encoder = Encoder::default();
    let mut written = String::new();
    for event in &events {
        written.push_str(&encoder.line(event).expect("an event that was read can be written"));
        written.push('\n');
    }
    assert_eq!(read(&written).expect("what was written can be read"), events, "{written}");
}

fn leniently(text: &str) {
    let known = Known::default();
    let found = read_leniently("report.yaml", text, &known);
    assert!(!found.reports.is_empty() || !found.unread.is_empty(), "nothing is said of {text}");
    let choice = Choice { latest: true, ..Choice::default() };
    let found = matrix(vec![("report.yaml".to_owned(), found)], &choice, &known).expect("nothing is chosen by name");
    let page = html(&found);
    assert!(!page.contains("<script") && !markdown(&found).is_empty(), "{page}");
}

/// A report is refused, or what is written of it reads as what is written of that. Whoever sets reports of anybody beside each other
/// reads it, or says why not.
pub fn conformance_report(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    leniently(&text);
    let Ok(report) = ConformanceReport::from_yaml(&text) else { return };
    let _ = lint(&report, &[KnownTest { name: "HTTPRouteCORS", since: "v1.5" }]);
    let written = report.to_yaml().expect("a report that was read can be written");
    let again = ConformanceReport::from_yaml(&written);
    let again = again.unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again.to_yaml().expect("it was written before"), written);
    // Where old reports keep their sentences is read and never written.
    if !text.contains("summary") && !text.contains("status") {
        assert_eq!(again, report);
    }
}

const REPORT: &str = include_str!("../../../fuzz/seeds/conformance_report/ours.yaml");

/// A README is read whatever stands in it, and one that has all that it needs has it whatever else comes behind.
pub fn readme(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let report = ConformanceReport::from_yaml(REPORT).expect("a seed that is a report");
    let about =
        About { text: REPORT, folder: None, release_page: None, reproduce: Some("As it was."), in_own_words: true };
    let made = submission(&report, about).expect("a seed that can be submitted");
    let place = Place { release: made.folders[2].clone(), folders: vec![made.folders[3].clone()], name: made.name };
    let _ = misplaced(&report, &place, Some(&text));
    let longer = format!("{}\n{text}", made.readme);
    assert_eq!(misplaced(&report, &place, Some(&longer)), [], "{longer}");
}
