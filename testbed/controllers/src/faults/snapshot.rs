mod edits;

use serde_json::{Value, json};

pub(super) use edits::let_all_in;
pub(super) use edits::{grant_everything, serve_classless};
use edits::{invent_ports, miss_late_services, mix_grants, open_to_far_calls, revoke_all_with_one, serve_refused};

use super::{
    Fault, Seam,
    tools::{Memory, Remembering, backend_refs, drop_at, drop_field, each, view},
};
use crate::{
    model::GATEWAY_GROUP,
    runtime::seams::SnapshotSeam,
    snapshot::{Kind, Snapshot},
};

fn remember(change: fn(&mut Memory, &mut Snapshot)) -> Box<dyn SnapshotSeam> {
    Box::new(Remembering(Memory::default(), change))
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "ignores-reference-grants",
        summary: "Follows references into other namespaces whether or not a ReferenceGrant permits them.",
        clauses: &[
            "GEP1364-42",
            "GEP1364-50",
            "IMPL-41",
            "upstream:GatewaySecretMissingReferenceGrant",
            "upstream:TLSRouteInvalidReferenceGrant",
            "upstream:UDPRouteInvalidCrossNamespaceBackendRef",
        ],
        seam: Seam::Snapshot(|| view(grant_everything)),
    },
    Fault {
        name: "mixes-halves-of-grants",
        summary: "Takes the from of one ReferenceGrant and the to of another as a permission.",
        clauses: &["blind:HTTPRouteInvalidReferenceGrant.2", "IMPL-41"],
        seam: Seam::Snapshot(|| view(mix_grants)),
    },
    Fault {
        name: "revokes-all-grants-with-one",
        summary: "Takes what the other grants of a namespace permit for revoked when one of them is deleted.",
        clauses: &["OWN-111"],
        seam: Seam::Snapshot(|| remember(revoke_all_with_one)),
    },
    Fault {
        name: "grants-ignore-to-name",
        summary: "Reads a grant for one Service as a grant for all of them.",
        clauses: &["IMPL-41", "upstream:HTTPRoutePartiallyInvalidViaInvalidReferenceGrant"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::ReferenceGrant, |grant| {
                    each(grant, "/spec/to").for_each(|to| drop_field(to, "name"));
                });
            })
        }),
    },
    Fault {
        name: "grants-ignore-to-group",
        summary: "Reads a grant for a kind of another group as one for the Services of that name.",
        clauses: &["IMPL-41", "upstream:HTTPRouteInvalidReferenceGrant", "upstream:GatewaySecretInvalidReferenceGrant"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::ReferenceGrant, |grant| {
                    each(grant, "/spec/to").for_each(|to| to["group"] = json!(""));
                });
            })
        }),
    },
    Fault {
        name: "grants-need-to-name",
        summary: "Takes no notice of a grant that does not name its referent.",
        clauses: &["IMPL-41", "blind:HTTPRouteReferenceGrant.3", "upstream:GatewaySecretReferenceGrantAllInNamespace"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::ReferenceGrant, |grant| {
                    if let Some(to) = grant.pointer_mut("/spec/to").and_then(Value::as_array_mut) {
                        to.retain(|to| to["name"].as_str().is_some_and(|name| !name.is_empty()));
                    }
                });
            })
        }),
    },
    Fault {
        name: "grants-ignore-from-kind",
        summary: "Reads a grant for one kind of referrer as a grant for every kind.",
        clauses: &["IMPL-41"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::ReferenceGrant, |grant| {
                    let all: Vec<Value> = each(grant, "/spec/from")
                        .flat_map(|from| {
                            ["HTTPRoute", "TCPRoute", "Gateway"].map(
                                |kind| json!({"group": GATEWAY_GROUP, "kind": kind, "namespace": from["namespace"]}),
                            )
                        })
                        .collect();
                    grant["spec"]["from"] = all.into();
                });
            })
        }),
    },
    Fault {
        name: "grants-ignore-from-namespace",
        summary: "Reads a grant for referrers of one namespace as a grant for those of every namespace.",
        clauses: &["IMPL-41"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                let names: Vec<String> = snapshot.namespaces().map(|(object, _)| object.meta.name.clone()).collect();
                snapshot.edit(Kind::ReferenceGrant, |grant| {
                    let anywhere = |from: &mut Value| {
                        let (group, kind) = (from["group"].clone(), from["kind"].clone());
                        names
                            .iter()
                            .map(|name| json!({"group": group, "kind": kind, "namespace": name}))
                            .collect::<Vec<_>>()
                    };
                    let all: Vec<Value> = each(grant, "/spec/from").flat_map(anywhere).collect();
                    grant["spec"]["from"] = all.into();
                });
            })
        }),
    },
    Fault {
        name: "deaf-to-grant-removal",
        summary: "Goes on following a reference after its ReferenceGrant is deleted.",
        clauses: &["IMPL-42", "blind:HTTPRouteReferenceGrant.1", "upstream:TCPRouteReferenceGrant", "GEP1364-50"],
        seam: Seam::Snapshot(|| remember(|memory, snapshot| memory.keep_removed(snapshot, Kind::ReferenceGrant))),
    },
    Fault {
        name: "deaf-to-new-grants",
        summary: "Does not look at a ReferenceGrant that comes after the route which needs it.",
        clauses: &[
            "IMPL-42",
            "blind:HTTPRouteInvalidReferenceGrant.3",
            "IMPL-41",
            "upstream:GatewaySecretReferenceGrantSpecific",
            "upstream:UDPRouteReferenceGrant",
        ],
        seam: Seam::Snapshot(|| {
            remember(|memory, snapshot| {
                let mut kinds = [Kind::HttpRoute, Kind::UdpRoute].into_iter();
                let has_routes = kinds.any(|kind| snapshot.all(kind).next().is_some());
                let grants: Vec<_> = snapshot.all(Kind::ReferenceGrant).cloned().collect();
                for grant in grants {
                    let id = (Kind::ReferenceGrant, grant.key());
                    if memory.objects.contains_key(&id) || !has_routes {
                        memory.objects.insert(id, grant);
                    } else {
                        snapshot.remove(Kind::ReferenceGrant, &grant.key());
                    }
                }
            })
        }),
    },
    Fault {
        name: "deaf-to-new-services",
        summary: "Does not pick up a Service that is created after the route which refers to it.",
        clauses: &["blind:HTTPRouteInvalidNonExistentBackendRef.3"],
        seam: Seam::Snapshot(|| remember(miss_late_services)),
    },
    Fault {
        name: "deaf-to-service-removal",
        summary: "Does not notice that the Service of a backend is gone.",
        clauses: &["GEP1364-41", "GEP1364-48", "GRPC-06", "GEP1364-21", "GEP1364-46"],
        seam: Seam::Snapshot(|| {
            remember(|memory, snapshot| {
                memory.keep_removed(snapshot, Kind::Service);
                memory.keep_removed(snapshot, Kind::EndpointSlice);
            })
        }),
    },
    Fault {
        name: "deaf-to-namespace-labels",
        summary: "Keeps the labels that a namespace had at first when it selects namespaces.",
        clauses: &["blind:HTTPRouteCrossNamespace.2"],
        seam: Seam::Snapshot(|| remember(|memory, snapshot| memory.keep_first(snapshot, Kind::Namespace))),
    },
    Fault {
        name: "deaf-to-route-changes",
        summary: "Works from the first spec of an HTTPRoute whatever comes after, and says so by its generation.",
        clauses: &[
            "IMPL-25",
            "GEP1364-08",
            "upstream:HTTPRouteObservedGenerationBump",
            "IMPL-20",
            "GEP1364-14",
            "blind:Generic.13",
        ],
        seam: Seam::Snapshot(|| remember(|memory, snapshot| memory.keep_first(snapshot, Kind::HttpRoute))),
    },
    Fault {
        name: "ignores-match-expressions",
        summary: "Leaves matchExpressions out when it selects namespaces.",
        clauses: &["blind:HTTPRouteCrossNamespace.3"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::Gateway, |gateway| {
                    for listener in each(gateway, "/spec/listeners") {
                        if let Some(selector) = listener.pointer_mut("/allowedRoutes/namespaces/selector") {
                            drop_field(selector, "matchExpressions");
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "lets-calls-of-any-namespace-in",
        summary: "Lets routes of every namespace in at the listeners of a Gateway that a GRPCRoute of another namespace names.",
        clauses: &["GEP1364-35"],
        seam: Seam::Snapshot(|| view(open_to_far_calls)),
    },
    Fault {
        name: "lets-streams-of-any-namespace-in",
        summary: "Lets TCPRoutes of every namespace in at TCP listeners, whatever they allow.",
        clauses: &["GEP1364-35"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::Gateway, |gateway| {
                    each(gateway, "/spec/listeners").filter(|of| of["protocol"] == "TCP").for_each(let_all_in);
                });
            })
        }),
    },
    Fault {
        name: "selects-every-namespace",
        summary: "Lets routes of every namespace in where the listener asks for a label.",
        clauses: &["blind:HTTPRouteCrossNamespace.1", "GEP1364-35"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::Gateway, |gateway| {
                    for listener in each(gateway, "/spec/listeners") {
                        if let Some(namespaces) = listener.pointer_mut("/allowedRoutes/namespaces")
                            && namespaces["from"] == "Selector"
                        {
                            *namespaces = json!({"from": "All"});
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "invents-service-ports",
        summary: "Forwards to a port that the Service does not declare.",
        clauses: &["blind:HTTPRouteInvalidNonExistentBackendRef.1"],
        seam: Seam::Snapshot(|| view(invent_ports)),
    },
    Fault {
        name: "takes-any-kind-for-a-service",
        summary: "Looks for a Service of the name whatever kind a backendRef asks for.",
        clauses: &["GEP1364-38", "blind:HTTPRouteInvalidBackendRefUnknownKind.1"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::HttpRoute, |route| {
                    for reference in backend_refs(route) {
                        reference["group"] = "".into();
                        reference["kind"] = "Service".into();
                    }
                });
            })
        }),
    },
    Fault {
        name: "ignores-app-protocol",
        summary: "Speaks HTTP/1.1 to every backend, whatever its Service port says.",
        clauses: &[
            "blind:HTTPRouteBackendProtocolH2C.4",
            "blind:HTTPRouteBackendProtocolH2C.3",
            "blind:HTTPRouteBackendProtocolWebSocket.4",
        ],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::Service, |service| {
                    each(service, "/spec/ports").for_each(|port| drop_field(port, "appProtocol"));
                });
            })
        }),
    },
    Fault {
        name: "skips-extension-filters",
        summary: "Leaves out a filter of an unknown kind and carries on as if it were not there.",
        clauses: &["GEP1364-52"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::HttpRoute, |route| {
                    for rule in each(route, "/spec/rules") {
                        if let Some(filters) = rule.pointer_mut("/filters").and_then(Value::as_array_mut) {
                            filters.retain(|filter| filter["type"] != "ExtensionRef");
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "skips-class-parameters",
        summary: "Accepts a GatewayClass with a parametersRef that it cannot follow.",
        clauses: &["IMPL-31"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| snapshot.edit(Kind::GatewayClass, |class| drop_at(class, "/spec", "parametersRef")))
        }),
    },
    Fault {
        name: "skips-gateway-parameters",
        summary: "Accepts a Gateway with an infrastructure.parametersRef that it cannot follow.",
        clauses: &["OWN-12", "upstream:GatewayInvalidParametersRef", "blind:GatewayInvalidParametersRef.2"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::Gateway, |gateway| {
                    drop_at(gateway, "/spec/infrastructure", "parametersRef");
                })
            })
        }),
    },
    Fault {
        name: "serves-gateways-without-class",
        summary: "Takes up a Gateway whose class does not exist.",
        clauses: &["GEP1364-36", "IMPL-32", "IMPL-34"],
        seam: Seam::Snapshot(|| view(serve_classless)),
    },
    Fault {
        name: "serves-gateways-of-refused-classes",
        summary: "Takes up a Gateway whose class is not accepted.",
        clauses: &["IMPL-32"],
        seam: Seam::Snapshot(|| view(serve_refused)),
    },
    Fault {
        name: "ignores-requested-addresses",
        summary: "Gives a Gateway some address of its own choice instead of the ones it asks for.",
        clauses: &["GEP1364-39", "GEP1364-22", "upstream:GatewayStaticAddresses"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| snapshot.edit(Kind::Gateway, |gateway| drop_at(gateway, "/spec", "addresses")))
        }),
    },
    Fault {
        name: "orders-routes-by-name",
        summary: "Decides between equal matches of two routes by name, not by age.",
        clauses: &["blind:HTTPRouteMatchingAcrossRoutes.1"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                let untimed = |route: &mut Value| drop_at(route, "/metadata", "creationTimestamp");
                snapshot.edit(Kind::HttpRoute, untimed);
            })
        }),
    },
    Fault {
        name: "newest-tcproute-wins",
        summary: "Gives a TCP listener to the route that sorts first by name, however new it is.",
        clauses: &["upstream:TCPRouteMultipleRoutesAttachment"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                let untimed = |route: &mut Value| drop_at(route, "/metadata", "creationTimestamp");
                snapshot.edit(Kind::TcpRoute, untimed);
            })
        }),
    },
    Fault {
        name: "forgets-query-matches",
        summary: "Leaves query parameter matches out.",
        clauses: &["upstream:HTTPRouteQueryParamMatching"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::HttpRoute, |route| {
                    for rule in each(route, "/spec/rules") {
                        each(rule, "/matches").for_each(|one| drop_field(one, "queryParams"));
                    }
                });
            })
        }),
    },
    Fault {
        name: "knows-every-bundle-version",
        summary: "Says SupportedVersion=True whatever version the CRDs have.",
        clauses: &["IMPL-19"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::CustomResourceDefinition, |crd| {
                    crd["metadata"]["annotations"]["gateway.networking.k8s.io/bundle-version"] = "v1.7.0".into();
                });
            })
        }),
    },
];
