//! A handshake against what is expected of it: whose certificate is presented, and which protocol is agreed on.

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;

use super::Check;
use crate::log::{Exchange, NO_PROTOCOL, PeerCertificate, ProbeRequest};
use crate::scenario::{CLEAR_TEXT, NO_CERTIFICATE, Seen};

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

    /// Looks at whether there was a handshake to its end, where that is all that is asked.
    pub(super) fn is_shaken(&mut self, certificate: Option<&str>, exchange: &Exchange) -> bool {
        exchange.certificate.is_some() || self.certificate(certificate.unwrap_or_default(), &[])
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

    /// Looks at the handshake that a backend saw, by its own account.
    pub(super) fn handshake_seen(&mut self, expected: &Seen, echo: Option<&Value>) {
        if let Some(wanted) = &expected.server_name {
            self.asked_for(wanted, echo);
        }
        if let Some(wanted) = &expected.client_name {
            self.shown(wanted, echo);
        }
    }

    /// Looks at the server name of the handshake that a backend saw.
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

    /// Looks at the names of the certificate that a backend was shown.
    fn shown(&mut self, wanted: &str, echo: Option<&Value>) {
        let leaf = echo.map(|echo| echo.pointer("/tls/peerCertificates/0").and_then(Value::as_str));
        let names = leaf.flatten().map(names);
        let is_right = match &names {
            Some(names) => names.iter().any(|name| name.eq_ignore_ascii_case(wanted)),
            None => echo.is_some() && wanted == NO_CERTIFICATE,
        };
        if is_right {
            return;
        }
        let words = match wanted {
            NO_CERTIFICATE => "the backend is shown no certificate".to_owned(),
            name => format!("the backend is shown the certificate for {name}"),
        };
        let seen = match names.as_deref() {
            None if echo.is_none() => "no echo".to_owned(),
            None => "it was shown none".to_owned(),
            Some([]) => "it was shown one without any name".to_owned(),
            Some(names) => format!("it was shown one for {}", names.join(", ")),
        };
        self.miss(".seen.client", self.level, words, seen);
    }

    /// Looks at whether a client that is answered was asked for its certificate, if it had to be.
    pub(super) fn asked(&mut self, is_call: bool, exchange: &Exchange) -> bool {
        let has_to_be = match &exchange.request {
            ProbeRequest::Http(request) => request.client.as_ref().is_some_and(|client| client.asked),
            ProbeRequest::Tcp { .. } | ProbeRequest::Udp { .. } => false,
        };
        if !(has_to_be && exchange.unasked && exchange.http.is_some()) {
            return true;
        }
        let part = if is_call { ".code" } else { ".status" };
        let expected = "the client is asked for its certificate, and answered".to_owned();
        self.miss(part, self.level, expected, "it is answered, and was not asked for a certificate".to_owned());
        false
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

/// The DNS names of a certificate in PEM; none of what cannot be read.
fn names(pem: &str) -> Vec<String> {
    let Ok(der) = CertificateDer::from_pem_slice(pem.as_bytes()) else { return Vec::new() };
    let certificate = webpki::EndEntityCert::try_from(&der);
    certificate.map(|one| one.valid_dns_names().map(str::to_owned).collect()).unwrap_or_default()
}

/// Whether a certificate is presented that has the server name which was asked for as it stands.
pub(super) fn presents_own(exchange: &Exchange) -> bool {
    let ProbeRequest::Http(request) = &exchange.request else { return false };
    let presented = exchange.certificate.as_ref().map(|certificate| certificate.names.as_slice()).unwrap_or_default();
    let is_own = |name: &String| presented.iter().any(|one| one.eq_ignore_ascii_case(name));
    request.tls_server_name.as_ref().is_some_and(is_own)
}
