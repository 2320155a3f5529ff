//! A domain, and all that is below it.

use std::collections::BTreeSet;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{is, listeners, say, written_listeners},
    },
    runtime::seams::Seen,
    snapshot::Kind,
    status::{Condition, StatusUpdate, Truth},
};

/// Takes a domain for one of those below it, where listeners of HTTPS tell whether they overlap.
fn count_domains_as_their_own(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
        let secure = written_listeners(seen.snapshot, &update.key.namespace, &update.key.name)
            .filter(|listener| listener["protocol"] == "HTTPS")
            .filter_map(|listener| {
                Some((listener["port"].as_u64()?, listener["hostname"].as_str()?, listener["name"].as_str()?))
            });
        let secure: Vec<(u64, &str, &str)> = secure.collect();
        let mut mistaken = BTreeSet::new();
        for (port, hostname, name) in &secure {
            let below = format!("*.{hostname}");
            for (_, _, other) in secure.iter().filter(|(of, wildcard, _)| of == port && *wildcard == below) {
                mistaken.extend([*name, *other]);
            }
        }
        let generation = update.generation;
        for listener in listeners(std::slice::from_mut(update)).filter(|of| mistaken.contains(of.name.as_str())) {
            if !is(&listener.conditions, "OverlappingTLSConfig", Truth::True) {
                let overlap =
                    Condition::new("OverlappingTLSConfig", true, "OverlappingHostnames", "it has the other one");
                listener.conditions.push(Condition { observed_generation: Some(generation), ..overlap });
            }
        }
    }
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "has-domains-overlap-with-what-is-below",
        summary: "Says OverlappingTLSConfig=True of listeners for a domain and for all that is below it.",
        clauses: &["GEP1364-16"],
        seam: Seam::Statuses(|| say(|seen, statuses| count_domains_as_their_own(seen, statuses))),
    },
    reported: &["nginx/nginx-gateway-fabric#4843"],
}];
