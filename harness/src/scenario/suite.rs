//! Which suite scenarios are of.

/// The suite that the scenarios of a file are of: the first folder below `manifests`, or of a relative path.
pub(crate) fn suite_of(file: &str) -> &str {
    let below = file.rsplit_once("manifests/").map_or(file, |(_, below)| below);
    match below.split_once('/') {
        Some((first, _)) if !first.is_empty() && first != "." && first != ".." => first,
        _ => "local",
    }
}
