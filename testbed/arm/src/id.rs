//! Resource ids: `/subscriptions/S/resourceGroups/G[/providers/NS/TYPE/NAME[/TYPE/NAME…]]`, read without regard to case.

use std::fmt;

use percent_encoding::percent_decode_str;

/// How many parts an id may have. ARM nests types to a far smaller depth.
const MOST_SEGMENTS: usize = 32;

/// The id of a resource group or of a resource in one, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceId {
    segments: Vec<String>,
}

/// Why a path is no resource id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// A part cannot be decoded, or holds what no part of an id may hold.
    #[error("part {0} of the path is not UTF-8 behind its percent signs, or holds a slash or a control character")]
    Segment(usize),
    /// There are too many parts.
    #[error("the path has more than {MOST_SEGMENTS} parts")]
    TooLong,
    /// The path does not read as an id.
    #[error(
        "`{0}` is no resource id: write /subscriptions/S/resourceGroups/G, and behind it /providers/NS/TYPE/NAME with any \
         number of /TYPE/NAME"
    )]
    Form(String),
}

/// The parts of a raw path, decoded; empty ones are left out.
///
/// # Errors
/// [`IdError::Segment`], counted from 1, and [`IdError::TooLong`].
pub fn segments(path: &str) -> Result<Vec<String>, IdError> {
    let mut parts = Vec::new();
    for raw in path.split('/').filter(|part| !part.is_empty()) {
        if parts.len() == MOST_SEGMENTS {
            return Err(IdError::TooLong);
        }
        let at = parts.len() + 1;
        let part = percent_decode_str(raw).decode_utf8().map_err(|_| IdError::Segment(at))?;
        if part.contains(|letter: char| letter == '/' || letter.is_control()) {
            return Err(IdError::Segment(at));
        }
        parts.push(part.into_owned());
    }
    Ok(parts)
}

/// The path that parts make together.
pub(crate) fn joined(segments: &[String]) -> String {
    segments.iter().flat_map(|part| ["/", part.as_str()]).collect()
}

impl ResourceId {
    /// Reads the parts of a path as an id.
    ///
    /// # Errors
    /// [`IdError::Form`].
    pub fn new(segments: Vec<String>) -> Result<Self, IdError> {
        if is_id(&segments) { Ok(Self { segments }) } else { Err(IdError::Form(joined(&segments))) }
    }

    /// What ids that ARM takes for the same have in common.
    pub fn key(&self) -> String {
        self.to_string().to_lowercase()
    }

    /// The subscription.
    pub fn subscription(&self) -> &str {
        &self.segments[1]
    }

    /// The name of the resource group.
    pub fn group_name(&self) -> &str {
        &self.segments[3]
    }

    /// The id of the resource group; its own for one.
    pub fn group(&self) -> Self {
        Self { segments: self.segments[..4].to_vec() }
    }

    /// Whether this is a resource group.
    pub fn is_group(&self) -> bool {
        self.segments.len() == 4
    }

    /// The name of the resource itself, without those of its parents.
    pub fn name(&self) -> &str {
        &self.segments[self.segments.len() - 1]
    }

    /// The innermost type, without namespace and parents: `containers`.
    pub fn innermost_type(&self) -> &str {
        &self.segments[self.segments.len() - 2]
    }

    /// The type with its namespace and parents: `Microsoft.Storage/storageAccounts/blobServices`.
    pub fn resource_type(&self) -> String {
        if self.is_group() {
            return "Microsoft.Resources/resourceGroups".into();
        }
        let provider = self.last_provider();
        let types = self.segments[provider + 2..].iter().step_by(2);
        types.fold(self.segments[provider + 1].clone(), |name, part| name + "/" + part)
    }

    /// What must exist before this can: the group of a resource, the resource around a nested one. Nothing for a group.
    pub fn parent(&self) -> Option<Self> {
        let length = match self.segments.len() {
            0..=4 => return None,
            length if length - 4 - self.last_provider() == 0 => length - 4,
            length => length - 2,
        };
        Some(Self { segments: self.segments[..length].to_vec() })
    }

    /// Where the last `providers` stands.
    fn last_provider(&self) -> usize {
        starts(&self.segments).last().unwrap_or(4)
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segments.iter().try_for_each(|part| write!(f, "/{part}"))
    }
}

