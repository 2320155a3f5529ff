//! One attempt on the data path, as it was sent and answered.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EchoText, Elapsed, TlsVersion};

/// What a probe is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The probe that the manifest asks for.
    Main,
    /// The control: same address and path, a hostname that no route claims. It must answer differently.
    Contrast,
    /// Another port of the same address, to know whether there is a way to it at all.
    Reach,
}

/// What is to be sent, and where. Names are already bound; the address is the target's, before any dialer maps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProbeRequest {
    /// An HTTP request over plain text or TLS; a call of gRPC is one.
    Http(Box<HttpRequest>),
    /// A TCP connection: the exchange's id and `send` are written, then one line or the end is read.
    Tcp {
        /// Host (an IP address or a name) from `status.addresses`.
        host: String,
        /// Listener port.
        port: u16,
        /// Bytes to send, as text.
        send: String,
        /// What is written behind that, and has to come back behind the line.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        behind: String,
        /// Whether nothing is written.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        listens: bool,
        /// Whether the client ends its half of the stream behind what it writes, and the backend answers behind that end.
        #[serde(default, rename = "halfClose", skip_serializing_if = "std::ops::Not::not")]
        half_close: bool,
        /// Milliseconds in which nothing is written between the line that came and what goes out behind it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle: Option<u64>,
        /// The handshake before it; `None` for plain TCP.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tls: Option<Hello>,
    },
    /// Datagrams from one socket: several of them, each the exchange's id, its number and `send`, or nothing at all.
    Udp {
        /// Host (an IP address or a name) from `status.addresses`.
        host: String,
        /// Listener port.
        port: u16,
        /// What each holds beside, as text.
        send: String,
        /// What each holds behind that.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        behind: String,
        /// Whether none holds a byte, not even those that say which it is. An answer is a line, and a datagram without a byte.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        empty: bool,
        /// Whether it is a single one, so that a share of flows is a share of datagrams too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        single: bool,
        /// From so many sockets at the same time; from one without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flows: Option<u32>,
    },
}

/// What a handshake for a stream says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The server name; `None`: it says none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// The protocols that it offers (ALPN), in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alpn: Vec<String>,
    /// Whether its first message goes out in two pieces, a moment apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_two: bool,
    /// Whether its first message is split over two records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub two_records: bool,
    /// Alias of the authority by which it looks at what is presented. It goes on whatever it finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusts: Option<String>,
    /// The version that it speaks alone; `None`: whichever the server takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<TlsVersion>,
    /// Name of its TLS session, unique within the run, which it resumes where the server lets it; `None`: it begins a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What stands for no protocol, where a handshake agreed on none.
pub const NO_PROTOCOL: &str = "none";

impl ProbeRequest {
    /// A plain TCP connection over which `send` is written, and nothing else asked.
    pub fn tcp(host: impl Into<String>, port: u16, send: impl Into<String>) -> Self {
        let (host, send, behind) = (host.into(), send.into(), String::new());
        Self::Tcp { host, port, send, behind, listens: false, half_close: false, idle: None, tls: None }
    }
}

impl From<HttpRequest> for ProbeRequest {
    fn from(request: HttpRequest) -> Self {
        Self::Http(Box::new(request))
    }
}

/// An HTTP request, exact to the byte where it matters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HttpRequest {
    /// Host (an IP address or a name) to connect to, from `status.addresses`.
    pub host: String,
    /// Port to connect to: the listener's.
    pub port: u16,
    /// Over HTTP/2: with prior knowledge, or agreed on in the TLS handshake. Otherwise over HTTP/1.1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub http2: bool,
    /// Server name for TLS; `None` for plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// The protocols that it offers in the TLS handshake (ALPN), in its order; which version of HTTP is spoken is what was agreed on.
    /// Empty: the one that it speaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alpn: Vec<String>,
    /// Alias of the authority by which it looks at what is presented. It goes on whatever it finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusts: Option<String>,
    /// What it leaves out of the TLS handshake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<Extension>,
    /// The version of TLS that it speaks alone; `None`: whichever the server takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_version: Option<TlsVersion>,
    /// Name of its TLS session, unique within the run, which it resumes where the server lets it; `None`: it begins a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The certificate that it has for who asks for one in the TLS handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientCertificate>,
    /// The method.
    pub method: String,
    /// The raw request target, such as `/a/../b?q=%2F`.
    pub target: String,
    /// Over HTTP/1.1: it goes out in absolute form, with scheme and authority before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absolute: bool,
    /// Over HTTP/2: the host stands in a Host header, and there is no `:authority`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host_header: bool,
    /// The Host header, or `:authority`.
    pub authority: String,
    /// Further headers in order, names with their case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// What follows the body, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<(String, String)>,
    /// Texts of the messages of a call, which go out one by one; one empty message without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<String>,
    /// Name of the connection to send it over, unique within the run, which is kept open; `None` for one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// Request targets that are asked for before it over the same HTTP/2 connection, by GET or as calls of one empty message,
    /// and not waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub among: Vec<String>,
    /// Messages to send one after the other once the connection is a WebSocket; `None`: it shall not become one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Message>>,
}

