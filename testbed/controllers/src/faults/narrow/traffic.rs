//! Those of such mistakes that are made with traffic, while status says what is right.

use std::{collections::BTreeMap, sync::Arc};

use gateproof_proxy::{
    config::{Config, Filter, Hostname, RequestRedirect, Route},
    exchange::{MatchOutcome, RequestHead},
    routing::Routing,
};
use serde_json::{Value, json};

use crate::{
    faults::{
        Fault, Seam,
        bugs::routing::rank_by_longest_name,
        exchange::Finds,
        http::config::is_named,
        narrow::cases,
        policies::has_authorities,
        tls::{alone, has_one_route},
        tools::{Memory, drop_field, each, filters, hosts, serve, serve_from, serve_past},
        v1_7::{hide_broader, is_of_calls},
    },
    snapshot::{Kind, ObjectKey, Snapshot},
};

fn key_of(object: &Value) -> ObjectKey {
    let part = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    ObjectKey::new(part("namespace"), part("name"))
}

/// Takes what grants that came when there were routes of the kind say to these out.
fn miss_late_grants(memory: &mut Memory, snapshot: &mut Snapshot, kind: Kind, name: &str) {
    if snapshot.all(kind).next().is_none() {
        let there = snapshot.all(Kind::ReferenceGrant);
        memory.objects.extend(there.map(|grant| ((Kind::ReferenceGrant, grant.key()), Arc::clone(grant))));
    }
    snapshot.edit(Kind::ReferenceGrant, |grant| {
        let is_late = !memory.objects.contains_key(&(Kind::ReferenceGrant, key_of(grant)));
        if let Some(from) = grant.pointer_mut("/spec/from").and_then(Value::as_array_mut).filter(|_| is_late) {
            from.retain(|one| one["kind"] != name);
        }
    });
}

/// Puts what grants that are gone said to routes of this kind back.
fn keep_grants(memory: &mut Memory, snapshot: &mut Snapshot, name: &str) {
    let there = snapshot.all(Kind::ReferenceGrant);
    memory.objects.extend(there.map(|grant| ((Kind::ReferenceGrant, grant.key()), Arc::clone(grant))));
    for ((kind, key), grant) in &memory.objects {
        if snapshot.get(*kind, &key.namespace, &key.name).is_some() {
            continue;
        }
        let mut kept = (*grant.raw).clone();
        if let Some(from) = kept.pointer_mut("/spec/from").and_then(Value::as_array_mut) {
            from.retain(|one| one["kind"] == name);
        }
        if let Err(error) = snapshot.put(*kind, kept) {
            tracing::error!(%error, "the fault made an unreadable grant");
        }
    }
}

/// Takes a policy for several ports of a Service for one that is for all of them.
fn encrypt_services_of_several_ports(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::BackendTlsPolicy, |policy| {
        let names: Vec<Value> = each(policy, "/spec/targetRefs").map(|target| target["name"].clone()).collect();
        let is_repeated = |name: &Value| names.iter().filter(|one| *one == name).count() > 1;
        each(policy, "/spec/targetRefs")
            .filter(|target| is_repeated(&target["name"]))
            .for_each(|target| drop_field(target, "sectionName"));
    });
}

/// Takes a policy whose authorities cannot be had for one that is for all ports of its Service.
fn close_all_ports(snapshot: &mut Snapshot) {
    let broken: Vec<ObjectKey> = snapshot
        .all(Kind::BackendTlsPolicy)
        .filter(|policy| !has_authorities(snapshot, policy))
        .map(|policy| policy.key())
        .collect();
    snapshot.edit(Kind::BackendTlsPolicy, |policy| {
        if broken.contains(&key_of(policy)) {
            each(policy, "/spec/targetRefs").for_each(|target| drop_field(target, "sectionName"));
        }
    });
}

/// Lets no TLSRoute in at listeners that pass TLS on and name another kind beside that.
fn shut_beside_other_kinds(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        let passes = |one: &&mut Value| one["protocol"] == "TLS" && one["tls"]["mode"] == "Passthrough";
        for listener in each(gateway, "/spec/listeners").filter(passes) {
            if each(listener, "/allowedRoutes/kinds").any(|one| one["kind"] != "TLSRoute") {
                let nobody = json!({"matchLabels": {"gateproof.dev/nobody": "nobody"}});
                listener["allowedRoutes"]["namespaces"] = json!({"from": "Selector", "selector": nobody});
            }
        }
    });
}

