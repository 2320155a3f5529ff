//! A badge: what a run came to in a few words, for a page that shows many.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;

use crate::page;
use crate::record::{Outcome, RunRecord, executions};
use crate::terminal::printable;

/// What a run came to as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong.
    Passed,
    /// Something is wrong with the target, or with the file of known failures.
    Failed,
    /// It could not be told.
    Inconclusive,
    /// The user broke it off.
    BrokenOff,
}

/// A badge, as the endpoint of shields.io takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Badge {
    /// 1.
    pub schema_version: u8,
    /// The left half.
    pub label: String,
    /// The right half.
    pub message: String,
    /// The colour of the right half, as shields.io calls it.
    pub color: &'static str,
}

/// What the left half says.
const LABEL: &str = "gateproof";

impl Badge {
    /// The badge of a run.
    pub fn of(record: &RunRecord, verdict: Verdict) -> Badge {
        let target = &record.target;
        let count = |wanted: &[Outcome]| executions(record, |one| wanted.contains(&one));
        let known = count(&[Outcome::KnownFailure]);
        let failed = count(&[Outcome::Failed, Outcome::Late]);
        let (said, color) = match verdict {
            Verdict::Passed if known > 0 => {
                (format!("{} passed, {known} known to fail", count(&[Outcome::Passed])), "yellowgreen")
            }
            Verdict::Passed => (format!("{} passed", count(&[Outcome::Passed])), "brightgreen"),
            // The contract, or the file of known failures.
            Verdict::Failed if failed == 0 => ("failed".to_owned(), "red"),
            Verdict::Failed => (format!("{failed} of {} failed", failed + known + count(&[Outcome::Passed])), "red"),
            Verdict::Inconclusive => ("inconclusive".to_owned(), "lightgrey"),
            Verdict::BrokenOff => ("broken off".to_owned(), "lightgrey"),
        };
        let about = target.gateway_api_version.as_deref().unwrap_or(&target.dialect);
        // Nobody is to take the reference for an implementation.
        let label = if target.embedded { format!("{LABEL} (embedded)") } else { LABEL.to_owned() };
        Badge { schema_version: 1, label, message: format!("{}: {said}", printable(about)), color }
    }

    /// As an image that needs nothing from elsewhere.
    pub fn svg(&self) -> String {
        let halves = [(&self.label, "#555"), (&self.message, hex(self.color))];
        let all = page::text(&format!("{}: {}", self.label, self.message));
        let [left, right] = halves.map(|(text, _)| width(text));
        let mut out = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="20" role="img" aria-label="{all}"><title>{all}</title>"##,
            left + right
        );
        let mut x = 0;
        for ((text, fill), width) in halves.into_iter().zip([left, right]) {
            let _ = write!(out, r#"<rect x="{x}" width="{width}" height="20" fill="{fill}"/>"#);
            // Whatever font there is, the text fills its half and no more.
            let _ = write!(
                out,
                r##"<text x="{}" y="14" textLength="{}" fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{}</text>"##,
                x + PADDING,
                width - 2 * PADDING,
                page::text(text)
            );
            x += width;
        }
        out.push_str("</svg>\n");
        out
    }
}

const PADDING: usize = 6;

/// Pixels of a half; letters of that size are seven wide in the middle.
fn width(text: &str) -> usize {
    text.chars().count() * 7 + 2 * PADDING
}

fn hex(color: &str) -> &'static str {
    match color {
        "brightgreen" => "#2e7d32",
        "yellowgreen" => "#7a6a00",
        "red" => "#c62828",
        _ => "#616161",
    }
}
