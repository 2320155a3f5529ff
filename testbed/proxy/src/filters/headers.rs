//! Header modification.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::config::HeaderModifier;

/// Applies a modifier: what it removes goes first, then what it sets replaces, then what it adds is appended.
/// Names and values that HTTP cannot carry are left out; the API server refuses them anyway.
pub fn modify(modifier: &HeaderModifier, headers: &mut HeaderMap) {
    for name in &modifier.remove {
        headers.remove(name.as_str());
    }
    for (name, value) in modifier.set.iter().filter_map(parse) {
        headers.insert(name, value);
    }
    for (name, value) in modifier.add.iter().filter_map(parse) {
        headers.append(name, value);
    }
}

fn parse(header: &crate::config::HeaderValue) -> Option<(HeaderName, HeaderValue)> {
    Some((header.name.parse().ok()?, header.value.parse().ok()?))
}
