//! Where a redirect leads: which spellings of a Location say the same.

/// How a Location compares with the one that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// It leads there.
    Same,
    /// It leads there, but spells out the port that its scheme has anyway, which an implementation should not.
    SpellsOutPort,
    /// It leads elsewhere.
    Other,
}

/// Compares two Locations. Scheme and host have no case, a missing port is the one of the scheme, and an empty path is `/` (RFC 3986,
/// sections 6.2.2.1 and 6.2.3; RFC 9110, section 4.2.3). Everything else behind the authority counts as it stands, and so does what
/// is no absolute URL.
pub(super) fn compare(wanted: &str, seen: &str) -> Comparison {
    if wanted == seen {
        return Comparison::Same;
    }
    let (Some(wanted), Some(seen)) = (Parts::of(wanted), Parts::of(seen)) else { return Comparison::Other };
    let same = wanted.scheme.eq_ignore_ascii_case(seen.scheme)
        && wanted.host.eq_ignore_ascii_case(seen.host)
        && wanted.effective_port() == seen.effective_port()
        && wanted.behind_root() == seen.behind_root();
    match same {
        false => Comparison::Other,
        true if wanted.port.is_none() && seen.port.is_some() => Comparison::SpellsOutPort,
        true => Comparison::Same,
    }
}

struct Parts<'a> {
    scheme: &'a str,
    host: &'a str,
    port: Option<&'a str>,
    rest: &'a str,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Option<Parts<'a>> {
        let (scheme, behind) = url.split_once("://")?;
        let (authority, rest) = behind.split_at(behind.find(['/', '?', '#']).unwrap_or(behind.len()));
        let (host, port) = match authority.rsplit_once(':') {
            // The colons of an IPv6 address stand within brackets.
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        Some(Parts { scheme, host, port, rest })
    }

    /// What comes behind the authority, without the `/` that may be left out there.
    fn behind_root(&self) -> &'a str {
        self.rest.strip_prefix('/').unwrap_or(self.rest)
    }

    fn effective_port(&self) -> Option<&'a str> {
        let own = if self.scheme.eq_ignore_ascii_case("http") {
            Some("80")
        } else if self.scheme.eq_ignore_ascii_case("https") {
            Some("443")
        } else {
            None
        };
        self.port.or(own)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::same("http://h/a?b=c", "http://h/a?b=c", Comparison::Same)]
    #[case::case_of_scheme_and_host("http://h.example/a", "HTTP://H.Example/a", Comparison::Same)]
    #[case::default_port_http("http://h/a", "http://h:80/a", Comparison::SpellsOutPort)]
    #[case::default_port_https("https://h/a", "https://h:443/a", Comparison::SpellsOutPort)]
    #[case::asked_for("http://h:80/a", "http://h/a", Comparison::Same)]
    #[case::ipv6("http://[::1]/a", "http://[::1]:80/a", Comparison::SpellsOutPort)]
    #[case::port_of_the_other_scheme("http://h/a", "http://h:443/a", Comparison::Other)]
    #[case::https_at_80("https://h/a", "https://h:80/a", Comparison::Other)]
    #[case::another_port("http://h/a", "http://h:8080/a", Comparison::Other)]
    #[case::missing_port("http://h:8080/a", "http://h/a", Comparison::Other)]
    #[case::empty_port("http://h/a", "http://h:/a", Comparison::Other)]
    #[case::scheme("http://h/a", "https://h/a", Comparison::Other)]
    #[case::host("http://h/a", "http://g/a", Comparison::Other)]
    #[case::case_of_the_path("http://h/a", "http://h/A", Comparison::Other)]
    #[case::query("http://h/a?b=c", "http://h/a", Comparison::Other)]
    #[case::root("http://h/", "http://h", Comparison::Same)]
    #[case::root_with_query("http://h/?a", "http://h?a", Comparison::Same)]
    #[case::two_slashes("http://h/", "http://h//", Comparison::Other)]
    #[case::slash_at_the_end("http://h/a", "http://h/a/", Comparison::Other)]
    #[case::relative("http://h/a", "/a", Comparison::Other)]
    #[case::port_within_the_path("http://h/a", "http://h/a:80", Comparison::Other)]
    #[case::user("http://h/a", "http://h:80@g/a", Comparison::Other)]
    fn spellings_of_one_place(#[case] wanted: &str, #[case] seen: &str, #[case] expected: Comparison) {
        assert_eq!(compare(wanted, seen), expected);
    }
}