/// Leaves the calls at the hosts of a listener to the routes that write them most narrowly.
fn hide_broader_calls(config: &mut Config) {
    let mut narrowed = config.clone();
    hide_broader(&mut narrowed);
    for (host, other) in hosts(config).zip(hosts(&mut narrowed)) {
        host.routes.retain(|rule| !is_of_calls(rule) || other.routes.iter().any(|kept| kept.id == rule.id));
    }
}

/// Ranks routes by the longest of their hostnames where the listener has a hostname itself.
fn rank_at_named_listeners(request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let named = |host: usize| routing.hosts[host].hostname != Hostname::Any;
    if routing.virtual_host(&request.host).is_some_and(named) {
        rank_by_longest_name(request, routing, found)
    } else {
        found
    }
}

/// Redirects with another status where one is asked for, and the filter is meant.
fn redirect(config: &mut Config, (asked, given): (u16, u16), is_meant: fn(&RequestRedirect) -> bool) {
    for filter in filters(config).flatten() {
        if let Filter::RequestRedirect(redirect) = filter
            && redirect.status == asked
            && is_meant(redirect)
        {
            redirect.status = given;
        }
    }
}

/// Leaves of the rules of an HTTPRoute that have names the last.
fn serve_last_named(snapshot: &Snapshot, config: &mut Config) {
    for host in hosts(config) {
        let is_meant = |rule: &Route| !is_of_calls(rule) && is_named(snapshot, rule);
        let mut last: BTreeMap<ObjectKey, usize> = BTreeMap::new();
        for id in host.routes.iter().filter(|rule| is_meant(rule)).map(|rule| &rule.id) {
            let latest = last.entry(ObjectKey::new(&id.namespace, &id.name)).or_default();
            *latest = id.rule.max(*latest);
        }
        host.routes.retain(|rule| {
            let of_route = last.get(&ObjectKey::new(&rule.id.namespace, &rule.id.name));
            !is_meant(rule) || of_route == Some(&rule.id.rule)
        });
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "forwards-no-requests-by-late-grants",
        summary: "Forwards no requests of an HTTPRoute by a grant that came after it, while status says that it resolves.",
        clauses: &["GEP1364-50", "IMPL-41", "IMPL-42", "blind:HTTPRouteInvalidReferenceGrant.3"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| miss_late_grants(memory, snapshot, Kind::HttpRoute, "HTTPRoute"))
        }),
    },
    Fault {
        name: "forwards-no-datagrams-by-late-grants",
        summary: "Forwards no datagrams of a UDPRoute by a grant that came after it, while status says that it resolves.",
        clauses: &["upstream:UDPRouteReferenceGrant"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| miss_late_grants(memory, snapshot, Kind::UdpRoute, "UDPRoute"))
        }),
    },
    Fault {
        name: "forwards-datagrams-by-former-grants",
        summary: "Forwards the datagrams of a UDPRoute on after its grant is gone.",
        clauses: &["blind:UDPRouteReferenceGrant.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_grants(memory, snapshot, "UDPRoute"))),
    },
    Fault {
        name: "forwards-requests-by-former-grants",
        summary: "Forwards the requests of an HTTPRoute on after its grant is gone.",
        clauses: &["GEP1364-50", "IMPL-42", "upstream:HTTPRouteReferenceGrant"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_grants(memory, snapshot, "HTTPRoute"))),
    },
    Fault {
        name: "leaves-named-calls-out",
        summary: "Serves no rule of a GRPCRoute that has a name.",
        clauses: &["upstream:GRPCRouteNamedRule"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                for host in hosts(config) {
                    host.routes.retain(|rule| !is_of_calls(rule) || !is_named(seen.snapshot, rule));
                }
            })
        }),
    },
    Fault {
        name: "serves-the-last-named-rule",
        summary: "Serves of the rules of an HTTPRoute that have names the last alone, as if each were in place of the one before.",
        clauses: &["blind:HTTPRouteNamedRule.1", "upstream:HTTPRouteNamedRule"],
        seam: Seam::Config(|| serve(|seen, config| serve_last_named(seen.snapshot, config))),
    },
    Fault {
        name: "redirects-with-302-to-other-hosts",
        summary: "Redirects with 302 instead of 301 where the filter names a host.",
        clauses: &["upstream:HTTPRouteRedirectHostAndStatus"],
        seam: Seam::Config(|| serve(|_, config| redirect(config, (301, 302), |to| to.hostname.is_some()))),
    },
    Fault {
        name: "redirects-with-302-instead-of-307",
        summary: "Redirects with 302 where the filter asks for 307.",
        clauses: &["upstream:HTTPRoute307Redirect"],
        seam: Seam::Config(|| serve(|_, config| redirect(config, (307, 302), |_| true))),
    },
    Fault {
        name: "redirects-with-301-instead-of-308",
        summary: "Redirects with 301 where the filter asks for 308.",
        clauses: &["upstream:HTTPRoute308Redirect"],
        seam: Seam::Config(|| serve(|_, config| redirect(config, (308, 301), |_| true))),
    },
    Fault {
        name: "encrypts-services-of-several-encrypted-ports",
        summary: "Encrypts all ports of a Service as soon as a policy is for several of them.",
        clauses: &["blind:BackendTLSPolicyConflictResolution.2"],
        seam: Seam::Config(|| serve_from(encrypt_services_of_several_ports)),
    },
    Fault {
        name: "closes-all-ports-for-a-broken-authority",
        summary: "Keeps traffic from every port of a Service if the authority of a policy for one of them cannot be had.",
        clauses: &["blind:BackendTLSPolicyInvalidCACertificateRef.3"],
        seam: Seam::Config(|| serve_from(close_all_ports)),
    },
    Fault {
        name: "passes-nothing-on-beside-other-kinds",
        summary: "Passes no TLS on at a listener that names another kind than TLSRoute, too, though it lists that.",
        clauses: &["blind:TLSRouteListenerPassthroughSupportedKinds.1"],
        seam: Seam::Config(|| serve_from(shut_beside_other_kinds)),
    },
    Fault {
        name: "ends-tls-for-nobody",
        summary: "Accepts a listener with a wildcard that is to end TLS, and serves nothing there as long as it has one route.",
        clauses: &["blind:TLSRouteListenerTerminateSupportedKinds.1", "upstream:TLSRouteTerminateSimpleSameNamespace"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let ends = alone(config).filter(|stream| stream.certificates.is_some() && has_one_route(stream));
                ends.for_each(|stream| stream.routes.clear());
            })
        }),
    },
    Fault {
        name: "hides-calls-of-broader-hostnames",
        summary: "Leaves calls that the route of the narrower hostname does not take to nobody.",
        clauses: &["blind:GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection.1"],
        seam: Seam::Config(|| serve(|_, config| hide_broader_calls(config))),
    },
    Fault {
        name: "ranks-routes-by-their-longest-hostname-at-named-listeners",
        summary: "Lets, at a listener with a hostname, a route win for a host that it has by a wildcard because another of its hostnames is longer.",
        clauses: &["blind:HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection.4"],
        seam: Seam::Exchange(|| Arc::new(Finds(rank_at_named_listeners))),
    },
    Fault {
        name: "shares-routes-of-outer-wildcards",
        summary: "Lets a listener with one host serve the routes of the wider of two wildcards that cover it.",
        clauses: &["upstream:GatewayHTTPListenerIsolation"],
        seam: Seam::Config(|| serve(|_, config| cases::of_http(config, cases::share_outer))),
    },
    Fault {
        name: "lends-wildcards-to-who-writes-them",
        summary: "Lets a listener with a wildcard serve the routes of others that have this wildcard among their hostnames.",
        clauses: &["upstream:GatewayHTTPListenerIsolation"],
        seam: Seam::Config(|| serve(|_, config| cases::of_http(config, cases::lend_wildcards))),
    },
    Fault {
        name: "believes-anybody-behind-https-ports",
        summary: "Does not look at the certificate of a backend whose port has the appProtocol HTTPS.",
        clauses: &["upstream:BackendTLSPolicySANValidation"],
        seam: Seam::Config(|| serve(cases::believe_https)),
    },
];
