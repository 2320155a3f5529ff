//! Where a report stands in upstream's repository: its folders, the name of its file and the README beside it, by the rules of
//! `conformance/reports/README.md` there and by what `hack/verify-reports.sh` looks at.

use super::layout::{file_name, same_versions, unfit, usual};
use super::lint::RULES;
use super::names::{minor, release};
use super::readme;
use super::types::{ConformanceReport, Defect};

/// A place such as `conformance/reports/v1.6/acme-gateway/standard-v2.1.0-default-report.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder of the release, such as `v1.6`.
    pub release: String,
    /// What stands between that and the file: there should be one folder, that of the implementation.
    pub folders: Vec<String>,
    /// The name of the file.
    pub name: String,
}

impl Place {
    /// The place of a file, from the parts of its whole path; none if that is not laid out as upstream's repository is.
    pub fn of(parts: &[&str]) -> Option<Place> {
        let (name, folders) = parts.split_last()?;
        let is_laid_out = |three: &[&str]| three[..2] == ["conformance", "reports"] && release(three[2]).is_some();
        let at = folders.windows(3).rposition(is_laid_out)?;
        Some(Place {
            release: folders[at + 2].to_owned(),
            folders: folders[at + 3..].iter().map(|&folder| folder.to_owned()).collect(),
            name: (*name).to_owned(),
        })
    }
}

/// What is wrong with the place of a report and with the README there. Upstream holds folders of releases before v1.1 to nothing.
pub fn misplaced(report: &ConformanceReport, place: &Place, readme: Option<&str>) -> Vec<Defect> {
    let mut defects = Vec::new();
    let mut say = |field: &str, problem: String| defects.push(Defect { field: field.to_owned(), problem });
    let Some(of) = minor(&place.release) else { return defects };
    // Patches are not compared: folders had them up to v1.4, and have none since.
    if let Some((major, number)) = minor(&report.gateway_api_version)
        && of != (major, number)
    {
        let (folder, version) = (&place.release, &report.gateway_api_version);
        let problem = format!("is `{folder}`, and the report is about {version}: it belongs into v{major}.{number}");
        say("path.release", problem);
    }
    if of < RULES {
        return defects;
    }
    let who = &report.implementation;
    let [folder] = &place.folders[..] else {
        let within =
            if place.folders.is_empty() { "missing".to_owned() } else { format!("`{}`", place.folders.join("/")) };
        let problem =
            format!("is {within}; reports stand in one folder of their implementation, such as `{}`", usual(who));
        say("path.folder", problem);
        return defects;
    };
    if let Some(problem) = unfit(folder, who) {
        say("path.folder", problem);
    }
    let [channel, mode] = [&report.gateway_api_channel, &report.mode].map(|text| text.as_deref().unwrap_or_default());
    // What is empty is a defect of its own.
    if ![channel, mode, who.version.as_str()].contains(&"") {
        let named = |version: &str| place.name == file_name(channel, version, mode);
        if !same_versions(&who.version).iter().any(|version| named(version)) {
            let wanted = file_name(channel, &who.version, mode);
            say("path.name", format!("is `{}`; upstream's rules make it `{wanted}`", place.name));
        }
    }
    match readme {
        Some(text) => {
            let row = readme::Row { name: &place.name, channel, version: &who.version, mode };
            readme::check(text, &row, |problem| say("README.md", problem));
        }
        None => say(
            "README.md",
            "is not there; upstream wants it beside the report, with a table of reports and how to come to them"
                .to_owned(),
        ),
    }
    defects
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
