//! What is long, and what there is much of.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Hostname::Exact, RouteId, VirtualHost};

use serde_json::Value;

use super::{Bug, bystanders::Chokes, references::problems};
use crate::{
    faults::{
        Fault, Seam,
        tools::{each, find, hosts, parents, say, serve},
        writer::merge,
    },
    runtime::seams::{Seen, StatusesSeam},
    snapshot::Kind,
    status::{DesiredStatus, StatusUpdate, Truth},
};

/// The longest hostname, the most matches of one path, and as much of a name as it can do with.
const HOSTNAME: usize = 200;
const MATCHES: usize = 60;
const NAME: usize = 63;

/// So many routes may leave a listener without its losing count, and so many it can count.
const LEAVING: usize = 15;
const COUNT: u64 = 100;

/// Counts no further than it gets in one list.
fn count_one_page(status: &mut Value) {
    for listener in each(status, "/listeners") {
        if listener["attachedRoutes"].as_u64().is_some_and(|count| count > COUNT) {
            listener["attachedRoutes"] = COUNT.into();
        }
    }
}

/// Takes matches out of a route that come behind sixty others of the same path, with rules that had no others.
fn forget_matches(host: &mut VirtualHost) {
    let mut known: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    host.routes.retain_mut(|rule| {
        let takes_all = rule.matches.is_empty();
        let RouteId { namespace, name, .. } = &rule.id;
        rule.matches.retain(|one| {
            let seen = known.entry((namespace.clone(), name.clone(), format!("{:?}", one.path))).or_default();
            *seen += 1;
            *seen <= MATCHES
        });
        takes_all || !rule.matches.is_empty()
    });
}

/// Leaves a route out whose name begins as that of one before it in its namespace.
fn cut_names(host: &mut VirtualHost) {
    let mut known: BTreeMap<(String, String), String> = BTreeMap::new();
    host.routes.retain(|rule| {
        let RouteId { namespace, name, .. } = &rule.id;
        let begin = name.chars().take(NAME).collect();
        known.entry((namespace.clone(), begin)).or_insert_with(|| name.clone()) == name
    });
}

/// Says of every reference that does not resolve what is wrong with it, however many there are.
fn name_all_problems(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
        let messages: Vec<String> = problems(seen, update).into_iter().map(|problem| problem.message).collect();
        for parent in parents(std::slice::from_mut(update)) {
            if let Some(resolved) = find(&mut parent.conditions, "ResolvedRefs").filter(|of| of.status == Truth::False)
            {
                resolved.message = messages.join("; ");
            }
        }
    }
}

/// Counts one route too many at listeners that have lost a good many.
#[derive(Default)]
struct LosesCount(BTreeMap<(String, String), usize>);

impl StatusesSeam for LosesCount {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses {
            let (key, DesiredStatus::Gateway { listeners, .. }) = (&update.key, &mut update.status) else { continue };
            let Some(gateway) = seen.snapshot.get(Kind::Gateway, &key.namespace, &key.name) else { continue };
            for listener in listeners {
                let most = self.0.entry((gateway.meta.uid.clone(), listener.name.clone())).or_default();
                *most = listener.attached_routes.max(*most);
                if *most - listener.attached_routes > LEAVING {
                    listener.attached_routes += 1;
                }
            }
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "chokes-on-long-hosts",
            summary: "Takes no change up on a port where a route has a very long hostname.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| {
                Chokes::on(|rule| {
                    rule.hostnames.iter().any(|name| matches!(name, Exact(host) if host.len() > HOSTNAME))
                })
            }),
        },
        reported: &["nginx/nginx-gateway-fabric#632", "nginx/nginx-gateway-fabric#5033"],
    },
    Bug {
        fault: Fault {
            name: "forgets-matches-beyond-sixty",
            summary: "Has no more than sixty matches of a route for one path.",
            clauses: &["upstream:HTTPRouteHeaderMatching"],
            seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(forget_matches))),
        },
        reported: &["nginx/nginx-gateway-fabric#1107"],
    },
    Bug {
        fault: Fault {
            name: "cuts-names-of-routes",
            summary: "Takes two routes for one if the first 63 characters of their names are the same.",
            clauses: &["blind:GatewayNameMaximumLength.3", "GEP1364-14"],
            seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(cut_names))),
        },
        reported: &["apache/apisix-ingress-controller#2311"],
    },
    Bug {
        fault: Fault {
            name: "loses-status-with-many-problems",
            summary: "Names every reference that does not resolve in a message, which the API server may find too long to take.",
            clauses: &["IMPL-35"],
            seam: Seam::Statuses(|| say(|seen, statuses| name_all_problems(seen, statuses))),
        },
        reported: &["envoyproxy/gateway#7146", "apache/apisix-ingress-controller#2816"],
    },
    Bug {
        fault: Fault {
            name: "miscounts-mass-deletions",
            summary: "Counts one route too many at a listener that has lost more than fifteen.",
            clauses: &["blind:Generic.13"],
            seam: Seam::Statuses(|| Box::<LosesCount>::default()),
        },
        reported: &["kgateway-dev/kgateway#10966"],
    },
    Bug {
        fault: Fault {
            name: "counts-to-a-hundred",
            summary: "Counts no more than a hundred routes of a listener.",
            clauses: &["blind:Generic.13"],
            seam: Seam::StatusWriter(|inner| merge(inner, |_, _, status| count_one_page(status))),
        },
        reported: &["Kong/kubernetes-ingress-controller#4052"],
    },
];
