//! The folder in which upstream takes a ConformanceReport, by its rules for submissions.

use super::layout::{file_name, folder, misspelled};
use super::lint::RULES;
use super::names::minor;
use super::types::{ConformanceReport, Defect};
use crate::terminal::printable;

/// What a submission says beside the report.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The report, byte for byte: upstream takes none that was edited.
    pub text: &'a str,
    /// The folder of the implementation, if it has one already.
    pub folder: Option<&'a str>,
    /// The page of the release that was tested.
    pub release_page: Option<&'a str>,
    /// How to come to the same report, as Markdown.
    pub reproduce: Option<&'a str>,
    /// Whether these words are the user's.
    pub in_own_words: bool,
}

/// Files to be written: `conformance/reports/RELEASE/FOLDER/` with the report and a README.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The folders, the outermost first. None of them leads elsewhere.
    pub folders: [String; 4],
    /// Name of the report's file.
    pub name: String,
    /// The report.
    pub text: String,
    /// `README.md`, for a folder that has none yet.
    pub readme: String,
    /// The row for the table of one that has.
    pub row: String,
}

/// Makes a submission of a report that has no defects by [`super::lint`].
///
/// # Errors
/// What upstream's rules want beside that and is not there.
pub fn submission(report: &ConformanceReport, about: About<'_>) -> Result<Submission, Vec<Defect>> {
    let mut defects = Vec::new();
    let mut say = |field: &str, problem: String| defects.push(Defect { field: field.to_owned(), problem });
    let who = &report.implementation;
    let release = folder_of(&report.gateway_api_version);
    if release.is_none() {
        let problem = format!("is `{}`; must be a release such as `v1.6.1`, v1.1 or newer", report.gateway_api_version);
        say("gatewayAPIVersion", problem);
    }
    let [channel, mode] = [&report.gateway_api_channel, &report.mode].map(|text| text.as_deref().unwrap_or_default());
    for (field, part) in [("gatewayAPIChannel", channel), ("implementation.version", &who.version), ("mode", mode)] {
        if !is_name(part) {
            let problem = format!("is `{part}`; the name of the file is made of it: letters, digits and `.-_+` alone");
            say(field, problem);
        }
    }
    let named = about.folder.map_or_else(|| folder(&who.organization, &who.project), str::to_owned);
    if !is_name(&named) {
        say("implementation.project", format!("makes `{named}` the name of a folder; name another one with --folder"));
    } else if let Some(problem) = about.folder.and_then(|folder| misspelled(folder, who)) {
        say("path.folder", problem);
    }
    let home = link(&who.url);
    if home.is_none() {
        say("implementation.url", format!("is `{}`, which is no absolute address of a page", who.url));
    }
    if !matches!(mode, "" | "default") && !about.in_own_words {
        let problem = format!("is `{mode}`; upstream wants to know how that is set up: say it with --reproduce");
        say("mode", problem);
    }
    let page = about.release_page.map_or_else(|| release_page(&who.url, &who.version), link);
    if about.release_page.is_some() && page.is_none() {
        say("README.md", "the page of the release is no absolute address".to_owned());
    }
    if about.reproduce.is_none_or(|words| words.trim().is_empty()) {
        say("README.md", "needs words on how to come to the same report: say them with --reproduce".to_owned());
    }
    let (Some(release), Some(home), Some(page), Some(reproduce), true) =
        (release, home, page, about.reproduce, defects.is_empty())
    else {
        return Err(defects);
    };
    let name = file_name(channel, &who.version, mode);
    let row = format!("| {channel} | [{}]({page}) | {mode} | [link](./{name}) |", who.version);
    let readme = format!(
        "# {project}\n\n[{project}]({home}) of {organization}.\n\n## Table of contents\n\n\
         | API channel | Implementation version | Mode | Report |\n|---|---|---|---|\n{row}\n\n\
         ## Reproduce\n\n{}\n",
        reproduce.trim_end(),
        project = words(&who.project),
        organization = words(&who.organization),
    );
    let folders = ["conformance".to_owned(), "reports".to_owned(), release, named];
    Ok(Submission { folders, name, text: about.text.to_owned(), readme, row })
}

/// `v1.6` of `v1.6.1`. Up to v1.0 there were other rules, and upstream takes no more of these.
fn folder_of(release: &str) -> Option<String> {
    minor(release).filter(|release| *release >= RULES).map(|(major, minor)| format!("v{major}.{minor}"))
}

/// Whether it can be the part of a path, here and on other systems.
fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_+".contains(c);
    !text.is_empty() && !text.starts_with(['.', '-']) && text.chars().all(plain)
}

/// An address as it stands in a link of Markdown, in a table too.
fn link(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let mut out = String::new();
    for c in url.as_str().chars() {
        match c {
            '(' | ')' | '|' | '<' | '>' | '\\' | '`' => out.push_str(&format!("%{:02X}", u32::from(c))),
            _ => out.push(c),
        }
    }
    Some(out)
}

/// Where a project on GitHub has its releases; elsewhere its home page has to do.
fn release_page(home: &str, version: &str) -> Option<String> {
    let url = url::Url::parse(home).ok()?;
    let mut parts = url.path_segments()?.filter(|part| !part.is_empty());
    let is_repository = parts.next().is_some() && parts.next().is_some() && parts.next().is_none();
    if url.host_str() == Some("github.com") && is_repository {
        return link(&format!("{}/releases/tag/{version}", home.trim_end_matches('/')));
    }
    link(home)
}

/// Text of others as words of Markdown: nothing in it is a link, an image, HTML or a heading.
fn words(text: &str) -> String {
    let mut out = String::new();
    for c in printable(text).chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
