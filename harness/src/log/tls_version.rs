//! Versions of TLS, as manifests and logs have them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3.
    #[serde(rename = "1.3")]
    V1_3,
}

impl TlsVersion {
    /// Every one.
    pub const ALL: [TlsVersion; 2] = [TlsVersion::V1_2, TlsVersion::V1_3];

    /// Its word in a manifest.
    pub const fn word(self) -> &'static str {
        match self {
            TlsVersion::V1_2 => "1.2",
            TlsVersion::V1_3 => "1.3",
        }
    }

    /// The version of this word.
    pub fn of_word(word: &str) -> Option<TlsVersion> {
        TlsVersion::ALL.into_iter().find(|version| version.word() == word)
    }
}
