//! How a probe gets from an address in a status to a connection: directly, by a static map, through a proxy; by port-forward in
//! [`super::forward`].

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::proxy::Proxy;
pub use super::way::DialError;
use super::way::{halves, in_time};

/// Opens connections to addresses of the target. The seam under every protocol.
#[async_trait]
pub trait Dialer: Send + Sync {
    /// Connects to the address and port that the target's status names, until `end` at the latest. Where it is our own way there that
    /// takes longer, such as a proxy or the API server, nothing is known of the target: [`DialError::Hindered`].
    async fn dial(&self, host: &str, port: u16, end: Instant) -> Result<Connection, DialError>;

    /// Where datagrams for the address and port are to be sent. Most ways carry streams alone.
    async fn datagrams(&self, host: &str, port: u16, _: Instant) -> Result<SocketAddr, DialError> {
        Err(DialError::Unreachable(format!("{host}:{port}: there is no way for datagrams")))
    }

    /// What a user can do if it does not get there.
    fn advice(&self) -> &'static str;
}

/// Bytes both ways.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// An open connection.
pub struct Connection {
    /// Its bytes.
    pub stream: Box<dyn Stream>,
    /// Who is at its other end, as far as that is known.
    pub peer: Option<SocketAddr>,
}

/// Within an I/O error: our own way to the target broke, which is not the target's doing.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WayLost(pub String);

/// A rule of the static map, `HOST:PORT=ADDR:PORT`. On the left `*` matches anything; on the right `*` keeps what was
/// asked for, and the port `+N` adds N to it. IPv6 addresses stand in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialRule {
    host: Option<String>,
    port: Option<u16>,
    to_host: Option<String>,
    to_port: ToPort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToPort {
    Keep,
    Fixed(u16),
    Plus(u16),
}

/// Why a rule is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` is not a dial rule HOST:PORT=ADDR:PORT: {problem}")]
pub struct DialRuleError {
    /// The text.
    pub rule: String,
    /// What is wrong.
    pub problem: String,
}

impl FromStr for DialRule {
    type Err = DialRuleError;

    fn from_str(rule: &str) -> Result<DialRule, DialRuleError> {
        let wrong = |problem: String| DialRuleError { rule: rule.to_owned(), problem };
        let (from, to) = rule.split_once('=').ok_or_else(|| wrong("there is no `=`".to_owned()))?;
        let (host, port) = halves(from).map_err(wrong)?;
        let (to_host, to_port) = halves(to).map_err(wrong)?;
        let number = |text: &str| {
            // The number parser of the standard library would take a sign.
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let port = text.parse::<u16>().ok().filter(|_| digits);
            port.ok_or_else(|| wrong(format!("`{text}` is not a port")))
        };
        let to_port = match to_port {
            "*" => ToPort::Keep,
            text => match text.strip_prefix('+') {
                Some(offset) => ToPort::Plus(number(offset)?),
                None => ToPort::Fixed(number(text)?),
            },
        };
        Ok(DialRule {
            host: (host != "*").then(|| host.to_owned()),
            port: if port == "*" { None } else { Some(number(port)?) },
            to_host: (to_host != "*").then(|| to_host.to_owned()),
            to_port,
        })
    }
}

/// As it is read back.
impl fmt::Display for DialRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = |host: &Option<String>| match host.as_deref() {
            None => "*".to_owned(),
            Some(address) if address.contains(':') => format!("[{address}]"),
            Some(name) => name.to_owned(),
        };
        let port = self.port.map_or_else(|| "*".to_owned(), |port| port.to_string());
        write!(f, "{}:{port}={}:", host(&self.host), host(&self.to_host))?;
        match self.to_port {
            ToPort::Keep => write!(f, "*"),
            ToPort::Fixed(port) => write!(f, "{port}"),
            ToPort::Plus(offset) => write!(f, "+{offset}"),
        }
    }
}

impl DialRule {
    /// Where to connect instead, if the rule matches and the port stays one.
    pub fn map(&self, host: &str, port: u16) -> Option<(String, u16)> {
        if self.host.as_deref().is_some_and(|own| !own.eq_ignore_ascii_case(host))
            || self.port.is_some_and(|own| own != port)
        {
            return None;
        }
        let to_port = match self.to_port {
            ToPort::Keep => port,
            ToPort::Fixed(port) => port,
            ToPort::Plus(offset) => port.checked_add(offset)?,
        };
        Some((self.to_host.clone().unwrap_or_else(|| host.to_owned()), to_port))
    }
}

