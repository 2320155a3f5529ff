//! `report.html`: a run as one page, which needs nothing but itself.
//!
//! The page is one script over one block of JSON. It reaches no network, and says so in its policy, which names style and script
//! by their digests; whatever others chose comes into it as text, never as markup. The same log gives the same bytes.

mod causes;
mod evidence;
mod limits;
mod text;
mod verdict;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use causes::Cause;
pub use evidence::{Came, Evidence, Note, Object, Request, Row, Step, Version, Write};
pub use limits::{Cuts, PAGE, Shelf};
pub use verdict::{ProfileLine, Sentence, Tally};

use crate::conformance::ProfileRule;
use crate::diff::Diff;
use crate::page::digest;
use crate::record::RunRecord;

/// Version of what the block of JSON holds.
const FORMAT: u32 = 1;
const FRAME: &str = include_str!("page/page.html");
/// How the element begins in it that holds the data.
const DATA: &str = r#"<script type="application/json" id="data">"#;
const STYLE: &str = include_str!("page/page.css");
/// In the order in which they need each other.
const SCRIPTS: [&str; 10] = [
    include_str!("page/dom.js"),
    include_str!("page/words.js"),
    include_str!("page/diff.js"),
    include_str!("page/slower.js"),
    include_str!("page/state.js"),
    include_str!("page/scrubber.js"),
    include_str!("page/detail.js"),
    include_str!("page/overview.js"),
    include_str!("page/list.js"),
    include_str!("page/main.js"),
];

/// What a clause says, for whoever has not read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Clause {
    /// Its name in `proves`.
    pub id: String,
    /// How binding it is, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// What it asks.
    pub text: String,
    /// Where it stands: a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Clause {
    /// What it takes of the page, and a little more.
    fn bytes(&self) -> usize {
        self.id.len() + self.text.len() + self.source.as_ref().map_or(0, String::len) + 80
    }
}

/// What the page says beside the record and the evidence.
#[derive(Debug, Default)]
pub struct About {
    /// The clauses that the record names.
    pub clauses: Vec<Clause>,
    /// The profiles of the release.
    pub profiles: Vec<ProfileRule>,
    /// What the failures look like, line by line.
    pub diagnosis: Vec<String>,
    /// What is news against an earlier run, if there is one.
    pub news: Option<Diff>,
}

/// The JSON of a page.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    format: u32,
    verdict: Sentence,
    profiles: Vec<ProfileLine>,
    causes: Vec<Cause>,
    diagnosis: &'a [String],
    news: &'a Option<Diff>,
    clauses: &'a [Clause],
    cuts: Cuts,
    record: Box<RawValue>,
    evidence: BTreeMap<String, Box<RawValue>>,
}

/// A page that is being made: evidence is put into it, one execution after the other.
pub struct Page<'a> {
    record: &'a RunRecord,
    about: About,
    json: String,
    texts: usize,
    shelf: Shelf,
}

impl<'a> Page<'a> {
    /// The page of a run.
    pub fn of(record: &'a RunRecord, about: About) -> Result<Page<'a>, serde_json::Error> {
        let (json, texts) = limits::record(record)?;
        let clauses: usize = about.clauses.iter().map(Clause::bytes).sum();
        let taken = json.len() + clauses + STYLE.len() + script().len() + 100_000;
        Ok(Page { record, about, json, texts, shelf: Shelf::of(record, taken) })
    }

    /// Adds what was seen of one execution.
    pub fn put(&mut self, name: &str, evidence: Evidence) -> Result<(), serde_json::Error> {
        self.shelf.put(name, evidence)
    }

    /// The whole page.
    pub fn render(self) -> Result<String, serde_json::Error> {
        let (evidence, cuts) = self.shelf.close()?;
        let causes = causes::causes(self.record);
        let data = Data {
            format: FORMAT,
            verdict: verdict::sentence(self.record, &causes),
            profiles: verdict::profiles(self.record, &self.about.profiles),
            causes,
            diagnosis: &self.about.diagnosis,
            news: &self.about.news,
            clauses: &self.about.clauses,
            cuts: Cuts { texts: self.texts, ..cuts },
            record: RawValue::from_string(self.json)?,
            evidence,
        };
        let text = text::json(&data)?;
        drop(data);
        Ok(framed(&text))
    }
}

/// Frame, style, data and script as one document.
fn framed(data: &str) -> String {
    let script = script();
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        digest(&script),
        digest(STYLE)
    );
    // The data come last: whatever stands in them is looked at by nobody.
    let parts = [("{policy}", &*policy), ("{style}", STYLE), ("{script}", &*script), ("{data}", data)];
    let mut page = String::new();
    let mut rest = FRAME;
    while let Some((at, (mark, part))) =
        parts.iter().filter_map(|part| Some((rest.find(part.0)?, part))).min_by_key(|(at, _)| *at)
    {
        page.push_str(&rest[..at]);
        page.push_str(part);
        rest = &rest[at + mark.len()..];
    }
    page.push_str(rest);
    page
}

/// A page as it would be without news against an earlier run; nothing if it has none, or is no page of ours.
pub fn without_news(page: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Shown<'a> {
        #[serde(borrow)]
        news: &'a RawValue,
    }
    let data = page.split_once(DATA)?.1.split_once("</script>")?.0;
    let news = serde_json::from_str::<Shown<'_>>(data).ok()?.news.get();
    // Within a string, the quotes of what looks the same are escaped.
    (news != "null").then(|| page.replacen(&format!("\"news\":{news}"), "\"news\":null", 1))
}

/// All of it in a scope of its own.
fn script() -> String {
    format!("\"use strict\";\n(() => {{\n{}}})();\n", SCRIPTS.concat())
}
