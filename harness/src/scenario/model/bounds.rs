//! Releases, channels, and in which of them something has a meaning.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A Gateway API release, `major.minor[.patch]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Major.
    pub major: u16,
    /// Minor.
    pub minor: u16,
    /// Patch; 0 unless given.
    pub patch: u16,
}

impl FromStr for Version {
    type Err = String;
    fn from_str(text: &str) -> Result<Version, String> {
        let bad = || format!("`{text}` is not a version such as 1.4 or v1.4.1");
        let core = text.trim_start_matches('v');
        let core = core.split_once('-').map_or(core, |(core, _)| core);
        let mut parts = core.split('.').map(|p| p.parse::<u16>().map_err(|_| bad()));
        let major = parts.next().ok_or_else(bad)??;
        let minor = parts.next().ok_or_else(bad)??;
        let patch = parts.next().transpose()?.unwrap_or(0);
        if parts.next().is_some() {
            return Err(bad());
        }
        Ok(Version { major, minor, patch })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A release channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// Standard.
    Standard,
    /// Experimental, which holds all of Standard.
    Experimental,
}

impl Channel {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Channel::Standard => "standard",
            Channel::Experimental => "experimental",
        }
    }
}

/// A release of the definitions of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: Version,
    /// Its channel.
    pub channel: Channel,
}

/// What a target is judged by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Basis {
    /// The release; none for a dialect that has no releases.
    pub release: Option<Release>,
}

impl Basis {
    /// A release.
    pub fn release(version: Version, channel: Channel) -> Basis {
        Basis { release: Some(Release { version, channel }) }
    }

    /// Whether it lies within `since` and `until`. Without releases, everything does: nothing is bound to one there.
    pub fn is_within(self, since: Option<Version>, until: Option<Version>) -> bool {
        self.release.is_none_or(|Release { version, .. }| {
            since.is_none_or(|since| version >= since) && until.is_none_or(|until| version < until)
        })
    }

    /// Whether what is experimental has a meaning.
    pub fn is_experimental(self) -> bool {
        self.release.is_none_or(|release| release.channel == Channel::Experimental)
    }
}

/// Versions and channel in which something has a meaning. `since` is inclusive, `until` exclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// First version.
    pub since: Option<Version>,
    /// First version that it no longer holds for.
    pub until: Option<Version>,
    /// `Experimental`: only there. `Standard` or nothing: in both.
    pub channel: Option<Channel>,
    /// Whether it is of another edition of the dialect than the one that is meant.
    pub elsewhere: bool,
}

impl Bounds {
    /// Whether a target that is judged by this is bound.
    pub fn admits(&self, basis: Basis) -> bool {
        !self.elsewhere
            && basis.is_within(self.since, self.until)
            && (self.channel != Some(Channel::Experimental) || basis.is_experimental())
    }
}
