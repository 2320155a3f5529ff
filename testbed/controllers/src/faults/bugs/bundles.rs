//! Bundles of authorities, and how many of them count.

use std::collections::BTreeSet;

use gateproof_proxy::config::{Authorities, Config};

use super::Bug;
use crate::faults::{Fault, Seam, clients::https, policies::encrypted, tools::serve};

/// What a certificate in PEM ends with.
const END: &str = "-----END CERTIFICATE-----";

/// Changes the bundles by which backends and clients are known.
fn change(config: &mut Config, change: fn(&mut String)) {
    for tls in encrypted(config) {
        if let Authorities::Pem(bundle) = &mut tls.authorities {
            change(bundle);
        }
    }
    https(config).filter_map(|listener| listener.clients.as_mut()).for_each(|of| change(&mut of.authorities));
}

/// The certificates of a bundle.
fn all(bundle: &str) -> Vec<&str> {
    bundle.split_inclusive(END).map(str::trim).filter(|part| part.ends_with(END)).collect()
}

fn keep_the_first(bundle: &mut String) {
    if let [first, _, ..] = *all(bundle) {
        *bundle = first.to_owned();
    }
}

/// Empties a bundle that has a certificate twice, so that it is none.
fn empty_with_doubles(bundle: &mut String) {
    let all = all(bundle);
    if all.iter().collect::<BTreeSet<_>>().len() < all.len() {
        bundle.clear();
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "reads-one-authority-of-a-bundle",
            summary: "Knows backends and clients by the first authority of a bundle alone.",
            clauses: &["OWN-60"],
            seam: Seam::Config(|| serve(|_, config| change(config, keep_the_first))),
        },
        reported: &["envoyproxy/envoy#10155", "caddyserver/caddy#5981"],
    },
    Bug {
        fault: Fault {
            name: "takes-bundles-with-doubles-for-broken",
            summary: "Believes nobody where a bundle of authorities has one of them twice.",
            clauses: &["OWN-60"],
            seam: Seam::Config(|| serve(|_, config| change(config, empty_with_doubles))),
        },
        reported: &["envoyproxy/gateway#8847"],
    },
];
