//! Placeholders: `${gw}`, `${host:other}`, `${port:http}` and the like, in any string of a manifest.

use std::fmt;

/// What a placeholder stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// `${gw}`: a whole parentRef of a pool Gateway.
    Gateway(String),
    /// `${gw.name}`.
    GatewayName(String),
    /// `${gw.namespace}`.
    GatewayNamespace(String),
    /// `${host}`, `${host:alias}`: a hostname of this run and scenario alone.
    Host(String),
    /// `${ns}`, `${ns:alias}`: a namespace of the scenario.
    Namespace(String),
    /// `${name:alias}`: a name for a cluster-scoped object.
    Name(String),
    /// `${class}`: the GatewayClass under test.
    Class,
    /// `${class:single}`: another class of the same controller, which takes one Gateway only.
    SingleClass,
    /// `${address}`: an address that Gateways of the class may ask for.
    Address,
    /// `${controller}`: its controller.
    Controller,
    /// `${port:alias}`: a listener port that the target permits, as a number.
    Port(String),
    /// `${token}`: a token of this run and scenario alone.
    Token,
    /// `${token:plain}`: the same in small letters and digits alone, for names that may have nothing else.
    PlainToken,
    /// `${ca:alias}`: the certificate of an authority of this run and scenario alone, in PEM.
    Authority(String),
    /// `${client:alias}`: the data of a TLS Secret with a client's certificate, signed by that authority;
    /// `${client:alias;name}` for one that has a DNS name.
    Client {
        /// Alias of the authority.
        authority: String,
        /// The name.
        name: Option<String>,
    },
    /// `${tls:host-alias}`: data of a TLS Secret for that host; `${tls:a,*.b,x.b}` for several, or for names below them;
    /// `${tls:host;chain;rsa}` for one that differs otherwise.
    Tls(Tls),
}

/// A certificate of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tls {
    /// What it is for.
    pub names: Vec<TlsName>,
    /// `chain`: signed by an authority that [`SIGNER`] has signed, whose certificate stands behind it. Otherwise by itself.
    pub is_signed: bool,
    /// `rsa`: with a key of RSA instead of one of elliptic curves.
    pub is_rsa: bool,
    /// When it is valid.
    pub validity: Validity,
}

/// Alias of the authority that signs those which sign certificates of servers, and whatever else says nothing of its own.
pub const SIGNER: &str = "ca";

/// Alias of an authority that nobody has to know.
pub const STRANGER: &str = "stranger";

/// When a certificate is valid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Validity {
    /// Now.
    #[default]
    Now,
    /// `expired`: no more.
    Over,
    /// `future`: not yet.
    ToCome,
}

impl Tls {
    fn read(text: &str) -> Option<Tls> {
        let mut words = text.split(';');
        let names = words.next()?.split(',').map(TlsName::read).collect();
        let mut tls = Tls { names, ..Tls::default() };
        for word in words {
            let is_new = match word {
                "chain" => !std::mem::replace(&mut tls.is_signed, true),
                "rsa" => !std::mem::replace(&mut tls.is_rsa, true),
                "expired" => std::mem::replace(&mut tls.validity, Validity::Over) == Validity::Now,
                "future" => std::mem::replace(&mut tls.validity, Validity::ToCome) == Validity::Now,
                _ => false,
            };
            if !is_new {
                return None;
            }
        }
        tls.names.iter().all(|name| !name.alias.is_empty()).then_some(tls)
    }
}

/// A name that a certificate is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TlsName {
    /// What stands before the hostname, such as `*.`; may be empty.
    pub prefix: String,
    /// Alias of the hostname.
    pub alias: String,
}

impl TlsName {
    fn read(text: &str) -> TlsName {
        let (prefix, alias) = text.split_at(text.rfind('.').map_or(0, |dot| dot + 1));
        TlsName { prefix: prefix.to_owned(), alias: alias.to_owned() }
    }
}

/// A piece of a string with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'t> {
    /// Text as it is.
    Text(&'t str),
    /// The inside of `${…}`.
    Slot(&'t str),
}

/// Why a placeholder cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// `${` without `}`.
    #[error("`${{` is never closed")]
    Open,
    /// Not a placeholder that there is.
    #[error("unknown placeholder `${{{0}}}`")]
    Unknown(String),
}

