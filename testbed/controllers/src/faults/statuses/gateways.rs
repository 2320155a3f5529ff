//! What is said of classes and Gateways.

use std::collections::BTreeMap;

use crate::{
    faults::{
        Fault, Seam,
        tools::{find, has_reason, is, own, say, set},
    },
    runtime::seams::{Seen, StatusesSeam},
    snapshot::Kind,
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

/// Goes on saying that there is no room for a Gateway after there was none once.
#[derive(Default)]
struct NeverFindsRoom(BTreeMap<String, Condition>);

impl StatusesSeam for NeverFindsRoom {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
            let Some(object) = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name) else {
                continue;
            };
            let uid = object.meta.uid.clone();
            let DesiredStatus::Gateway { conditions, .. } = &mut update.status else { continue };
            let Some(programmed) = find(conditions, "Programmed") else { continue };
            if programmed.reason == "NoResources" {
                self.0.insert(uid, programmed.clone());
            } else if let Some(before) = self.0.get(&uid) {
                *programmed = Condition { observed_generation: programmed.observed_generation, ..before.clone() };
            }
        }
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "programs-gateways-without-room",
        summary: "Says Programmed=True for a Gateway that there is no room for.",
        clauses: &["GEP1364-40"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "Programmed", "NoResources") {
                        set(conditions, "Programmed", Truth::True, "Programmed");
                    }
                }
            })
        }),
    },
    Fault {
        name: "calls-missing-room-pending",
        summary: "Gives Pending as the reason where there is no room for a Gateway.",
        clauses: &["GEP1364-40"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "Programmed", "NoResources") {
                        set(conditions, "Programmed", Truth::False, "Pending");
                    }
                }
            })
        }),
    },
    Fault {
        name: "never-finds-room-again",
        summary: "Goes on saying NoResources once there is room for a Gateway again.",
        clauses: &["GEP1364-40"],
        seam: Seam::Statuses(|| Box::<NeverFindsRoom>::default()),
    },
    Fault {
        name: "publishes-no-listeners",
        summary: "Leaves status.listeners of a Gateway empty.",
        clauses: &["blind:Generic.10"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    if let DesiredStatus::Gateway { listeners, .. } = &mut update.status {
                        listeners.clear();
                    }
                }
            })
        }),
    },
    Fault {
        name: "programs-refused-gateways",
        summary: "Says Programmed=True on a Gateway that it does not accept.",
        clauses: &["IMPL-22", "blind:GatewayInvalidParametersRef.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if is(conditions, "Accepted", Truth::False) {
                        set(conditions, "Programmed", Truth::True, "Programmed");
                    }
                }
            })
        }),
    },
    Fault {
        name: "warns-of-an-insecure-mode",
        summary: "Says of every Gateway that clients without a valid certificate get through, which nobody asked for.",
        clauses: &["GEP1364-16"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
                    let generation = update.generation;
                    for conditions in own(std::slice::from_mut(update), Kind::Gateway) {
                        conditions.retain(|condition| condition.r#type != "InsecureFrontendValidationMode");
                        let insecure =
                            Condition::new("InsecureFrontendValidationMode", true, "ConfigurationChanged", "");
                        conditions.push(Condition { observed_generation: Some(generation), ..insecure });
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-programmed-off-gateways",
        summary: "Does not publish Programmed on Gateways.",
        clauses: &[
            "GEP1364-27",
            "GEP1364-57",
            "IMPL-21",
            "GEP1364-15",
            "GEP1364-18",
            "IMPL-22",
            "IMPL-20",
            "GEP1364-22",
            "IMPL-04",
            "IMPL-25",
            "IMPL-35",
            "blind:Generic.11",
            "blind:HTTPRouteListenerPortMatching.2",
            "upstream:GatewayOptionalAddressValue",
            "upstream:HTTPRouteInvalidParentRefSectionNameNotMatchingPort",
        ],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
                    let generation = update.generation;
                    for conditions in own(std::slice::from_mut(update), Kind::Gateway) {
                        conditions.retain(|condition| condition.r#type != "Programmed");
                        let ready = Condition::new("Ready", true, "Ready", "");
                        conditions.push(Condition { observed_generation: Some(generation), ..ready });
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-no-class",
        summary: "Says Accepted=False/Unsupported of every GatewayClass, and serves their Gateways.",
        clauses: &["IMPL-05", "IMPL-28"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::GatewayClass) {
                    if is(conditions, "Accepted", Truth::True) {
                        set(conditions, "Accepted", Truth::False, "Unsupported");
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-refused-classes-pending",
        summary: "Does not say Accepted=False on a GatewayClass that it refuses.",
        clauses: &["IMPL-29", "IMPL-31"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::GatewayClass) {
                    if is(conditions, "Accepted", Truth::False) {
                        set(conditions, "Accepted", Truth::Unknown, "Pending");
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-supported-version-off",
        summary: "Does not publish SupportedVersion on an accepted GatewayClass.",
        clauses: &["GEP1364-08", "IMPL-19", "IMPL-25", "K8S-06", "blind:GatewayClassObservedGenerationBump.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::GatewayClass) {
                    conditions.retain(|condition| condition.r#type != "SupportedVersion");
                }
            })
        }),
    },
    Fault {
        name: "lists-features-unsorted",
        summary: "Lists supportedFeatures of a GatewayClass in no order.",
        clauses: &["blind:GatewayClassObservedGenerationBump.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    if let DesiredStatus::GatewayClass { supported_features, .. } = &mut update.status {
                        supported_features.reverse();
                    }
                }
            })
        }),
    },
    Fault {
        name: "shows-another-address",
        summary: "Publishes an address at which nothing answers.",
        clauses: &["blind:GatewayOptionalAddressValue.1"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses {
                    let asked = seen.snapshot.gateway(&update.key.namespace, &update.key.name);
                    if let DesiredStatus::Gateway { addresses, .. } = &mut update.status
                        && asked.is_some_and(|(_, spec)| !spec.addresses.is_empty())
                    {
                        addresses.iter_mut().for_each(|address| address.value = "127.0.0.2".into());
                    }
                }
            })
        }),
    },
];
