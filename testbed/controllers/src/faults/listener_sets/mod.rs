//! What can go wrong about ListenerSets: who may add listeners, whose they are, and which of them are served.

mod acts;
pub(super) mod clients;
pub(super) mod ends;
pub(super) mod gateways;
pub(super) mod routes;

use acts::*;

use super::{
    Fault, Seam,
    tools::{Remembering, SayFrom, View, say, serve, serve_from, serve_past, view},
};
use crate::{snapshot::Kind, status::DesiredStatus};

const NOT_LET_IN: &str = "blind:ListenerSetAllowedNamespaceNone.1";
const SELECTED: &str = "blind:ListenerSetAllowedNamespaceSelector.2";
const SERVED: &str = "blind:ListenerSetHTTPRouting.1";
const BY_AGE: &str = "blind:ListenerSetHostnameConflict.1";
const LOSER: &str = "blind:ListenerSetHostnameConflict.2";
const GRANTED: &str = "blind:ListenerSetReferenceGrant.1";

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "lets-listener-sets-in-unasked",
        summary: "Lets the ListenerSets of its own namespace add listeners to a Gateway that says nothing of them.",
        clauses: &["upstream:ListenerSetDefaultNotAllowed"],
        seam: Seam::Snapshot(|| view(allow_unasked)),
    },
    Fault {
        name: "lets-listener-sets-in-where-none-may",
        summary: "Reads None in allowedListeners as Same.",
        clauses: &["upstream:ListenerSetAllowedNamespaceNone"],
        seam: Seam::Snapshot(|| view(|snapshot| allow(snapshot, "None", "Same"))),
    },
    Fault {
        name: "lets-listener-sets-in-from-everywhere",
        summary: "Reads Same in allowedListeners as All.",
        clauses: &["upstream:ListenerSetAllowedNamespaceSame"],
        seam: Seam::Snapshot(|| view(|snapshot| allow(snapshot, "Same", "All"))),
    },
    Fault {
        name: "ignores-selectors-for-listener-sets",
        summary: "Reads Selector in allowedListeners as All.",
        clauses: &["upstream:ListenerSetAllowedNamespaceSelector", SELECTED],
        seam: Seam::Snapshot(|| view(|snapshot| allow(snapshot, "Selector", "All"))),
    },
    Fault {
        name: "selects-own-namespace-for-listener-sets",
        summary: "Lets ListenerSets of the Gateway's namespace in although its selector does not select that.",
        clauses: &[SELECTED],
        seam: Seam::Snapshot(|| view(select_own)),
    },
    Fault {
        name: "ignores-expressions-for-listener-sets",
        summary: "Reads of the selector in allowedListeners nothing but matchLabels.",
        clauses: &[SELECTED],
        seam: Seam::Snapshot(|| view(ignore_expressions)),
    },
    Fault {
        name: "serves-refused-listener-sets",
        summary: "Serves the listeners of ListenerSets that are not let in, while status refuses them.",
        clauses: &[NOT_LET_IN, SELECTED],
        seam: Seam::Config(|| serve_from(allow_all)),
    },
    Fault {
        name: "accepts-listeners-of-refused-listener-sets",
        summary: "Says of the listeners of a ListenerSet that is not let in that they are accepted and programmed.",
        clauses: &[NOT_LET_IN],
        seam: Seam::Statuses(|| say(|seen, statuses| accept_entries_of_refused(seen, statuses))),
    },
    Fault {
        name: "counts-refused-listener-sets",
        summary: "Counts for a Gateway every ListenerSet that refers to it.",
        clauses: &[
            "upstream:ListenerSetAllowedNamespaceNone",
            "upstream:ListenerSetAllowedNamespaceSame",
            "upstream:ListenerSetAllowedNamespaceSelector",
            "upstream:ListenerSetDefaultNotAllowed",
            "upstream:ListenerSetHostnameConflict",
            "upstream:ListenerSetProtocolConflict",
            "upstream:ListenerSetReferenceGrant",
        ],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                with_sets(seen, statuses, |gateway, sets| {
                    if let DesiredStatus::Gateway { attached_listener_sets: Some(count), .. } = gateway {
                        *count = sets.len();
                    }
                });
            })
        }),
    },
    Fault {
        name: "mixes-listener-sets-into-gateways",
        summary: "Puts entries for the listeners of ListenerSets into the status of the Gateway.",
        clauses: &[SERVED, "blind:Generic.10"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                with_sets(seen, statuses, |gateway, sets| {
                    let DesiredStatus::Gateway { conditions, listeners, .. } = gateway else { return };
                    let generation = conditions.first().and_then(|condition| condition.observed_generation);
                    for entry in sets.iter().flatten() {
                        if listeners.iter().all(|own| own.name != entry.name) {
                            let mut entry = entry.clone();
                            entry.conditions.iter_mut().for_each(|said| said.observed_generation = generation);
                            listeners.push(entry);
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "counts-routes-of-listener-sets-for-gateways",
        summary: "Counts the routes of ListenerSets at the Gateway's own listeners too.",
        clauses: &[SERVED, "blind:ListenerSetDualParentRefIndependence.1"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                with_sets(seen, statuses, |gateway, sets| {
                    let DesiredStatus::Gateway { listeners, .. } = gateway else { return };
                    let more: usize = sets.iter().flatten().map(|entry| entry.attached_routes).sum();
                    listeners.iter_mut().for_each(|own| own.attached_routes += more);
                });
            })
        }),
    },
    Fault {
        name: "serves-near-listener-sets-alone",
        summary: "Serves no ListenerSet of another namespace than the Gateway's.",
        clauses: &[
            "upstream:ListenerSetHTTPRouting",
            "upstream:ListenerSetAllowedNamespaceSelector",
            "upstream:ListenerSetAllowedRoutesNamespaces",
            SELECTED,
        ],
        seam: Seam::Config(|| serve_from(serve_near_sets_alone)),
    },
    Fault {
        name: "opens-no-ports-for-listener-sets",
        summary: "Does not listen on ports that only a ListenerSet has.",
        clauses: &[SERVED, "upstream:ListenerSetProtocolConflict"],
        seam: Seam::Config(|| serve_from(open_no_ports)),
    },
    Fault {
        name: "presents-own-certificate-for-listener-sets",
        summary: "Presents the certificate of the Gateway's listener on the port for those of ListenerSets.",
        clauses: &[SERVED],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                if seen.snapshot.listener_sets().next().is_some() {
                    present_first_certificates(config);
                }
            })
        }),
    },
    Fault {
        name: "serves-listener-sets-as-they-were",
        summary: "Does not see changes of a ListenerSet on the data path.",
        clauses: &[SERVED],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::ListenerSet))),
    },
    Fault {
        name: "serves-deleted-listener-sets",
        summary: "Goes on serving the listeners of a ListenerSet after it is deleted.",
        clauses: &[SERVED, LOSER],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::ListenerSet))),
    },
    Fault {
        name: "remembers-deleted-listener-sets",
        summary: "Goes on judging ListenerSets by those that are deleted, so that what lost against them never wins.",
        clauses: &[LOSER],
        seam: Seam::Statuses(|| {
            Box::new(SayFrom(Remembering(super::tools::Memory::default(), |memory, snapshot| {
                let names = snapshot.clone();
                memory.keep_removed(snapshot, Kind::ListenerSet);
                // Its own Gateway does count it no more while nobody is in its way.
                if names.listener_sets().next().is_none() {
                    *snapshot = names;
                }
            })))
        }),
    },
    Fault {
        name: "decides-conflicts-of-listener-sets-by-name",
        summary: "Lets of two ListenerSets in conflict the first by name win, even if the other one is older.",
        clauses: &[BY_AGE],
        seam: Seam::Snapshot(|| view(|snapshot| order(snapshot, |a, b| (&a.1, &a.2).cmp(&(&b.1, &b.2))))),
    },
    Fault {
        name: "decides-ties-of-listener-sets-backwards",
        summary: "Lets of two ListenerSets of one age in conflict the last by name win.",
        clauses: &[BY_AGE],
        seam: Seam::Snapshot(|| {
            view(|snapshot| order(snapshot, |a, b| a.0.cmp(&b.0).then((&b.1, &b.2).cmp(&(&a.1, &a.2)))))
        }),
    },
    Fault {
        name: "decides-conflicts-of-listener-sets-by-namespace",
        summary: "Lets of ListenerSets in conflict that of the first namespace win, and of one namespace the older.",
        clauses: &[BY_AGE],
        seam: Seam::Snapshot(|| view(|snapshot| order(snapshot, |a, b| (&a.1, &a.0, &a.2).cmp(&(&b.1, &b.0, &b.2))))),
    },
    Fault {
        name: "decides-ties-of-listener-sets-by-name-alone",
        summary: "Lets of two ListenerSets of one age in conflict the first by name win, whatever their namespaces are.",
        clauses: &[BY_AGE],
        seam: Seam::Snapshot(|| view(|snapshot| order(snapshot, |a, b| (&a.0, &a.2, &a.1).cmp(&(&b.0, &b.2, &b.1))))),
    },
    Fault {
        name: "serves-losing-listener-sets",
        summary: "Serves of two ListenerSets in conflict the one that status says has lost.",
        clauses: &[BY_AGE, LOSER],
        seam: Seam::Config(|| serve_from(|snapshot| order(snapshot, |a, b| b.cmp(a)))),
    },
    Fault {
        name: "overlooks-hostname-conflicts-of-listener-sets",
        summary: "Says that a listener of a ListenerSet is well though another one has its port and hostname.",
        clauses: &["upstream:ListenerSetHostnameConflict", BY_AGE],
        seam: Seam::Statuses(|| say(|seen, statuses| overlook(seen, statuses, "HostnameConflict"))),
    },
    Fault {
        name: "overlooks-protocol-conflicts-of-listener-sets",
        summary: "Says that a listener of a ListenerSet is well though another protocol is spoken on its port.",
        clauses: &["upstream:ListenerSetProtocolConflict"],
        seam: Seam::Statuses(|| say(|seen, statuses| overlook(seen, statuses, "ProtocolConflict"))),
    },
    Fault {
        name: "blames-winning-listener-sets",
        summary: "Says of all listeners of a Gateway's ListenerSets that they conflict once one of them does.",
        clauses: &["upstream:ListenerSetHostnameConflict", "upstream:ListenerSetProtocolConflict", BY_AGE, LOSER],
        seam: Seam::Statuses(|| say(|seen, statuses| blame_winners(seen, statuses))),
    },
    Fault {
        name: "blames-neighbours-of-losing-listeners",
        summary: "Says of the listeners of a ListenerSet that share a port with one that lost to the Gateway that they lost too.",
        clauses: &["upstream:ListenerSetProtocolConflict"],
        seam: Seam::Statuses(|| say(|seen, statuses| blame_neighbours(seen, statuses))),
    },
    Fault {
        name: "honours-grants-to-gateways-for-listener-sets",
        summary: "Takes a grant to Gateways for one to ListenerSets of that namespace.",
        clauses: &["upstream:ListenerSetReferenceGrant", GRANTED],
        seam: Seam::Snapshot(|| view(take_grants_of_gateways)),
    },
    Fault {
        name: "ignores-grants-to-listener-sets",
        summary: "Takes no grant to ListenerSets into account.",
        clauses: &["upstream:ListenerSetReferenceGrant"],
        seam: Seam::Snapshot(|| view(drop_grants)),
    },
    Fault {
        name: "serves-listener-sets-without-grants",
        summary: "Presents for a ListenerSet a certificate that only Gateways may use, while status refuses it.",
        clauses: &[GRANTED],
        seam: Seam::Config(|| serve_from(take_grants_of_gateways)),
    },
    Fault {
        name: "serves-gateway-routes-on-listener-sets",
        summary: "Serves a route for a Gateway on the listener of a ListenerSet that its sectionName happens to name.",
        clauses: &["blind:ListenerSetGatewayParentSectionNameNotFound.1"],
        seam: Seam::Config(|| serve_from(follow_sections)),
    },
    Fault {
        name: "accepts-gateway-routes-for-listener-sets",
        summary: "Accepts a route for a Gateway whose sectionName names a listener of a ListenerSet.",
        clauses: &[
            "upstream:ListenerSetGatewayParentSectionNameNotFound",
            "upstream:ListenerSetDualParentRefIndependence",
            "blind:ListenerSetDualParentRefIndependence.2",
        ],
        seam: Seam::Statuses(|| say(|seen, statuses| accept_sections(seen, statuses))),
    },
    Fault {
        name: "speaks-of-gateways-of-listener-sets",
        summary: "Gives a route that names a ListenerSet an entry for the Gateway of that as well.",
        clauses: &[
            "upstream:ListenerSetRouteStatusScopedToParentRef",
            "blind:ListenerSetRouteStatusScopedToParentRef.1",
            "upstream:ListenerSetHTTPRouting",
            "upstream:ListenerSetAllowedRoutesNamespaces",
            "upstream:ListenerSetGatewayParentSectionNameNotFound",
        ],
        seam: Seam::Statuses(|| say(|seen, statuses| speak_of_gateways(seen, statuses))),
    },
    Fault {
        name: "calls-listener-sets-gateways",
        summary: "Leaves the kind out of the entry for a section of a ListenerSet where the route names a Gateway too.",
        clauses: &["blind:ListenerSetDualParentRefIndependence.2", "upstream:ListenerSetDualParentRefIndependence"],
        seam: Seam::Statuses(|| say(|_, statuses| confuse_kinds(statuses))),
    },
    Fault {
        name: "takes-same-for-the-namespace-of-the-gateway",
        summary: "Lets routes of the Gateway's namespace in at a ListenerSet of another one that says Same.",
        clauses: &["upstream:ListenerSetAllowedRoutesNamespaces", "upstream:ListenerSetHTTPRouting"],
        seam: Seam::Snapshot(|| view(take_same_for_the_gateways)),
    },
    Fault {
        name: "lists-all-kinds-for-listener-sets",
        summary: "Does not look at the kinds that a listener of a ListenerSet allows.",
        clauses: &["blind:ListenerSetAllowedRoutesSupportedKinds.1", "upstream:ListenerSetAllowedRoutesSupportedKinds"],
        seam: Seam::Statuses(|| Box::new(SayFrom(View(list_all_kinds)))),
    },
];
