//! Which certificates listeners present.

use gateproof_proxy::config::{Admits, ClientValidation, Config, Hostname, Listener, Protocol, Refuses, TlsListener};

use crate::faults::{
    Fault, Seam,
    own_certificates::keep_first,
    snapshot::grant_everything,
    tools::{serve, serve_past},
};
use crate::runtime::seams::Seen;

/// Has every HTTPS listener of a port present the certificates that `choose` finds among all of them.
fn present(config: &mut Config, choose: fn(&[TlsListener], &TlsListener) -> Option<usize>) {
    for listener in &mut config.listeners {
        let Protocol::Https(all) = &mut listener.protocol else { continue };
        let before = all.clone();
        for one in all {
            if let Some(other) = choose(&before, one) {
                one.certificates.clone_from(&before[other].certificates);
            }
        }
    }
}

/// The listener of a wildcard that covers the hostname of another.
fn wildcard_over(all: &[TlsListener], one: &TlsListener) -> Option<usize> {
    let Hostname::Exact(host) = &one.virtual_host.hostname else { return None };
    all.iter().position(|other| match &other.virtual_host.hostname {
        Hostname::Wildcard(suffix) => host.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.ends_with('.')),
        _ => false,
    })
}

/// Listens for what no ReferenceGrant permits, too, by the lanes that there would be with one.
fn serve_forbidden(seen: Seen<'_>, config: &mut Config, change: fn(&mut TlsListener)) {
    let otherwise = seen.otherwise(grant_everything).config.listeners;
    let is_new = |lane: &Listener| {
        matches!(lane.protocol, Protocol::Https(_))
            && !config.listeners.iter().any(|known| (known.address, known.port) == (lane.address, lane.port))
    };
    let mut new: Vec<Listener> = otherwise.into_iter().filter(is_new).collect();
    for lane in &mut new {
        if let Protocol::Https(all) = &mut lane.protocol {
            all.iter_mut().for_each(change);
        }
    }
    config.listeners.extend(new);
}

/// Ends connections behind their handshake: nobody shows a certificate of their own.
fn break_off(listener: &mut TlsListener) {
    let (admits, refuses) = (Admits::Shown, Refuses::BehindHandshake);
    listener.clients = Some(ClientValidation { authorities: String::new(), admits, refuses });
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "presents-one-certificate-per-port",
        summary: "Presents the certificate of the first HTTPS listener of a port for all of them.",
        clauses: &["blind:HTTPRouteHTTPSListener.1"],
        seam: Seam::Config(|| serve(|_, config| present(config, |all, _| (!all.is_empty()).then_some(0)))),
    },
    Fault {
        name: "presents-wildcard-certificates-first",
        summary: "Presents the certificate of a wildcard listener where another listener fits the server name exactly.",
        clauses: &["blind:HTTPRouteHTTPSListener.1"],
        seam: Seam::Config(|| serve(|_, config| present(config, wildcard_over))),
    },
    Fault {
        name: "keeps-old-certificates",
        summary: "Goes on presenting a certificate that was renewed in its Secret.",
        clauses: &["blind:HTTPRouteHTTPSListener.2"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_first(memory, snapshot, false))),
    },
    Fault {
        name: "keeps-certificate-references",
        summary: "Goes on presenting the certificate that a listener referred to at first.",
        clauses: &["blind:GatewayModifyListeners.2"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first_of_listeners(snapshot, "tls"))),
    },
    Fault {
        name: "serves-forbidden-certificates",
        summary: "Serves a certificate from another namespace that no ReferenceGrant permits.",
        clauses: &["blind:GatewaySecretMissingReferenceGrant.1"],
        seam: Seam::Config(|| serve(|seen, config| serve_forbidden(seen, config, |_| {}))),
    },
    Fault {
        name: "breaks-off-behind-forbidden-certificates",
        summary: "Presents a certificate from another namespace that no ReferenceGrant permits, and answers nothing behind it.",
        clauses: &["blind:GatewaySecretMissingReferenceGrant.1"],
        seam: Seam::Config(|| serve(|seen, config| serve_forbidden(seen, config, break_off))),
    },
];
