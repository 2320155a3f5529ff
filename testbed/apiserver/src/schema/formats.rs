//! The string formats that the API server checks, and its cache of regular expressions.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use regex::Regex;

/// Whether a string has a format; formats that the API server does not know are not checked.
pub(crate) fn has_format(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => is_date_time(text),
        MICRO_TIME => matches(MICRO, text) && is_date_time(text),
        "date" => text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10,
        "duration" => is_duration(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "byte" => base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).is_ok(),
        "uuid" => matches(UUID, text),
        "mac" => matches(MAC, text),
        "hostname" => text.len() <= 255 && matches(HOSTNAME, text),
        "email" => matches(EMAIL, text),
        "uri" => matches(URI, text),
        _ => true,
    }
}

/// The format of `metav1.MicroTime`, which no definition can name.
pub(crate) const MICRO_TIME: &str = "k8s-micro-time";
const MICRO: &str = r"\.\d{6}[^\d]";
const DATE_TIME: &str = r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)$";
const DURATION: &str =
    r"^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h|d|w)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h|d|w))*$";
const UUID: &str = r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const MAC: &str = r"^(?i)[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}(?:(?:[:-][0-9a-f]{2}){2})?$";
const HOSTNAME: &str =
    r"^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*\.?$";
const EMAIL: &str = r"^[^\s@<>]+@[^\s@<>]+$";
const URI: &str = r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:[^\s]+|/[^\s]*)$";

fn matches(pattern: &str, text: &str) -> bool {
    regex(pattern).is_ok_and(|regex| regex.is_match(text))
}

fn is_date_time(text: &str) -> bool {
    // The pattern keeps out what jiff takes beyond RFC 3339; jiff knows how long months are.
    matches(DATE_TIME, text) && text.parse::<jiff::Timestamp>().is_ok()
}

fn is_duration(text: &str) -> bool {
    text == "0" || matches(DURATION, text)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let Ok(length) = length.parse::<u8>() else { return false };
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => length <= 32,
        Ok(IpAddr::V6(_)) => length <= 128,
        Err(_) => false,
    }
}

/// Compiles a regular expression once per process: schemas repeat a few patterns many times.
///
/// # Errors
/// What the regex engine says about a malformed pattern.
pub(crate) fn regex(pattern: &str) -> Result<Arc<Regex>, regex::Error> {
    static CACHE: LazyLock<RwLock<HashMap<String, Arc<Regex>>>> = LazyLock::new(RwLock::default);
    if let Some(found) = CACHE.read().unwrap_or_else(PoisonError::into_inner).get(pattern) {
        return Ok(Arc::clone(found));
    }
    let compiled = Arc::new(Regex::new(&without_nested_classes(pattern))?);
    CACHE.write().unwrap_or_else(PoisonError::into_inner).insert(pattern.to_owned(), Arc::clone(&compiled));
    Ok(compiled)
}

/// The pattern with everything escaped that the engine takes for a class within a class or for the intersection of two. API servers
/// know neither: to them `[`, `&` and `~` in a class are characters.
fn without_nested_classes(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    let mut in_class = false;
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => {
                written.push(letter);
                written.extend(rest.next());
            }
            '[' if in_class => {
                let named = rest.as_str().strip_prefix(':').and_then(|name| name.split_once(":]"));
                if let Some((name, after)) = named {
                    written.extend(["[:", name, ":]"]);
                    rest = after.chars();
                } else {
                    written.push_str("\\[");
                }
            }
            '[' => {
                in_class = true;
                written.push(letter);
                // What stands first in a class does not end it.
                for first in ['^', ']'] {
                    if let Some(after) = rest.as_str().strip_prefix(first) {
                        written.push(first);
                        rest = after.chars();
                    }
                }
            }
            ']' => {
                in_class = false;
                written.push(letter);
            }
            '&' | '~' if in_class => written.extend(['\\', letter]),
            other => written.push(other),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("date-time", "2024-02-29T10:00:00Z", true)]
    #[case("date-time", "2024-02-29T10:00:00.123456+02:00", true)]
    #[case("date-time", "2023-02-29T10:00:00Z", false)]
    #[case("date-time", "2024-02-29 10:00:00Z", false)]
    #[case("date-time", "yesterday", false)]
    #[case("ipv4", "10.0.0.1", true)]
    #[case("ipv4", "10.0.0.256", false)]
    #[case("ipv6", "::1", true)]
    #[case("ipv6", "10.0.0.1", false)]
    #[case("cidr", "10.0.0.0/8", true)]
    #[case("cidr", "10.0.0.0/33", false)]
    #[case("duration", "1h30m", true)]
    #[case("duration", "soon", false)]
    #[case("byte", "aGk=", true)]
    #[case("byte", "a", false)]
    #[case("unheard-of", "anything", true)]
    fn formats(#[case] format: &str, #[case] text: &str, #[case] valid: bool) {
        assert_eq!(has_format(format, text), valid);
    }

    #[rstest]
    #[case("^[a[b]+$", "a[b", true)]
    #[case("^[a[b]+$", "ab]", false)]
    #[case("^[a-z&&[c]+$", "a&[c", true)]
    #[case("^[~~]$", "~", true)]
    #[case("^[[:digit:][]+$", "1[", true)]
    #[case("^[[:digit:][]+$", ":", false)]
    #[case("^[]a[]+$", "]a[", true)]
    #[case("^[^]a[]+$", "b", true)]
    #[case("^[^]a[]+$", "[", false)]
    #[case(r"^\[a[b\]]+&$", "[a]b&", true)]
    fn classes(#[case] pattern: &str, #[case] text: &str, #[case] matches: bool) {
        assert_eq!(regex(pattern).map(|regex| regex.is_match(text)), Ok(matches));
    }
}
