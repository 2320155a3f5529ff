//! A handshake against what is expected of it: whose certificate is presented, and which protocol is agreed on.

use serde_json::Value;

use super::Check;
use crate::log::{Exchange, NO_PROTOCOL, PeerCertificate, ProbeRequest};
use crate::scenario::CLEAR_TEXT;

impl Check<'_> {
    /// Looks at a handshake, if it came to its end. Whether nothing was wrong with it.
    pub(super) fn shaken(
        &mut self,
        (certificate, trusted): (Option<&str>, Option<&str>),
        alpn: &[String],
        exchange: &Exchange,
    ) -> bool {
        let presented = exchange.certificate.as_ref();
        let is_presented = match (certificate, presented) {
            (Some(name), Some(presented)) => self.certificate(name, &presented.names),
            _ => true,
        };
        let is_presented = is_presented && trusted.is_none_or(|by| presented.is_none() || self.trusted(by, exchange));
        // Who presents another one is somebody else, and agrees on what they like.
        is_presented && self.agreed(alpn, exchange)
    }

    /// Looks at the names of the certificate that is presented.
    pub(super) fn certificate(&mut self, name: &str, presented: &[String]) -> bool {
        if presented.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            return true;
        }
        let seen = match presented {
            [] => "one without any name, or none".to_owned(),
            names => format!("one for {}", names.join(", ")),
        };
        self.miss(".certificate", self.level, format!("the certificate for {name} is presented"), seen);
        false
    }

    /// Looks at whether a client that knows this authority trusts what is presented.
    pub(super) fn trusted(&mut self, by: &str, exchange: &Exchange) -> bool {
        let asked = match &exchange.request {
            ProbeRequest::Http(request) => request.trusts.as_deref(),
            ProbeRequest::Tcp { tls: Some(hello), .. } => hello.trusts.as_deref(),
            ProbeRequest::Tcp { .. } | ProbeRequest::Udp { .. } => None,
        };
        let expected = "a client that knows the authority alone trusts what is presented".to_owned();
        // A log may be older than the question.
        if asked != Some(by) {
            let seen = format!("no client looked at it that knows `{by}`");
            self.miss(".trusted", self.level, expected, seen).blind = true;
            return false;
        }
        let seen = match &exchange.certificate {
            None => "none is presented".to_owned(),
            Some(PeerCertificate { distrusted: None, .. }) => return true,
            Some(PeerCertificate { distrusted: Some(why), .. }) => format!("it does not: {why}"),
        };
        self.miss(".trusted", self.level, expected, seen);
        false
    }

    /// Looks at the server name of the handshake that a backend saw, by its own account.
    pub(super) fn asked_for(&mut self, wanted: &str, echo: Option<&Value>) {
        let saw = echo.map(|echo| match echo.get("tls") {
            None | Some(Value::Null) => CLEAR_TEXT,
            Some(tls) => tls["serverName"].as_str().unwrap_or_default(),
        });
        if saw == Some(wanted) {
            return;
        }
        let words = match wanted {
            CLEAR_TEXT => "the backend sees clear text".to_owned(),
            name => format!("the backend sees TLS with the server name {name:?}"),
        };
        let seen = match saw {
            None => "no echo".to_owned(),
            Some(CLEAR_TEXT) => "it saw clear text".to_owned(),
            Some(name) => format!("it saw {name:?}"),
        };
        self.miss(".seen.tls", self.level, words, seen);
    }

    /// Looks at what a handshake agreed on. One that came to no end is for the answer to tell.
    pub(super) fn agreed(&mut self, legal: &[String], exchange: &Exchange) -> bool {
        let Some(agreed) = exchange.alpn.as_ref().filter(|agreed| !legal.is_empty() && !legal.contains(agreed)) else {
            return true;
        };
        let words = |names: &[String]| match names {
            [none] if none == NO_PROTOCOL => "no protocol".to_owned(),
            names => names.join(" or "),
        };
        let seen = format!("it agreed on {}", words(std::slice::from_ref(agreed)));
        self.miss(".alpn", self.level, format!("the handshake agrees on {}", words(legal)), seen);
        false
    }
}
