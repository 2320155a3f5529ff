//! `profiles.yaml`: held against the features and the scenarios of its folder.

use std::path::Path;

use gateproof_suites::Requirement;

use super::{File, SuiteError, read_table};
use crate::dialects::{DialectFeature, Profile};
use crate::scenario::{Outline, line_of, outlines, suggest, suite_of};

/// Reads them. Names that are none, are there twice, or are not known are errors.
pub(super) fn read(
    (path, text): &File,
    features: &[DialectFeature],
    requirements: &[Requirement],
) -> Result<Vec<Profile>, SuiteError> {
    let profiles: Vec<Profile> = read_table(path, text)?;
    for (index, profile) in profiles.iter().enumerate() {
        let wrong = |below: &[&str], problem: String| Err(wrong((path, text), &profile.name, below, problem));
        let name = &profile.name;
        let is_there = profiles[..index].iter().any(|other| other.name.eq_ignore_ascii_case(name));
        if is_there || !profile.can_be_named() {
            let problem = format!(
                "`{name}` cannot be the name of a profile: names are of letters, digits and dashes, a letter first, and each is there \
                 once"
            );
            return wrong(&[], problem);
        }
        // Whoever selects scenarios writes a name alone, and the profile would be taken.
        if features.iter().any(|feature| feature.name.eq_ignore_ascii_case(name)) {
            return wrong(&[], ambiguous(name, "a feature"));
        }
        if requirements.iter().any(|clause| clause.id.eq_ignore_ascii_case(name)) {
            return wrong(&[], ambiguous(name, "a clause"));
        }
        for (field, names) in [("core", &profile.core), ("extended", &profile.extended)] {
            if let Some(feature) = names.iter().find(|name| features.iter().all(|known| known.name != **name)) {
                let known = suggest(feature, features.iter().map(|known| known.name.as_str()));
                let hint = known.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let problem =
                    format!("the feature `{feature}` of the profile {name} stands in no features.yaml beside it{hint}");
                return wrong(&[field, feature], problem);
            }
        }
        if let Some(feature) = profile.extended.iter().find(|feature| profile.core.contains(feature)) {
            let problem = format!("the feature `{feature}` is core in the profile {name}, and extended");
            return wrong(&["extended", feature], problem);
        }
    }
    Ok(profiles)
}

/// Whether there are the scenarios that they name, and need no features that they leave out.
pub(super) fn hold(file: &File, profiles: &[Profile], manifests: &[(String, String)]) -> Result<(), SuiteError> {
    let all: Vec<Outline> = manifests.iter().flat_map(|(_, text)| outlines(text)).collect();
    for profile in profiles {
        let is_called = |name: &str| name.eq_ignore_ascii_case(&profile.name);
        let also = if all.iter().any(|outline| is_called(&outline.name)) {
            Some("a scenario")
        } else {
            let is_suite = manifests.iter().any(|(path, _)| is_called(suite_of(path)));
            is_suite.then_some("a suite, which is a folder below `manifests` or, without one, `local`")
        };
        if let Some(also) = also {
            let (path, text) = file;
            return Err(wrong((path, text), &profile.name, &[], ambiguous(&profile.name, also)));
        }
        for name in &profile.scenarios {
            let Profile { name: of, .. } = profile;
            let problem = match all.iter().find(|outline| outline.name == *name) {
                None => {
                    let near = suggest(name, all.iter().map(|outline| outline.name.as_str()));
                    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                    format!("there is no scenario `{name}` for the profile {of}{hint}")
                }
                Some(Outline { features, .. }) => {
                    let left_out = |name: &&String| !profile.core.contains(name) && !profile.extended.contains(name);
                    let Some(feature) = features.iter().find(left_out) else { continue };
                    format!(
                        "the scenario `{name}` needs the feature `{feature}`, which is neither core nor extended in the profile {of}"
                    )
                }
            };
            let (path, text) = file;
            return Err(wrong((path, text), of, &["scenarios", name], problem));
        }
    }
    Ok(())
}

fn ambiguous(name: &str, also: &str) -> String {
    format!(
        "`{name}` is the name of {also}, too, and could mean either where scenarios are selected; call the profile otherwise"
    )
}

fn wrong((path, text): (&Path, &str), profile: &str, below: &[&str], problem: String) -> SuiteError {
    let at: Vec<String> =
        std::iter::once(format!("name={profile}")).chain(below.iter().map(|step| (*step).to_owned())).collect();
    SuiteError::Profile { path: path.to_owned(), line: line_of(text, &at), problem }
}
