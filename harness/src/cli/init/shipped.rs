//! `--from`: where gateproof and its action are.

use super::super::Failure;

/// Whoever has it from somewhere says so.
pub(super) const HERE: &str = concat!("OWNER/gateproof@v", env!("CARGO_PKG_VERSION"));
/// The release that this program is of.
const RELEASE: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// A repository at a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// `OWNER/REPOSITORY`.
    pub(super) repository: String,
    /// A release, a branch, or a commit.
    pub(super) reference: String,
    /// The release whose program is got, such as `v0.1.0`.
    pub(super) release: String,
}

impl Source {
    /// Reads `OWNER/REPOSITORY@REF`, or `OWNER/REPOSITORY@REF # RELEASE`, as a workflow has it. Unless the release is said or the ref is one,
    /// it is that of this program.
    pub(super) fn of(text: &str) -> Result<Source, Failure> {
        let wrong = |what: &str| {
            let help = format!("write it as {HERE} is written, or as 'OWNER/gateproof@COMMIT # {RELEASE}'");
            Failure::usage(format!("`{text}` {what}"), help)
        };
        let (place, release) = match text.split_once('#') {
            Some((place, release)) => (place, Some(release.trim())),
            None => (text, None),
        };
        let (repository, reference) = place
            .trim()
            .split_once('@')
            .filter(|(repository, reference)| {
                is_plain(reference) && repository.split('/').count() == 2 && repository.split('/').all(is_plain)
            })
            .ok_or_else(|| wrong("names no repository at a ref"))?;
        if release.is_some_and(|release| !is_release(release)) {
            return Err(wrong("names no release behind `#`"));
        }
        let of_ref = is_release(reference).then_some(reference);
        Ok(Source {
            repository: repository.to_owned(),
            reference: reference.to_owned(),
            release: release.or(of_ref).unwrap_or(RELEASE).to_owned(),
        })
    }

    /// Whether nobody can put anything else in its place.
    pub(super) fn is_pinned(&self) -> bool {
        self.reference.len() == 40 && self.reference.chars().all(|c| c.is_ascii_hexdigit())
    }

    /// Whether somebody has to say yet which repository it is.
    pub(super) fn is_open(&self) -> bool {
        self.repository.starts_with("OWNER/")
    }

    /// Whether the ref says which release it is.
    pub(super) fn is_release(&self) -> bool {
        self.reference == self.release
    }
}

fn is_plain(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn is_release(text: &str) -> bool {
    is_plain(text) && text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[rstest]
    #[case::release("a/b@v1.2.3", Some("v1.2.3"), false)]
    #[case::branch("a/b@main", Some(RELEASE), false)]
    #[case::branch_with_release("a/b@main # v1.2.3", Some("v1.2.3"), false)]
    #[case::commit(&format!("a/b@{COMMIT}"), Some(RELEASE), true)]
    #[case::commit_with_release(&format!("a/b@{COMMIT} # v1.2.3"), Some("v1.2.3"), true)]
    #[case::part_of_a_commit("a/b@0123456", Some(RELEASE), false)]
    #[case::no_ref("a/b", None, false)]
    #[case::folder("a/b/c@v1", None, false)]
    #[case::no_owner("/b@v1", None, false)]
    #[case::an_expression("a/b@${{ github.sha }}", None, false)]
    #[case::no_release("a/b@main # latest", None, false)]
    #[case::a_line("a/b@main # v1\nrun: id", None, false)]
    fn a_source_is_a_repository_at_a_ref(#[case] text: &str, #[case] release: Option<&str>, #[case] is_pinned: bool) {
        match Source::of(text) {
            Ok(source) => {
                assert_eq!((Some(source.release.as_str()), source.is_pinned()), (release, is_pinned));
                assert_eq!(source.repository, "a/b");
            }
            Err(_) => assert_eq!(release, None),
        }
    }
}
