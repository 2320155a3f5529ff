//! What is written to disk and read again.

use gateproof_report::conformance::{ConformanceReport, KnownTest, lint};

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

/// A report is refused, or what is written of it reads as what is written of that.
pub fn conformance_report(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
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