/// Connects from this host, after the first rule that matches, straight or through a proxy.
#[derive(Debug, Clone, Default)]
pub struct StaticDialer {
    rules: Vec<DialRule>,
    proxy: Option<Proxy>,
}

impl StaticDialer {
    /// With these rules, in order; with none it connects to the very address.
    pub fn new(rules: Vec<DialRule>) -> StaticDialer {
        StaticDialer { rules, proxy: None }
    }

    /// By way of a proxy, if there is one.
    #[must_use]
    pub fn through(self, proxy: Option<Proxy>) -> StaticDialer {
        StaticDialer { proxy, ..self }
    }

    fn map(&self, host: &str, port: u16) -> (String, u16) {
        self.rules.iter().find_map(|rule| rule.map(host, port)).unwrap_or_else(|| (host.to_owned(), port))
    }
}

#[async_trait]
impl Dialer for StaticDialer {
    async fn dial(&self, host: &str, port: u16, end: Instant) -> Result<Connection, DialError> {
        let (host, port) = self.map(host, port);
        let Some(proxy) = &self.proxy else { return straight(&host, port, end).await.map(Connection::of) };
        let stream = match straight(&proxy.host, proxy.port, end).await {
            // Whoever refuses here is not the target.
            Err(error) => return Err(DialError::Hindered(format!("the proxy {proxy}: {error}"))),
            Ok(stream) => stream,
        };
        let tunnel = proxy.tunnel(stream, &host, port);
        let tunnel = in_time(end, tunnel, || format!("the proxy {proxy} did not connect to {host}:{port} in time"));
        tunnel.await?.map(Connection::of)
    }

    async fn datagrams(&self, host: &str, port: u16, end: Instant) -> Result<SocketAddr, DialError> {
        let (host, port) = self.map(host, port);
        if let Some(proxy) = &self.proxy {
            return Err(DialError::Unreachable(format!("the proxy {proxy} carries no datagrams")));
        }
        let unreachable = |why: &dyn fmt::Display| DialError::Unreachable(format!("{host}:{port}: {why}"));
        let mut found = look_up(&host, port, end).await?;
        found.next().ok_or_else(|| unreachable(&"the name has no address"))
    }

    fn advice(&self) -> &'static str {
        "if the address cannot be reached from here, say how with --dial HOST:PORT=ADDR:PORT, go through the API server with \
         --port-forward, or run within the cluster"
    }
}

impl Connection {
    fn of(stream: TcpStream) -> Connection {
        let peer = stream.peer_addr().ok();
        Connection { stream: Box::new(stream), peer }
    }
}

/// The addresses of a name.
async fn look_up(host: &str, port: u16, end: Instant) -> Result<impl Iterator<Item = SocketAddr>, DialError> {
    let found =
        in_time(end, tokio::net::lookup_host((host, port)), || format!("{host}:{port}: no name server in time"));
    found.await?.map_err(|error| DialError::Unreachable(format!("{host}:{port}: {error}")))
}

/// A connection to a host of which the name is looked up here.
async fn straight(host: &str, port: u16, end: Instant) -> Result<TcpStream, DialError> {
    let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => look_up(host, port, end).await?.collect(),
    };
    let mut last = DialError::Unreachable(format!("{host}:{port}: the name has no address"));
    for address in addresses {
        match tokio::time::timeout_at(end, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).map_err(DialError::Refused)?;
                return Ok(stream);
            }
            Ok(Err(error)) => last = not_connected(address, error),
            Err(_) => return Err(DialError::TimedOut),
        }
    }
    Err(last)
}

