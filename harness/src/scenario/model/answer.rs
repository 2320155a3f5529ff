//! What a probe expects of an answer.

use std::fmt;

use indexmap::IndexMap;

use super::super::grpc::GrpcCode;
use crate::log::Message;

/// What must come back.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// An HTTP answer.
    Http(Box<Seen>),
    /// A line from this backend over TCP, or datagrams from it and nobody else over UDP.
    TcpBackend(String),
    /// A line from this backend over TLS.
    TlsBackend {
        /// The backend; none: no more than the handshake is looked at.
        backend: Option<String>,
        /// A DNS name of the certificate that is presented, as it stands there.
        certificate: Option<String>,
        /// Alias of the authority by which alone a client trusts what is presented.
        trusted: Option<String>,
        /// The protocols of which the handshake agrees on one; `none` among them: or on none. Empty: whatever it agrees on.
        alpn: Vec<String>,
        /// The server name of the handshake that the backend saw.
        server_name: Option<String>,
    },
    /// TCP: refused, reset or closed before any byte. A hang fails. TLS: likewise before any byte of the stream within, and ended
    /// by an alert too.
    TcpRefused,
    /// Nobody answers: no connection is accepted, or it is closed without an answer. HTTP: or somebody else on the same address
    /// and port has no route for the request. TCP: or the connection stays open without a byte. UDP: or no datagram comes.
    NoAnswer,
    /// HTTPS: nobody answers, and on the way to that no certificate is presented that is for the server name.
    NoCertificate,
    /// HTTP: a timeout error, or an answer that breaks off before its end.
    CutOff,
    /// Shares over many requests, found by a sequential test.
    Shares {
        /// Who answers, with its weight.
        parts: Vec<(Share, u32)>,
        /// Margin in percentage points (0 to 100) below which a deviation is not looked for.
        margin: f64,
    },
}

/// A kind of answer that shares are counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Share {
    /// Answered by this backend.
    Backend(String),
    /// Answered by any of these backends, which together have the share.
    AnyOf(Vec<String>),
    /// This status code from the gateway itself.
    Status(u16),
    /// This code of gRPC from the gateway itself.
    Code(GrpcCode),
    /// Any of these status codes or codes of gRPC from the gateway itself, which together have the share.
    Either(Vec<Share>),
    /// Over TCP: refused, reset or closed before any byte.
    Refused,
    /// Over UDP: no datagram of the flow comes back.
    NoAnswer,
    /// Answered, and copied to this backend once.
    Copied(String),
    /// Answered, and not copied.
    NotCopied,
}

impl Share {
    /// The backends whose answers count for it.
    pub fn backends(&self) -> impl Iterator<Item = &str> {
        let (one, several) = match self {
            Share::Backend(name) => (Some(name), None),
            Share::AnyOf(names) => (None, Some(names)),
            Share::Status(_)
            | Share::Code(_)
            | Share::Either(_)
            | Share::Refused
            | Share::NoAnswer
            | Share::Copied(_)
            | Share::NotCopied => (None, None),
        };
        one.into_iter().chain(several.into_iter().flatten()).map(String::as_str)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share::Backend(name) => f.write_str(name),
            Share::AnyOf(names) => f.write_str(&names.join(" or ")),
            Share::Status(code) => write!(f, "status {code}"),
            Share::Code(code) => write!(f, "{code}"),
            Share::Either(codes) => {
                f.write_str(&codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "))
            }
            Share::Refused => f.write_str("refused"),
            Share::NoAnswer => f.write_str("no answer"),
            Share::Copied(mirror) => write!(f, "copied to {mirror}"),
            Share::NotCopied => f.write_str("not copied"),
        }
    }
}

/// An HTTP answer and what the backend saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Legal status codes; 200 unless given. Says nothing of a call.
    pub status: Vec<u16>,
    /// Legal codes of a call; empty for what is none.
    pub code: Vec<GrpcCode>,
    /// Status codes that a SHOULD prefers among them.
    pub preferred: Vec<u16>,
    /// The backend that answered; `Some` also demands its echo.
    pub backend: Option<String>,
    /// Response headers.
    pub headers: IndexMap<String, HeaderTest>,
    /// Response trailers.
    pub trailers: IndexMap<String, HeaderTest>,
    /// How many messages a call is answered with.
    pub messages: Option<u32>,
    /// The whole body, but for white space around it.
    pub body: Option<String>,
    /// Path (raw) that the backend saw.
    pub seen_path: Option<String>,
    /// Host that the backend saw.
    pub seen_host: Option<String>,
    /// Protocol that the backend was spoken to in, such as `HTTP/2.0`.
    pub seen_proto: Option<String>,
    /// Server name of the handshake that the backend saw; [`CLEAR_TEXT`]: there was none.
    pub server_name: Option<String>,
    /// A DNS name of the certificate that the backend was shown, as it stands there; [`NO_CERTIFICATE`]: it was shown none.
    pub client_name: Option<String>,
    /// Texts of the messages of a call that the backend saw, in order.
    pub seen_messages: Option<Vec<String>>,
    /// Request headers that the backend saw.
    pub seen_headers: IndexMap<String, HeaderTest>,
    /// A DNS name of the certificate that the server presents, as it stands there.
    pub certificate: Option<String>,
    /// Alias of the authority by which alone a client trusts what the server presents.
    pub trusted: Option<String>,
    /// The protocols of which the handshake agrees on one; `none` among them: or on none. Empty: whatever it agrees on.
    pub alpn: Vec<String>,
    /// Backends that must have a journal entry of the very request, as mirrors have.
    pub mirrored_to: Vec<String>,
    /// Messages over a WebSocket, each of which must get its right answer, or must not.
    pub replies: Vec<(Message, bool)>,
    /// What backends must have noted of the very request, by backend.
    pub noted: IndexMap<String, Noted>,
}

