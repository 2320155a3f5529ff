//! Bearer tokens: what the managed identity endpoint gives out, and whose they are.

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// How many tokens are good at once; the oldest end before their time for more.
const MOST_TOKENS: usize = 64;

/// Where secrets come from: a random seed, so that the rest of the core needs no randomness.
#[derive(Clone)]
pub(crate) struct Secrets {
    seed: [u8; 32],
}

impl Secrets {
    pub fn new(seed: [u8; 32]) -> Self {
        Self { seed }
    }

    /// A secret that goes with a purpose: 256 bits, for URLs and headers.
    pub fn text(&self, purpose: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.bytes(purpose))
    }

    /// The same in the alphabet of storage keys.
    pub fn key(&self, purpose: &str) -> String {
        STANDARD.encode(self.bytes(purpose))
    }

    fn bytes(&self, purpose: &str) -> [u8; 32] {
        Sha256::new().chain_update(self.seed).chain_update(purpose).finalize().into()
    }
}

#[derive(Debug)]
pub(crate) struct Token {
    pub text: String,
    /// For whom: the client id.
    pub caller: String,
    /// For what: the audience.
    pub resource: String,
    pub expires: Timestamp,
}

#[derive(Debug)]
pub(crate) struct Tokens {
    life: Duration,
    given: VecDeque<Token>,
    count: u64,
}

impl Tokens {
    pub fn new(life: Duration) -> Self {
        Self { life, given: VecDeque::new(), count: 0 }
    }

    /// A new token.
    pub fn give(&mut self, now: Timestamp, secrets: &Secrets, caller: &str, resource: &str) -> &Token {
        self.count += 1;
        self.given.retain(|token| token.expires > now);
        if self.given.len() == MOST_TOKENS {
            self.given.pop_front();
        }
        let text = secrets.text(&format!("token {}", self.count));
        let expires = now.saturating_add(self.life).unwrap_or(Timestamp::MAX);
        self.given.push_back(Token { text, caller: caller.into(), resource: resource.into(), expires });
        &self.given[self.given.len() - 1]
    }

    /// The token that a text is, whether or not it is good still.
    pub fn find(&self, text: &str) -> Option<&Token> {
        self.given.iter().fold(None, |found, token| if same(&token.text, text) { Some(token) } else { found })
    }
}

/// Whether two secrets are the same, in a time that does not tell where they differ.
pub(crate) fn same(expected: &str, given: &str) -> bool {
    expected.as_bytes().ct_eq(given.as_bytes()).into()
}

/// The bearer token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
