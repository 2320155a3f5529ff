//! What the operator of the implementation decides.

use std::net::IpAddr;

/// Which contract the statuses keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// As the design document has it: the reason of a lone error is the condition's own, several are `MultipleReasons`, and what is
    /// wrong is told of everything at once.
    Design,
    /// As it is shipped.
    #[default]
    Current,
}

impl Edition {
    /// That of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Edition> {
        match name {
            "design" => Some(Edition::Design),
            "current" => Some(Edition::Current),
            _ => None,
        }
    }
}

/// Settings of the implementation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which contract the statuses keep.
    pub edition: Edition,
    /// Where it serves, and what it says of that in every status (`--ingress-status-address`).
    pub address: IpAddr,
    /// The port for clear text.
    pub http: u16,
    /// The port for TLS.
    pub https: u16,
    /// The class of proxies that it serves beside those without one (`--ingress-class-name`).
    pub class: String,
    /// What namespaces are called at the end in which there are no roots; not given: there may be roots anywhere. Contour is told those
    /// that may have some (`--root-namespaces`), of which nobody knows the names while a run makes them up.
    pub rootless: Option<String>,
    /// What namespaces are called at the end of which Services that are names of others are taken (`enableExternalNameService`); not given:
    /// those of none. Contour takes them everywhere or nowhere.
    pub named: Option<String>,
    /// The Secret for handshakes without a name (`tls.fallback-certificate`), as `namespace/name`, by what the namespaces are called at
    /// the end whose roots have it. Contour is told one for all of them.
    pub fallbacks: Vec<(String, String)>,
}

impl Settings {
    /// As shipped, at an address.
    #[must_use]
    pub fn at(address: IpAddr) -> Settings {
        let class = "contour".to_owned();
        let (edition, fallbacks) = (Edition::Current, Vec::new());
        Settings { edition, address, http: 80, https: 443, class, rootless: None, named: None, fallbacks }
    }

    /// Whether Services of a namespace are taken that are names of others.
    #[must_use]
    pub fn takes_names(&self, namespace: &str) -> bool {
        self.named.as_ref().is_some_and(|end| namespace.ends_with(end.as_str()))
    }

    /// The Secret for handshakes without a name that the roots of a namespace have.
    #[must_use]
    pub fn fallback(&self, namespace: &str) -> Option<&str> {
        let of = self.fallbacks.iter().find(|(end, _)| namespace.ends_with(end.as_str()));
        of.map(|(_, secret)| secret.as_str())
    }
}
