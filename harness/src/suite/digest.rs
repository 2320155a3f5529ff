//! By what targets were judged: one digest of all that stands in a dialect beside its scenarios.

use std::path::Path;

use gateproof_suites::dialects::{DialectFiles, GATEWAY_API, GATEWAY_API_PREFLIGHT, OTHERS};
use gateproof_suites::{contracts, features, profiles};
use sha2::{Digest, Sha256};

use super::definitions::{edition_of, files_of};
use super::{FILES, File, Suite, SuiteError};

impl Suite {
    /// SHA-256 of what targets are judged by beside scenarios, in hexadecimal.
    ///
    /// # Errors
    /// A file of a folder that can no longer be read.
    pub fn digest(&self) -> Result<String, SuiteError> {
        let mut all = Sha256::new();
        let mut add = |name: &str, text: &str| {
            // With its length, so that nothing can move from one into the next.
            all.update(format!("{name} {}\n", text.len()));
            all.update(text);
        };
        add("edition", self.vocabulary.edition.name().unwrap_or_default());
        contracts::SHARED.iter().for_each(|(name, text)| add(name, text));
        match &self.folder {
            Some(folder) => of_folder(folder)?.iter().for_each(|(name, (_, text))| add(name, text)),
            None => of_built_in(self.dialect.name()).iter().for_each(|(name, text)| add(name, text)),
        }
        // What Gateway API has as tables, and others build on.
        for requirement in &self.requirements {
            add(&requirement.id, &format!("{requirement:?}"));
        }
        features().iter().for_each(|feature| add(&feature.name, &format!("{feature:?}")));
        profiles().iter().for_each(|profile| add(&profile.name, &format!("{profile:?}")));
        Ok(format!("{:x}", all.finalize()))
    }
}

/// Every file that a folder may have, with its name.
fn of_folder(folder: &Path) -> Result<Vec<(String, File)>, SuiteError> {
    files_of(folder, |name| FILES.contains(&name) || edition_of(name).is_some())
}

fn of_built_in(dialect: &str) -> Vec<(&'static str, &'static str)> {
    let Some(other) = OTHERS.into_iter().find(|other| other.name == dialect) else {
        return vec![
            ("dialect", GATEWAY_API),
            ("contract", contracts::GATEWAY_API),
            ("preflight", GATEWAY_API_PREFLIGHT),
        ];
    };
    let DialectFiles { name: _, dialect, contract, requirements, features, services, canary, preflight } = other;
    let optional = [("features", features), ("services", services), ("canary", canary), ("preflight", preflight)];
    let mut all = vec![("dialect", dialect), ("contract", contract), ("requirements", requirements)];
    all.extend(optional.into_iter().filter_map(|(name, text)| Some((name, text?))));
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_dialect_and_edition_has_a_digest_of_its_own() {
        let mut digests = BTreeSet::new();
        let mut count = 0;
        for name in Suite::names() {
            let suite = Suite::named(&name).unwrap().unwrap();
            let editions: Vec<Option<&str>> = match suite.dialect.editions() {
                [] => vec![None],
                editions => editions.iter().map(|edition| Some(edition.as_str())).collect(),
            };
            for edition in editions {
                digests.insert(Suite::named_in(&name, edition).unwrap().unwrap().digest().unwrap());
                count += 1;
            }
        }
        assert!(count > 4);
        assert_eq!(digests.len(), count);
    }

    #[test]
    fn an_edited_file_changes_it() {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doors");
        let folder = tempfile::tempdir().unwrap();
        for (name, (_, text)) in of_folder(&from).unwrap() {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        std::fs::create_dir(folder.path().join("manifests")).unwrap();
        let digest = || Suite::read(folder.path(), None).unwrap().digest().unwrap();
        let before = digest();
        assert_eq!(digest(), before);
        let file = folder.path().join("contract.yaml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{text}# edited\n")).unwrap();
        assert_ne!(digest(), before);
    }
}