/// The pieces of a string.
///
/// # Errors
/// If a placeholder is not closed.
pub fn parts(text: &str) -> Result<Vec<Part<'_>>, TemplateError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        if start > 0 {
            parts.push(Part::Text(&rest[..start]));
        }
        let inside = &rest[start + 2..];
        let end = inside.find('}').ok_or(TemplateError::Open)?;
        parts.push(Part::Slot(&inside[..end]));
        rest = &inside[end + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Ok(parts)
}

/// The fixed words that placeholders begin with; Gateway aliases come on top.
pub const WORDS: [&str; 11] =
    ["host", "ns", "name", "class", "controller", "address", "port", "token", "tls", "ca", "client"];

/// Reads the inside of a placeholder. `is_gateway` says which aliases are Gateways.
///
/// # Errors
/// If there is no such placeholder.
pub fn slot(inside: &str, is_gateway: impl Fn(&str) -> bool) -> Result<Slot, TemplateError> {
    let (word, argument) = inside.split_once(':').map_or((inside, None), |(w, a)| (w, Some(a)));
    let unknown = || TemplateError::Unknown(inside.to_owned());
    let own = |argument: Option<&str>| match argument {
        Some("") => Err(unknown()),
        Some(alias) => Ok(alias.to_owned()),
        None => Err(unknown()),
    };
    match word {
        "host" => Ok(Slot::Host(argument.unwrap_or("host").to_owned())),
        "ca" => Ok(Slot::Authority(argument.map_or(Ok("ca".to_owned()), |alias| own(Some(alias)))?)),
        "client" => {
            let text = argument.unwrap_or("ca");
            let (alias, name) = text.split_once(';').map_or((text, None), |(alias, name)| (alias, Some(name)));
            Ok(Slot::Client { authority: own(Some(alias))?, name: name.map(|name| own(Some(name))).transpose()? })
        }
        "ns" => Ok(Slot::Namespace(argument.unwrap_or("ns").to_owned())),
        "tls" => Tls::read(argument.unwrap_or("host")).map(Slot::Tls).ok_or_else(unknown),
        "name" => Ok(Slot::Name(own(argument)?)),
        "port" => {
            let alias = own(argument)?;
            if is_port_alias(&alias) { Ok(Slot::Port(alias)) } else { Err(unknown()) }
        }
        "class" if argument.is_none() => Ok(Slot::Class),
        "class" if argument == Some("single") => Ok(Slot::SingleClass),
        "address" if argument.is_none() => Ok(Slot::Address),
        "controller" if argument.is_none() => Ok(Slot::Controller),
        "token" if argument.is_none() => Ok(Slot::Token),
        "token" if argument == Some("plain") => Ok(Slot::PlainToken),
        _ if argument.is_none() => {
            let (alias, field) = word.split_once('.').map_or((word, None), |(a, f)| (a, Some(f)));
            if !is_gateway(alias) {
                return Err(unknown());
            }
            match field {
                None => Ok(Slot::Gateway(alias.to_owned())),
                Some("name") => Ok(Slot::GatewayName(alias.to_owned())),
                Some("namespace") => Ok(Slot::GatewayNamespace(alias.to_owned())),
                Some(_) => Err(unknown()),
            }
        }
        _ => Err(unknown()),
    }
}