/// What it means that a connection did not come about.
fn not_connected(to: SocketAddr, error: std::io::Error) -> DialError {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
            DialError::Refused(error)
        }
        ErrorKind::HostUnreachable => DialError::NoRoute { to, why: error },
        ErrorKind::NetworkUnreachable => DialError::Unreachable(format!("{to}: {error}")),
        ErrorKind::TimedOut => DialError::TimedOut,
        _ => DialError::Hindered(format!("{to}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::ErrorKind;
    use std::time::Duration;

    use rstest::rstest;
    use tokio::net::TcpSocket;

    use super::*;
    use crate::cluster::clock;

    #[rstest]
    #[case("*:*=127.0.0.1:*", "10.0.0.1", 80, Some(("127.0.0.1", 80)))]
    #[case("*:*=*:+20000", "127.0.1.2", 80, Some(("127.0.1.2", 20080)))]
    #[case("*:80=127.0.0.1:8080", "10.0.0.1", 80, Some(("127.0.0.1", 8080)))]
    #[case("*:80=127.0.0.1:8080", "10.0.0.1", 443, None)]
    #[case("a.example:80=b:81", "A.Example", 80, Some(("b", 81)))]
    #[case("[::1]:80=[::2]:81", "::1", 80, Some(("::2", 81)))]
    #[case("*:*=*:+60000", "a", 9000, None)]
    fn rules_map(#[case] rule: &str, #[case] host: &str, #[case] port: u16, #[case] expected: Option<(&str, u16)>) {
        let mapped = rule.parse::<DialRule>().unwrap().map(host, port);
        assert_eq!(mapped, expected.map(|(host, port)| (host.to_owned(), port)));
    }

    #[rstest]
    #[case("a:80", "there is no `=`")]
    #[case("a=b:80", "`a` has no port")]
    #[case("a:80=b:eighty", "`eighty` is not a port")]
    #[case("a:70000=b:80", "`70000` is not a port")]
    #[case("::1:80=b:80", "the IPv6 address `::1` needs brackets")]
    #[case(":80=b:80", "`:80` has no host")]
    #[case("a:+80=b:80", "`+80` is not a port")]
    #[case("a:80=b:++80", "`+80` is not a port")]
    #[case("a:80= b:80", "the host ` b` has white space in it")]
    fn wrong_rules_are_errors(#[case] rule: &str, #[case] problem: &str) {
        assert_eq!(rule.parse::<DialRule>().unwrap_err().problem, problem);
    }

    #[test]
    fn the_first_matching_rule_wins() {
        let rules = ["*:80=one:1", "*:*=two:2"].map(|rule| rule.parse().unwrap());
        let dialer = StaticDialer::new(rules.to_vec());
        assert_eq!(dialer.map("x", 80), ("one".to_owned(), 1));
        assert_eq!(dialer.map("x", 81), ("two".to_owned(), 2));
        assert_eq!(StaticDialer::default().map("x", 81), ("x".to_owned(), 81));
    }

    /// Whoever neither takes nor refuses a connection is silent, and that is no fault of our way there.
    #[tokio::test]
    async fn who_says_nothing_when_called_has_timed_out() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let port = listener.local_addr().unwrap().port();
        let soon = || clock::now() + Duration::from_millis(100);
        // Nobody accepts, so there is room for a few.
        let mut waiting = Vec::new();
        let refused = loop {
            match StaticDialer::default().dial("127.0.0.1", port, soon()).await {
                Ok(connection) if waiting.len() < 100 => waiting.push(connection),
                other => break other.err(),
            }
        };
        assert!(matches!(refused, Some(DialError::TimedOut)), "{refused:?}");
    }

    #[rstest]
    #[case::refused(ErrorKind::ConnectionRefused, "refused")]
    #[case::reset(ErrorKind::ConnectionReset, "refused")]
    #[case::no_route(ErrorKind::HostUnreachable, "no route")]
    #[case::no_network_here(ErrorKind::NetworkUnreachable, "no way")]
    #[case::silent(ErrorKind::TimedOut, "silent")]
    #[case::ours(ErrorKind::PermissionDenied, "ours")]
    fn what_keeps_from_connecting_is_told_apart(#[case] kind: ErrorKind, #[case] meaning: &str) {
        let told = match not_connected("10.0.0.1:80".parse().unwrap(), kind.into()) {
            DialError::Refused(_) => "refused",
            DialError::NoRoute { .. } => "no route",
            DialError::Unreachable(_) => "no way",
            DialError::Hindered(_) => "ours",
            DialError::TimedOut => "silent",
        };
        assert_eq!(told, meaning);
    }
}
