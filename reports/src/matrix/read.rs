//! Reading a ConformanceReport of anybody. Whatever is wrong with it and can be done without is named, with what was taken instead.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::known::{Known, release};
use super::yaml::{Kind, Node, documents};
use crate::conformance::{
    ConformanceReport, Extended, Implementation, ProfileReport, Statistics, Status, TestResult, current_name,
};
use crate::words;

/// How many characters of a foreign text a message shows.
const SHOWN: usize = 60;
/// How many defects of one file are named: a real one has a handful.
const NAMED: usize = 200;

/// Something in a report that is not as it should be, and that it could be read without.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tolerated {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Which field, such as `profiles[GATEWAY-HTTP].core.result`.
    pub field: String,
    /// What is wrong.
    pub problem: String,
    /// What was taken instead.
    pub assumed: String,
}

/// A file, or a document of one, of which nothing could be taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unread {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Why.
    pub problem: String,
}

/// What a file came to.
#[derive(Debug, Clone, Default)]
pub struct Read {
    /// The reports in it, in today's terms: one a document.
    pub reports: Vec<ConformanceReport>,
    /// What was tolerated.
    pub tolerated: Vec<Tolerated>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// Reads a file. Never fails as a whole: what it comes to says what is missing.
pub fn read(file: &str, text: &str, known: &Known) -> Read {
    let mut reader = Reader { file, known, found: Read::default(), unnamed: 0 };
    let (nodes, broken) = documents(text.trim_start_matches('\u{feff}'));
    for node in &nodes {
        if let Some(report) = reader.report(node) {
            reader.found.reports.push(report);
        }
    }
    if let Some(broken) = broken {
        reader.unread(broken.line, broken.why);
    } else if nodes.is_empty() {
        reader.unread(1, "is empty".to_owned());
    }
    if reader.unnamed > 0 {
        let problem = format!("has {} more", words::counted(reader.unnamed, "defect", "defects"));
        let assumed = "as for the first of their kind".to_owned();
        let file = file.to_owned();
        reader.found.tolerated.push(Tolerated { file, line: 1, field: String::new(), problem, assumed });
    }
    reader.found
}

struct Reader<'a> {
    file: &'a str,
    known: &'a Known,
    found: Read,
    unnamed: usize,
}

/// The fields of a mapping that are known, by name.
type Fields<'n> = BTreeMap<&'static str, &'n Node>;

