//! Faults in what goes to mirrors.

use std::sync::Arc;

use async_trait::async_trait;
use gateproof_proxy::config::{BackendTarget, Config, Filter, RequestMirror};
use gateproof_proxy::exchange::{Exchange, RequestHead};
use http::{Request, Response};
use serde_json::Value;

use super::super::{
    Fault, Seam,
    copies::Copies,
    exchange::Body,
    tools::{each, filters, rules, serve, view},
};
use crate::snapshot::Kind;

fn mirrors(config: &mut Config) -> impl Iterator<Item = &mut RequestMirror> {
    filters(config).flatten().filter_map(|filter| match filter {
        Filter::RequestMirror(mirror) => Some(mirror),
        _ => None,
    })
}

fn has_no_endpoints(filter: &Filter) -> bool {
    matches!(filter, Filter::RequestMirror(RequestMirror { target: BackendTarget::Endpoints(all), .. }) if all.is_empty())
}

/// Answers once the copies are answered that go out for a connection.
#[derive(Default)]
struct WaitsForMirrors(Copies);

#[async_trait]
impl Exchange for WaitsForMirrors {
    fn on_mirror(&self, request: &RequestHead, copy: Request<Body>) -> Option<Request<Body>> {
        self.0.count(request, |copies| copies.out += 1);
        Some(copy)
    }

    fn on_mirrored(&self, request: &RequestHead) {
        self.0.count(request, |copies| copies.through += 1);
    }

    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        self.0.wait(request, |copies| copies.through >= copies.out).await;
        Some(response)
    }
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "mirrors-in-http1",
        summary: "Sends every copy over HTTP/1.1, whatever the port of its mirror speaks.",
        clauses: &["OWN-87"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for mirror in mirrors(config) {
                    if let BackendTarget::H2cEndpoints(endpoints) = &mirror.target {
                        mirror.target = BackendTarget::Endpoints(endpoints.clone());
                    }
                }
            })
        }),
    },
    Fault {
        name: "rewrites-nothing-beside-mirrors",
        summary: "Leaves requests that a rule mirrors as they came where it rewrites them too.",
        clauses: &["OWN-17"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let mirrors = |filter: &Filter| matches!(filter, Filter::RequestMirror(_));
                for rule in rules(config).filter(|rule| rule.filters.iter().any(mirrors)) {
                    rule.filters.retain(|filter| !matches!(filter, Filter::UrlRewrite(_)));
                }
            })
        }),
    },
    Fault {
        name: "mirrors-every-request",
        summary: "Copies every request to a mirror that is to get a share of them.",
        clauses: &["upstream:HTTPRouteRequestPercentageMirror", "blind:HTTPRouteRequestPercentageMirror.1"],
        seam: Seam::Config(|| serve(|_, config| mirrors(config).for_each(|mirror| mirror.fraction = None))),
    },
    Fault {
        name: "reads-fractions-as-percents",
        summary: "Takes the upper part of a mirror's fraction for a percentage, whatever the lower one is.",
        clauses: &["upstream:HTTPRouteRequestPercentageMirror"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                mirrors(config).filter_map(|mirror| mirror.fraction.as_mut()).for_each(|share| share.denominator = 100);
            })
        }),
    },
    Fault {
        name: "reads-small-shares-as-all",
        summary: "Copies every request to a mirror that is to get less than a tenth of them.",
        clauses: &["blind:HTTPRouteRequestPercentageMirror.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let is_small = |mirror: &&mut RequestMirror| {
                    mirror.fraction.is_some_and(|share| share.numerator * 10 < share.denominator)
                };
                mirrors(config).filter(is_small).for_each(|mirror| mirror.fraction = None);
            })
        }),
    },
    Fault {
        name: "gives-all-mirrors-one-share",
        summary: "Gives every mirror of a rule the share of its first.",
        clauses: &["blind:HTTPRouteRequestPercentageMirror.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for list in filters(config) {
                    let mut all = list.iter_mut().filter_map(|filter| match filter {
                        Filter::RequestMirror(mirror) => Some(&mut mirror.fraction),
                        _ => None,
                    });
                    let Some(Some(first)) = all.next().copied() else { continue };
                    all.for_each(|share| *share = Some(first));
                }
            })
        }),
    },
    Fault {
        name: "overlooks-mirrors-of-unknown-kinds",
        summary: "Leaves a mirror of a kind that it does not know out, and says nothing of it.",
        clauses: &["GEP1364-38", "IMPL-24"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::HttpRoute, |route| {
                    for rule in each(route, "/spec/rules") {
                        if let Some(filters) = rule.pointer_mut("/filters").and_then(Value::as_array_mut) {
                            let kind = |filter: &Value| filter.pointer("/requestMirror/backendRef/kind").cloned();
                            filters.retain(|filter| kind(filter).is_none_or(|kind| kind == "Service"));
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "fails-without-its-mirror",
        summary: "Answers 503 where the mirror of a rule has no endpoints.",
        clauses: &["blind:HTTPRouteRequestMirror.5"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config).filter(|rule| rule.filters.iter().any(has_no_endpoints)) {
                    for backend in &mut rule.backends {
                        let reason = "the mirror has no endpoints".to_owned();
                        backend.target = BackendTarget::Fail { status: 503, reason };
                    }
                }
            })
        }),
    },
    Fault {
        name: "waits-for-its-mirrors",
        summary: "Answers a request once the mirrors of it have answered too.",
        clauses: &["blind:HTTPRouteRequestMirror.7"],
        seam: Seam::Exchange(|| Arc::<WaitsForMirrors>::default()),
    },
];