/// Where the namespaces of an id begin: one for a resource, more for resources that extend others.
fn starts(segments: &[String]) -> impl Iterator<Item = usize> {
    let mut at = 4;
    std::iter::from_fn(move || {
        let start = at;
        segments.get(start)?;
        // Behind the namespace come pairs of type and name, up to the next `providers`.
        at += 2;
        while segments.get(at).is_some_and(|part| !part.eq_ignore_ascii_case("providers")) {
            at += 2;
        }
        Some(start)
    })
}

fn is_id(segments: &[String]) -> bool {
    let is = |at: usize, word: &str| segments.get(at).is_some_and(|part| part.eq_ignore_ascii_case(word));
    let starts: Vec<usize> = starts(segments).collect();
    let ends = starts.iter().skip(1).copied().chain([segments.len()]);
    // Each namespace has at least one type, and each type its name.
    let whole = |(start, end): (&usize, usize)| is(*start, "providers") && end >= start + 4 && (end - start) % 2 == 0;
    segments.len() >= 4 && is(0, "subscriptions") && is(2, "resourceGroups") && starts.iter().zip(ends).all(whole)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const GROUP: &str = "/subscriptions/s/resourceGroups/g";

    fn id(path: &str) -> Result<ResourceId, IdError> {
        ResourceId::new(segments(path)?)
    }

    #[rstest]
    #[case("", "Microsoft.Resources/resourceGroups", None)]
    #[case("/providers/N/ts/a", "N/ts", Some(""))]
    #[case("/providers/N/ts/a/us/b", "N/ts/us", Some("/providers/N/ts/a"))]
    #[case("/providers/N/ts/providers", "N/ts", Some(""))]
    #[case("/providers/N/ts/a/providers/M/us/b", "M/us", Some("/providers/N/ts/a"))]
    #[case("/providers/N/ts/a/providers/M/us/b/vs/c", "M/us/vs", Some("/providers/N/ts/a/providers/M/us/b"))]
    fn ids_have_types_and_parents(#[case] path: &str, #[case] kind: &str, #[case] parent: Option<&str>) {
        let id = id(&format!("{GROUP}{path}")).unwrap();
        assert_eq!(id.resource_type(), kind);
        assert_eq!(id.parent().map(|id| id.to_string()), parent.map(|path| format!("{GROUP}{path}")));
    }

    #[rstest]
    #[case("/")]
    #[case("/subscriptions/s")]
    #[case("/subscriptions/s/resourceGroups")]
    #[case("/subscriptions/s/resourceGroups/g/providers")]
    #[case("/subscriptions/s/resourceGroups/g/providers/N")]
    #[case("/subscriptions/s/resourceGroups/g/providers/N/ts")]
    #[case("/subscriptions/s/resourceGroups/g/providers/N/ts/a/us")]
    #[case("/subscriptions/s/resourceGroups/g/other/N/ts/a")]
    #[case("/subscriptions/s/groups/g")]
    #[case("/providers/N/ts/a")]
    fn other_paths_are_no_ids(#[case] path: &str) {
        assert!(matches!(id(path), Err(IdError::Form(_))));
    }

    #[test]
    fn case_and_percent_signs_make_no_difference_to_keys() {
        let one = id("//SUBSCRIPTIONS/s/resourcegroups/%47/providers/N/Ts/a%20b/").unwrap();
        let other = id("/subscriptions/S/resourceGroups/g/Providers/n/tS/A b").unwrap();
        assert_eq!(one.key(), other.key());
        assert_eq!((one.group_name(), one.name(), one.innermost_type()), ("G", "a b", "Ts"));
    }

    #[rstest]
    #[case("/a/%ff", IdError::Segment(2))]
    #[case("/a%2fb", IdError::Segment(1))]
    #[case("/a/b/%0a", IdError::Segment(3))]
    fn parts_that_cannot_be(#[case] path: &str, #[case] error: IdError) {
        assert_eq!(segments(path), Err(error));
    }

    #[test]
    fn there_is_an_end_to_depth() {
        assert_eq!(segments(&"/a".repeat(MOST_SEGMENTS)).map(|parts| parts.len()), Ok(MOST_SEGMENTS));
        assert_eq!(segments(&"/a".repeat(MOST_SEGMENTS + 1)), Err(IdError::TooLong));
    }
}