/// What a client may leave out of a TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Extension {
    /// The server name.
    Sni,
    /// The protocols that it would speak.
    Alpn,
}

impl Extension {
    /// Every one.
    pub const ALL: [Extension; 2] = [Extension::Sni, Extension::Alpn];

    /// Its word in a manifest.
    pub const fn word(self) -> &'static str {
        match self {
            Extension::Sni => "sni",
            Extension::Alpn => "alpn",
        }
    }
}

/// The certificate of a client, which is made when the request is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCertificate {
    /// Alias of the authority that signs it.
    pub authority: String,
    /// Whether its time is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// Whether its time is to come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub future: bool,
    /// Whether it has to be asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// What stands between it and that authority.
    #[serde(default, skip_serializing_if = "Chain::is_direct")]
    pub chain: Chain,
}

/// What stands between a certificate and the authority that others know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Chain {
    /// Nothing: the authority signed it.
    #[default]
    Direct,
    /// An authority between them, whose certificate is shown behind the one that it signed.
    Whole,
    /// The same, and its certificate is not shown.
    Cut,
}

impl Chain {
    /// Whether the authority itself signed.
    pub fn is_direct(&self) -> bool {
        *self == Chain::Direct
    }

    /// What a manifest says with this word.
    pub fn of_word(word: &str) -> Option<Chain> {
        match word {
            "whole" => Some(Chain::Whole),
            "cut" => Some(Chain::Cut),
            _ => None,
        }
    }
}

/// A sort of message over a WebSocket, each of which has one right answer of an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Message {
    /// What the backend says first: nothing is sent for it.
    Greeting,
    /// A short text; it comes back.
    Text,
    /// A few bytes, some of which no text can have; they come back.
    Binary,
    /// A text in three frames; the whole of it comes back.
    Fragments,
    /// More bytes than a frame with a length of 16 bits can have; they come back.
    Large,
    /// A ping; the pong to it comes back.
    Ping,
    /// The end, with a code of its own, which comes back.
    Close,
}

impl Message {
    /// Its word in a manifest.
    pub const fn word(self) -> &'static str {
        match self {
            Message::Greeting => "greeting",
            Message::Text => "text",
            Message::Binary => "binary",
            Message::Fragments => "fragments",
            Message::Large => "large",
            Message::Ping => "ping",
            Message::Close => "close",
        }
    }

    /// Every sort, in the order in which they can be sent over one connection.
    pub const ALL: [Message; 7] = [
        Message::Greeting,
        Message::Text,
        Message::Binary,
        Message::Fragments,
        Message::Large,
        Message::Ping,
        Message::Close,
    ];
}

/// What came back for a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// Which message.
    pub to: Message,
    /// What came instead of the right answer; `None` if that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// What came of one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// Unique within the run; sent as the header `X-Gateproof-Request`, or as the first TCP line.
    pub id: String,
    /// The request.
    pub request: ProbeRequest,
    /// Where the dialer really connected to, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_to: Option<SocketAddr>,
    /// Whether the connection was open already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    /// The certificate that the server presented, if the handshake came to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PeerCertificate>,
    /// The protocol that the TLS handshake agreed on, `none` where it agreed on none; nothing if it came to no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpn: Option<String>,
    /// The version of TLS that the handshake of this attempt agreed on; nothing if it came to no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_version: Option<TlsVersion>,
    /// Whether the handshake resumed a session of an earlier one, so that nobody showed a certificate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// Whether the handshake came to its end without asking the client for the certificate that it was to show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unasked: bool,
    /// When the attempt began.
    pub started: Elapsed,
    /// The HTTP answer, if one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpAnswer>,
    /// What came back for the messages over a WebSocket, up to the first that got no right answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<Reply>,
    /// How a TCP attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpEnd>,
    /// How an attempt over UDP ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpEnd>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProbeError>,
    /// What had come when it failed, if anything had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Received>,
}