/// Port aliases: a protocol, with a number from 2 for further ports of it.
pub fn is_port_alias(alias: &str) -> bool {
    let (protocol, number) = alias.split_once('-').map_or((alias, None), |(p, n)| (p, Some(n)));
    matches!(protocol, "http" | "https" | "tcp" | "udp") && number.is_none_or(|n| matches!(n.as_bytes(), [b'2'..=b'9']))
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slot::Gateway(alias) => write!(f, "${{{alias}}}"),
            Slot::GatewayName(alias) => write!(f, "${{{alias}.name}}"),
            Slot::GatewayNamespace(alias) => write!(f, "${{{alias}.namespace}}"),
            Slot::Host(alias) => write!(f, "${{host:{alias}}}"),
            Slot::Authority(alias) => write!(f, "${{ca:{alias}}}"),
            Slot::Client { authority, name: None } => write!(f, "${{client:{authority}}}"),
            Slot::Client { authority, name: Some(name) } => write!(f, "${{client:{authority};{name}}}"),
            Slot::Namespace(alias) => write!(f, "${{ns:{alias}}}"),
            Slot::Name(alias) => write!(f, "${{name:{alias}}}"),
            Slot::Class => f.write_str("${class}"),
            Slot::SingleClass => f.write_str("${class:single}"),
            Slot::Address => f.write_str("${address}"),
            Slot::Controller => f.write_str("${controller}"),
            Slot::Port(alias) => write!(f, "${{port:{alias}}}"),
            Slot::Token => f.write_str("${token}"),
            Slot::PlainToken => f.write_str("${token:plain}"),
            Slot::Tls(Tls { names, is_signed, is_rsa, validity }) => {
                let names: Vec<String> = names.iter().map(|name| format!("{}{}", name.prefix, name.alias)).collect();
                let given = [
                    (*is_signed, ";chain"),
                    (*is_rsa, ";rsa"),
                    (*validity == Validity::Over, ";expired"),
                    (*validity == Validity::ToCome, ";future"),
                ];
                let words: String = given.into_iter().filter_map(|(given, word)| given.then_some(word)).collect();
                write!(f, "${{tls:{}{words}}}", names.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("gw", Slot::Gateway("gw".into()))]
    #[case("gw.name", Slot::GatewayName("gw".into()))]
    #[case("gw.namespace", Slot::GatewayNamespace("gw".into()))]
    #[case("host", Slot::Host("host".into()))]
    #[case("host:b", Slot::Host("b".into()))]
    #[case("ns", Slot::Namespace("ns".into()))]
    #[case("ns:b", Slot::Namespace("b".into()))]
    #[case("name:b", Slot::Name("b".into()))]
    #[case("port:tcp-2", Slot::Port("tcp-2".into()))]
    #[case("tls:host", Slot::Tls(Tls { names: vec![TlsName::read("host")], ..Tls::default() }))]
    #[case("tls:host;chain;rsa;expired", Slot::Tls(Tls {
        names: vec![TlsName::read("host")], is_signed: true, is_rsa: true, validity: Validity::Over,
    }))]
    #[case("tls:host;future", Slot::Tls(Tls {
        names: vec![TlsName::read("host")], validity: Validity::ToCome, ..Tls::default()
    }))]
    #[case("tls:a,*.b", Slot::Tls(Tls { names: vec![
        TlsName { prefix: String::new(), alias: "a".into() }, TlsName { prefix: "*.".into(), alias: "b".into() },
    ], ..Tls::default() }))]
    #[case("ca", Slot::Authority("ca".into()))]
    #[case("ca:b", Slot::Authority("b".into()))]
    #[case("client", Slot::Client { authority: "ca".into(), name: None })]
    #[case("client:b", Slot::Client { authority: "b".into(), name: None })]
    #[case("client:b;next", Slot::Client { authority: "b".into(), name: Some("next".into()) })]
    #[case("class", Slot::Class)]
    #[case("class:single", Slot::SingleClass)]
    #[case("address", Slot::Address)]
    #[case("token", Slot::Token)]
    #[case("token:plain", Slot::PlainToken)]
    fn slots_are_read(#[case] inside: &str, #[case] expected: Slot) {
        assert_eq!(slot(inside, |a| a == "gw").unwrap(), expected);
    }

    #[rstest]
    #[case("gv")]
    #[case("gw.port")]
    #[case("name")]
    #[case("name:")]
    #[case("port:sctp")]
    #[case("port:http-1")]
    #[case("class:x")]
    #[case("token:x")]
    #[case("tls:a,")]
    #[case("ca:")]
    #[case("client:")]
    #[case("client:;next")]
    #[case("client:b;")]
    #[case("tls:*.")]
    fn other_slots_are_refused(#[case] inside: &str) {
        assert!(slot(inside, |a| a == "gw").is_err());
    }

    #[test]
    fn strings_are_cut_at_placeholders() {
        let cut = parts("a${host}/b${token}").unwrap();
        assert_eq!(cut, [Part::Text("a"), Part::Slot("host"), Part::Text("/b"), Part::Slot("token")]);
        assert_eq!(parts("plain").unwrap(), [Part::Text("plain")]);
        assert_eq!(parts("a${b").unwrap_err(), TemplateError::Open);
    }
}