/// What the journal of a backend must hold of each request of a probe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Noted {
    /// How often it reached the backend.
    pub times: Option<Times>,
    /// Milliseconds that lie between two of these times at least.
    pub apart: Option<u64>,
    /// Its method, each time.
    pub method: Option<String>,
    /// Its raw path, each time.
    pub path: Option<String>,
    /// The version of HTTP that it comes in, each time.
    pub proto: Option<String>,
    /// Its body, each time.
    pub body: Option<String>,
    /// Its headers, each time.
    pub headers: IndexMap<String, HeaderTest>,
}

/// How often something may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// So often at least.
    pub at_least: u32,
    /// So often at most; without a limit unless given.
    pub at_most: Option<u32>,
}

impl Times {
    /// So often and neither more nor less.
    pub fn exactly(times: u32) -> Times {
        Times { at_least: times, at_most: Some(times) }
    }

    /// Whether it may be so often.
    pub fn holds(self, times: usize) -> bool {
        let at_most = self.at_most.is_none_or(|most| times <= most as usize);
        at_most && times >= self.at_least as usize
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let often = |times: u32| if times == 1 { "once".to_owned() } else { format!("{times} times") };
        match (self.at_least, self.at_most) {
            (least, Some(most)) if least == most => f.write_str(&often(most)),
            (0, Some(most)) => write!(f, "at most {}", often(most)),
            (least, Some(most)) => write!(f, "{least} to {most} times"),
            (least, None) => write!(f, "at least {}", often(least)),
        }
    }
}

/// A test of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderTest {
    /// Has this value.
    Equals(String),
    /// Has one of these values.
    OneOf(Vec<String>),
    /// Is a list of these members, in any order and case.
    Members(Vec<String>),
    /// Is not there, or a list that has neither this member nor `*`, which stands for all.
    Without(String),
    /// Has exactly these lines, in this order.
    Lines(Vec<String>),
    /// Is not there.
    Absent,
    /// Is there.
    Present,
}

impl HeaderTest {
    /// The texts of the test, in which placeholders may stand.
    pub fn texts(&self) -> Vec<&String> {
        match self {
            HeaderTest::Equals(text) | HeaderTest::Without(text) => vec![text],
            HeaderTest::OneOf(texts) | HeaderTest::Members(texts) | HeaderTest::Lines(texts) => texts.iter().collect(),
            HeaderTest::Absent | HeaderTest::Present => Vec::new(),
        }
    }

    /// The same, to be changed.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            HeaderTest::Equals(text) | HeaderTest::Without(text) => vec![text],
            HeaderTest::OneOf(texts) | HeaderTest::Members(texts) | HeaderTest::Lines(texts) => {
                texts.iter_mut().collect()
            }
            HeaderTest::Absent | HeaderTest::Present => Vec::new(),
        }
    }
}

impl Answer {
    /// Whether nobody is to answer.
    pub fn is_silence(&self) -> bool {
        matches!(self, Answer::NoAnswer | Answer::NoCertificate)
    }

    /// Alias of the authority by which alone a client trusts what is presented, if that is asked.
    pub fn trusted(&self) -> Option<&str> {
        match self {
            Answer::Http(seen) => seen.trusted.as_deref(),
            Answer::TlsBackend { trusted, .. } => trusted.as_deref(),
            _ => None,
        }
    }
}

/// What stands for a backend that was spoken to in clear text, in place of a server name.
pub const CLEAR_TEXT: &str = "none";

/// What stands for a backend that was shown no certificate, in place of a name of one.
pub const NO_CERTIFICATE: &str = "none";

impl Seen {
    /// Every text of the expectation in which placeholders may stand.
    pub fn texts(&self) -> Vec<&String> {
        let noted = self.noted.values();
        let tests = self.headers.values().chain(self.trailers.values()).chain(self.seen_headers.values());
        let tests = tests.chain(noted.clone().flat_map(|noted| noted.headers.values()));
        let plain = self.seen_path.iter().chain(&self.seen_host).chain(&self.certificate).chain(&self.server_name);
        let plain = plain.chain(&self.client_name).chain(&self.body);
        let plain = plain.chain(noted.flat_map(|noted| noted.path.iter().chain(&noted.body)));
        plain.chain(tests.flat_map(HeaderTest::texts)).collect()
    }

    /// The same, to be changed.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        let plain = self.seen_path.iter_mut().chain(&mut self.seen_host).chain(&mut self.certificate);
        let plain = plain.chain(&mut self.server_name).chain(&mut self.client_name).chain(&mut self.body);
        let tests = self.headers.values_mut().chain(self.trailers.values_mut()).chain(self.seen_headers.values_mut());
        let noted = self.noted.values_mut().flat_map(|noted| {
            let tests = noted.headers.values_mut().flat_map(HeaderTest::texts_mut);
            noted.path.iter_mut().chain(&mut noted.body).chain(tests)
        });
        plain.chain(tests.flat_map(HeaderTest::texts_mut)).chain(noted).collect()
    }
}