/// What came over the connection from the sending of the request until the attempt failed. Where requests share the
/// connection, so do they share this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Received {
    /// How many bytes, without those of TLS unless the handshake failed.
    pub bytes: u64,
    /// The first 256 of them; what is no printable ASCII is escaped.
    pub start: String,
    /// The status code, if the head of an answer had come whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// A certificate as a server presented it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerCertificate {
    /// The DNS names in it, wildcards as they stand there.
    pub names: Vec<String>,
    /// SHA-256 of its DER form, hexadecimal.
    pub sha256: String,
    /// Why a client does not trust it that knows one authority alone. Absent: it does, or nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distrusted: Option<String>,
}

/// An HTTP answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpAnswer {
    /// The status code.
    pub status: u16,
    /// Headers in order, names lower-case.
    pub headers: Vec<(String, String)>,
    /// Trailers in order, names lower-case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<(String, String)>,
    /// How many whole messages of gRPC the body has, if it is one of gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u32>,
    /// The first 4 KiB of the body as text; empty where `echo` says it, and for gRPC.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The echo's account of what it received, if the body is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<EchoText>,
}

/// How a TCP attempt ended once connected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TcpEnd {
    /// A whole line came; the echo's account of itself if it is one.
    Answered {
        /// The line as text; empty where `echo` says it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        line: String,
        /// The echo's JSON, if the line is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        echo: Option<EchoText>,
    },
    /// Closed or reset before any byte came.
    ClosedBeforeAnyByte,
    /// An alert of TLS ended it.
    Alert(String),
    /// Not a byte came within the budget, and the connection stayed open.
    Hung,
}

/// How an attempt over UDP ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UdpEnd {
    /// As many of the datagrams as it takes were answered, each with a line and its own bytes.
    Answered {
        /// The lines as text, without those that repeat one; empty where `echo` says it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<String>,
        /// What those who answered said of themselves, without repetitions, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        echo: Vec<EchoText>,
    },
    /// Some were answered, and too few: more were lost than a network loses.
    TooFew {
        /// How many were answered. None: of what has to come for datagrams without a byte, a part came.
        answered: usize,
    },
    /// No datagram came back from where they were sent to.
    Silent,
    /// The address said that nobody listens at the port, and no answer came.
    Refused,
}

/// Why an attempt has no answer, named for the phase that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProbeError {
    /// The dialer has no way to the address, or the address is not one: never the target's fault.
    Unreachable(String),
    /// A part of the way that is the harness's own failed, or was not there in time. It says nothing of the target, not even where
    /// its Gateway is gone.
    Hindered(String),
    /// There is no route to the address, says the network. It says so of a port that nobody serves too, so it is an answer where
    /// another port of the address answers.
    NoRoute {
        /// Where the dialer really tried to connect to.
        to: SocketAddr,
        /// In the words of the system.
        why: String,
    },
    /// The connection was refused or reset while connecting.
    ConnectRefused(String),
    /// Connecting took longer than the budget.
    ConnectTimedOut,
    /// The TLS handshake failed.
    Handshake(String),
    /// The connection ended or broke before a whole answer.
    Broken(String),
    /// What came is no answer of the protocol, or more than any answer may have.
    Malformed(String),
    /// No whole answer within the budget.
    TimedOut,
}

impl ProbeError {
    /// Why there was no way to the address, if that is why there is no answer.
    pub fn no_way(&self) -> Option<&str> {
        match self {
            ProbeError::Unreachable(why) | ProbeError::Hindered(why) | ProbeError::NoRoute { why, .. } => Some(why),
            ProbeError::ConnectRefused(_)
            | ProbeError::ConnectTimedOut
            | ProbeError::Handshake(_)
            | ProbeError::Broken(_)
            | ProbeError::Malformed(_)
            | ProbeError::TimedOut => None,
        }
    }
}