impl Reader<'_> {
    fn tolerate(&mut self, line: usize, field: &str, problem: impl Into<String>, assumed: impl Into<String>) {
        if self.found.tolerated.len() >= NAMED {
            self.unnamed += 1;
            return;
        }
        let (file, field) = (self.file.to_owned(), field.to_owned());
        self.found.tolerated.push(Tolerated { file, line, field, problem: problem.into(), assumed: assumed.into() });
    }

    fn unread(&mut self, line: usize, problem: String) {
        self.found.unread.push(Unread { file: self.file.to_owned(), line, problem });
    }

    fn report(&mut self, node: &Node) -> Option<ConformanceReport> {
        const FIELDS: [&str; 10] = [
            "apiVersion",
            "date",
            "gatewayAPIChannel",
            "gatewayAPIVersion",
            "implementation",
            "kind",
            "mode",
            "profileReports",
            "profiles",
            "succeededProvisionalTests",
        ];
        // What is of another kind is told from a report in one sentence, not field by field.
        let Kind::Map(entries) = &node.kind else {
            self.unread(node.line, format!("is no ConformanceReport: it is {}", node.noun()));
            return None;
        };
        let said = |name: &str| entries.iter().find(|(key, _)| key.text() == Some(name)).and_then(|(_, v)| v.text());
        match said("kind") {
            Some("ConformanceReport") => {}
            Some(other) => {
                self.unread(node.line, format!("is no ConformanceReport: its kind is `{}`", short(other)));
                return None;
            }
            None if entries.iter().any(|(key, _)| matches!(key.text(), Some("profiles" | "profileReports"))) => {
                self.tolerate(node.line, "kind", "is missing", "it is a ConformanceReport: it has profiles");
            }
            None => {
                self.unread(node.line, "is no ConformanceReport: it has neither kind nor profiles".to_owned());
                return None;
            }
        }
        let fields = self.fields(node, "", &FIELDS);
        let api_version = self.api_version(&fields, node.line);
        let gateway_api_version = self.release(&fields, node.line);
        let is_old = release(&gateway_api_version).is_some_and(|release| release < (1, 1, 0));
        let date = self.text(&fields, "date", "").unwrap_or_default();
        if date.parse::<jiff::Timestamp>().is_err() {
            let line = line_of(&fields, "date", node.line);
            self.tolerate(line, "date", format!("`{}` is not an RFC 3339 time", short(&date)), "it is the oldest");
        }
        let channel = self.text(&fields, "gatewayAPIChannel", "");
        if !is_old && !matches!(channel.as_deref(), Some("standard" | "experimental")) {
            let problem = channel.as_ref().map_or("is missing".to_owned(), |said| format!("is `{}`", short(said)));
            let line = line_of(&fields, "gatewayAPIChannel", node.line);
            self.tolerate(line, "gatewayAPIChannel", problem, "the channel is not known");
        }
        let mode = self.text(&fields, "mode", "");
        let implementation = self.implementation(fields.get("implementation").copied(), node.line);
        let profiles = self.profiles(&fields, node.line, is_old);
        let provisional = self.texts(&fields, "succeededProvisionalTests", "");
        Some(ConformanceReport {
            api_version,
            date,
            gateway_api_channel: channel,
            gateway_api_version,
            implementation,
            kind: "ConformanceReport".to_owned(),
            mode,
            profiles,
            succeeded_provisional_tests: provisional,
        })
    }

    fn api_version(&mut self, fields: &Fields<'_>, line: usize) -> String {
        let said = self.text(fields, "apiVersion", "");
        let line = line_of(fields, "apiVersion", line);
        let assumed = "it reads as one of gateway.networking.k8s.io/v1";
        match said.as_deref() {
            Some("gateway.networking.k8s.io/v1" | "gateway.networking.k8s.io/v1alpha1") => {}
            Some(other) => self.tolerate(line, "apiVersion", format!("is `{}`", short(other)), assumed),
            None => self.tolerate(line, "apiVersion", "is missing", assumed),
        }
        said.unwrap_or_default()
    }

    fn release(&mut self, fields: &Fields<'_>, line: usize) -> String {
        let said = self.text(fields, "gatewayAPIVersion", "").unwrap_or_default();
        if release(&said).is_some() {
            return said;
        }
        let line = line_of(fields, "gatewayAPIVersion", line);
        let problem =
            if said.is_empty() { "is missing".to_owned() } else { format!("is `{}`, no release", short(&said)) };
        let with_letter = format!("v{said}");
        let folder = || self.file.split(['/', '\\']).rev().skip(1).find(|part| release(part).is_some());
        let (taken, assumed) = if release(&with_letter).is_some() {
            (with_letter.clone(), format!("it is {with_letter}"))
        } else if let Some(folder) = folder() {
            (folder.to_owned(), format!("it is {folder}, as its folder says"))
        } else {
            (said, "it is older than every release".to_owned())
        };
        self.tolerate(line, "gatewayAPIVersion", problem, assumed);
        taken
    }

    fn implementation(&mut self, node: Option<&Node>, line: usize) -> Implementation {
        const FIELDS: [&str; 5] = ["contact", "organization", "project", "url", "version"];
        let at = "implementation";
        let fields = node.map(|node| self.fields(node, at, &FIELDS)).unwrap_or_default();
        let line = node.map_or(line, |node| node.line);
        let mut of = |name: &'static str| self.text(&fields, name, at).filter(|text| !text.is_empty());
        let (organization, project, url, version) = (of("organization"), of("project"), of("url"), of("version"));
        let folder = self.file.split(['/', '\\']).rev().nth(1).filter(|folder| !folder.is_empty());
        let fallback = project.clone().or(organization.clone()).or(folder.map(str::to_owned));
        let fallback = fallback.unwrap_or_else(|| "unknown".to_owned());
        let mut or = |field: &str, said: Option<String>, other: &str| {
            said.unwrap_or_else(|| {
                self.tolerate(line, &format!("{at}.{field}"), "is missing", format!("it is `{}`", short(other)));
                other.to_owned()
            })
        };
        let project = or("project", project, &fallback);
        let organization = or("organization", organization, &project);
        let version = or("version", version, "unknown");
        let contact = self.texts(&fields, "contact", at);
        Implementation { contact, organization, project, url: url.unwrap_or_default(), version }
    }

    fn profiles(&mut self, fields: &Fields<'_>, line: usize, is_old: bool) -> Vec<ProfileReport> {
        let name = if fields.contains_key("profiles") { "profiles" } else { "profileReports" };
        let Some(node) = fields.get(name) else {
            self.tolerate(line, "profiles", "is missing", "it says nothing");
            return Vec::new();
        };
        if name == "profileReports" {
            self.tolerate(node.line, name, "is the name of no field", "it is `profiles`");
        }
        let mut profiles: Vec<ProfileReport> = Vec::new();
        for (index, node) in self.items(node, "profiles").iter().enumerate() {
            let Some(profile) = self.profile(node, index, is_old) else { continue };
            if profiles.iter().any(|before| before.name == profile.name) {
                let at = format!("profiles[{}]", short(&profile.name));
                self.tolerate(node.line, &at, "is given twice", "the first one counts");
            } else {
                profiles.push(profile);
            }
        }
        profiles
    }

    fn profile(&mut self, node: &Node, index: usize, is_old: bool) -> Option<ProfileReport> {
        let at = format!("profiles[{index}]");
        let fields = self.fields(node, &at, &["core", "extended", "name", "summary"]);
        let Some(said) = self.text(&fields, "name", &at).filter(|name| !name.is_empty()) else {
            self.tolerate(node.line, &at, "has no name", "it is left out");
            return None;
        };
        let line = line_of(&fields, "name", node.line);
        let name = current_name(&said).to_owned();
        let at = format!("profiles[{}]", short(&name));
        if name != said && !is_old {
            self.tolerate(
                line,
                &at,
                format!("has `{}` as its name, as before v1.1", short(&said)),
                format!("it is {name}"),
            );
        } else if self.known.profile(&name).is_none() {
            self.tolerate(line, &at, "is no profile that is known", "it is one of its own");
        }
        let core = match fields.get("core") {
            Some(node) => self.half(node, &format!("{at}.core"), false).status(),
            None => {
                self.tolerate(node.line, &format!("{at}.core"), "is missing", "nothing of it was run");
                Status::default()
            }
        };
        let extended = fields.get("extended").filter(|node| !matches!(node.kind, Kind::Nothing));
        let extended = extended.map(|node| self.half(node, &format!("{at}.extended"), true));
        Some(ProfileReport { core, extended, name, summary: self.text(&fields, "summary", &at) })
    }

    /// Core tests too, which have a part of the fields of extended ones.
    fn half(&mut self, node: &Node, at: &str, is_extended: bool) -> Extended {
        const CORE: [&str; 5] = ["failedTests", "result", "skippedTests", "statistics", "summary"];
        const EXTENDED: [&str; 8] = [
            "failedTests",
            "result",
            "skippedTests",
            "statistics",
            "summary",
            "status",
            "supportedFeatures",
            "unsupportedFeatures",
        ];
        let mut fields = self.fields(node, at, if is_extended { &EXTENDED[..] } else { &CORE[..] });
        if let Some(nested) = fields.remove("status") {
            let inner = format!("{at}.status");
            self.tolerate(nested.line, &inner, "is no field", "its content belongs one level up");
            for (name, node) in self.fields(nested, &inner, &CORE) {
                fields.entry(name).or_insert(node);
            }
        }
        let line = node.line;
        let statistics = match fields.get("statistics") {
            Some(node) => self.statistics(node, &format!("{at}.statistics")),
            None => {
                self.tolerate(line, &format!("{at}.statistics"), "is missing", "nothing was counted");
                Statistics::default()
            }
        };
        let failed_tests = self.texts(&fields, "failedTests", at);
        let skipped_tests = self.texts(&fields, "skippedTests", at);
        for (field, listed, counted) in [
            ("failedTests", failed_tests.len(), statistics.failed),
            ("skippedTests", skipped_tests.len(), statistics.skipped),
        ] {
            if listed != counted as usize {
                let problem =
                    format!("names {}, the statistics count {counted}", words::counted(listed, "test", "tests"));
                let line = line_of(&fields, field, line);
                self.tolerate(line, &format!("{at}.{field}"), problem, "the worse of the two is so");
            }
        }
        let supported_features = self.features(&fields, "supportedFeatures", at);
        let mut unsupported_features = self.features(&fields, "unsupportedFeatures", at);
        let both = |name: &String| supported_features.contains(name);
        if let Some(name) = unsupported_features.iter().find(|name| both(name)) {
            let problem = format!("has `{}` as supported and as unsupported", short(name));
            self.tolerate(line, at, problem, "it is supported");
        }
        unsupported_features.retain(|name| !both(name));
        let result = self.result(&fields, at, line, statistics);
        Extended {
            failed_tests,
            result,
            skipped_tests,
            statistics,
            status: None,
            summary: None,
            supported_features,
            unsupported_features,
        }
    }

    fn result(&mut self, fields: &Fields<'_>, at: &str, line: usize, statistics: Statistics) -> TestResult {
        let counted = statistics.result();
        let said = self.text(fields, "result", at);
        let line = line_of(fields, "result", line);
        if said.as_deref() != Some(word(counted)) {
            let problem = said.map_or("is missing".to_owned(), |said| format!("is `{}`", short(&said)));
            self.tolerate(line, &format!("{at}.result"), problem, format!("`{}`, as counted", word(counted)));
        }
        counted
    }

    fn statistics(&mut self, node: &Node, at: &str) -> Statistics {
        let fields = self.fields(node, at, &["Failed", "Passed", "Skipped"]);
        let mut of = |name: &'static str| {
            let place = format!("{at}.{name}");
            let Some(node) = fields.get(name) else {
                self.tolerate(node.line, &place, "is missing", "0");
                return 0;
            };
            node.text().and_then(|text| text.parse().ok()).unwrap_or_else(|| {
                let said = node.text().map_or(node.noun().to_owned(), |text| format!("`{}`", short(text)));
                self.tolerate(node.line, &place, format!("is {said}, no count"), "0");
                0
            })
        };
        Statistics { failed: of("Failed"), passed: of("Passed"), skipped: of("Skipped") }
    }

    /// Names of features, as they are today; each once, sorted.
    fn features(&mut self, fields: &Fields<'_>, name: &'static str, at: &str) -> Vec<String> {
        let said = self.texts(fields, name, at);
        let names: BTreeSet<String> = said.iter().map(|one| self.known.current(one).to_owned()).collect();
        for unknown in names.iter().filter(|name| self.known.feature(name).is_none()) {
            let problem = format!("names `{}`, which is no feature that is known", short(unknown));
            let line = line_of(fields, name, 1);
            self.tolerate(line, &format!("{at}.{name}"), problem, "it is one of its own");
        }
        names.into_iter().collect()
    }

    /// The known fields of a mapping. One that is misspelt by case, or has something before it that belongs to no name, is
    /// taken for what it must mean.
    fn fields<'n>(&mut self, node: &'n Node, at: &str, known: &[&'static str]) -> Fields<'n> {
        let mut found = Fields::new();
        let Kind::Map(entries) = &node.kind else {
            let field = if at.is_empty() { "the report" } else { at };
            self.tolerate(node.line, field, format!("is {}, no mapping", node.noun()), "it holds nothing");
            return found;
        };
        let name_of = |key: &Node| known.iter().copied().find(|name| key.text() == Some(*name));
        // What is written as it should be goes before what only looks like it.
        let (exact, other): (Vec<_>, Vec<_>) = entries.iter().partition(|(key, _)| name_of(key).is_some());
        for (key, value) in exact.into_iter().chain(other) {
            let said = key.text().unwrap_or_default();
            let place = below(at, &short(said));
            let exact = name_of(key);
            let bare = if said.starts_with(|c: char| c.is_ascii_alphanumeric()) {
                said
            } else {
                said.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
            };
            let near = || known.iter().copied().find(|name| name.eq_ignore_ascii_case(bare));
            let Some(name) = exact.or_else(near) else {
                self.tolerate(key.line, &place, "is no field that is known", "it says nothing");
                continue;
            };
            if exact.is_none() {
                self.tolerate(key.line, &place, "is no field that is known", format!("it is `{name}`"));
            }
            if found.contains_key(name) {
                self.tolerate(key.line, &place, "is given twice", "the first one counts");
            } else {
                found.insert(name, value);
            }
        }
        found
    }

    fn text(&mut self, fields: &Fields<'_>, name: &'static str, at: &str) -> Option<String> {
        let node = fields.get(name)?;
        self.scalar(node, &below(at, name))
    }

    fn scalar(&mut self, node: &Node, at: &str) -> Option<String> {
        match &node.kind {
            Kind::Text(text, is_plain) => {
                if *is_plain && (text.parse::<f64>().is_ok() || matches!(&**text, "true" | "false")) {
                    let problem = format!("`{}` is no text without quotes", short(text));
                    self.tolerate(node.line, at, problem, "the text as it stands there");
                }
                Some(text.clone())
            }
            _ => {
                self.tolerate(node.line, at, format!("is {}, no text", node.noun()), "it is not there");
                None
            }
        }
    }

    fn items<'n>(&mut self, node: &'n Node, at: &str) -> &'n [Node] {
        if let Kind::List(items) = &node.kind {
            return items;
        }
        self.tolerate(node.line, at, format!("is {}, no list", node.noun()), "it holds nothing");
        &[]
    }

    /// Each once, in the order in which they stand there.
    fn texts(&mut self, fields: &Fields<'_>, name: &'static str, at: &str) -> Vec<String> {
        let Some(node) = fields.get(name) else { return Vec::new() };
        let at = below(at, name);
        if let Some(text) = node.text() {
            self.tolerate(node.line, &at, "is a text, no list", "it is the only one of its list");
            return vec![text.to_owned()];
        }
        let mut texts: Vec<String> = Vec::new();
        for item in self.items(node, &at) {
            let Some(text) = self.scalar(item, &at) else { continue };
            if texts.contains(&text) {
                self.tolerate(item.line, &at, format!("names `{}` twice", short(&text)), "once");
            } else {
                texts.push(text);
            }
        }
        texts
    }
}

fn below(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn line_of(fields: &Fields<'_>, name: &str, other: usize) -> usize {
    fields.get(name).map_or(other, |node| node.line)
}

fn word(result: TestResult) -> &'static str {
    match result {
        TestResult::Success => "success",
        TestResult::Partial => "partial",
        TestResult::Failure => "failure",
    }
}

/// So much of a foreign text that a message stays legible.
fn short(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
