//! The embedded target of a dialect, started for one run. What is particular to one of them stands here.

use gateproof_apiserver::crds::Channel;
use gateproof_controllers::settings::{EXPERIMENTAL_FEATURES, FEATURES_OF_KINDS, FEATURES_SINCE, SUPPORTED_FEATURES};
use gateproof_testbed::aso::{self, AsoOptions, AsoTestbed};
use gateproof_testbed::contour::{self, ContourTestbed};
use gateproof_testbed::kuadrant::{self, KuadrantTestbed};
use gateproof_testbed::{
    self as gateway_api, Behaviour, KnownFault, KnownVariant, Testbed, TestbedError, TestbedOptions, UnknownBehaviour,
};
use serde_json::Value;

use super::options::{Conduct, FeatureChoice, RunOptions};
use crate::cluster::api::Api;
use crate::cluster::control::{ServiceAddress, Services};
use crate::dialects::Reference;

/// Where a target is, once it runs.
pub struct Located {
    /// Its API server.
    pub api: Api,
    /// The GatewayClass to test, in a dialect that has classes.
    pub gateway_class: Option<String>,
    /// A class of it that takes one Gateway only, if it is known to have one.
    pub single_gateway_class: Option<String>,
    /// An address that its Gateways may ask for, if one is known.
    pub usable_address: Option<String>,
    /// How its addresses are reached, beside what the user says.
    pub dial: Vec<String>,
    /// What it supports beside what it claims: for releases whose GatewayClass has no place for all of it, and in a dialect in which
    /// nothing claims what it is set to.
    pub features: Vec<String>,
    /// The scripted services that it names itself, if it is one that does.
    pub services: Option<Services>,
    /// The embedded target that lives as long as this.
    pub testbed: Option<Embedded>,
}

/// A running embedded target.
pub enum Embedded {
    /// That of Gateway API.
    GatewayApi(Box<Testbed>),
    /// That of Azure Service Operator.
    Aso(Box<AsoTestbed>),
    /// That of Kuadrant's policies.
    Kuadrant(Box<KuadrantTestbed>),
    /// That of Contour's HTTPProxy.
    Contour(Box<ContourTestbed>),
}

impl Embedded {
    /// Stops it.
    pub async fn shutdown(self) {
        match self {
            Embedded::GatewayApi(testbed) => testbed.shutdown().await,
            Embedded::Aso(testbed) => testbed.shutdown().await,
            Embedded::Kuadrant(testbed) => testbed.shutdown().await,
            Embedded::Contour(testbed) => testbed.shutdown().await,
        }
    }
}

/// Whether what is named is known to the embedded target of a dialect.
///
/// # Errors
/// The first name that means nothing.
pub fn known(reference: Reference, names: Option<&str>) -> Result<(), UnknownBehaviour> {
    match reference {
        Reference::GatewayApi => Behaviour::of(names).map(drop),
        Reference::Aso => aso::behaviour(names).map(drop),
        Reference::Kuadrant => kuadrant::behaviour(names).map(drop),
        Reference::Contour => contour::behaviour(names).map(drop),
    }
}

/// The faults that such a target can have.
pub fn faults(reference: Reference) -> Vec<KnownFault> {
    match reference {
        Reference::GatewayApi => gateway_api::faults(),
        Reference::Aso => aso::faults(),
        Reference::Kuadrant => kuadrant::faults(),
        Reference::Contour => contour::faults(),
    }
}

/// The legal ways to differ that such a target has.
pub fn variants(reference: Reference) -> Vec<KnownVariant> {
    match reference {
        Reference::GatewayApi => gateway_api::variants(),
        Reference::Aso => aso::variants(),
        Reference::Kuadrant => kuadrant::variants(),
        Reference::Contour => contour::variants(),
    }
}

/// The definitions that such a target serves beside those of Gateway API, in an edition of its dialect.
pub fn definitions(reference: Reference, edition: Option<&str>) -> Vec<Value> {
    match reference {
        Reference::GatewayApi => Vec::new(),
        Reference::Aso => aso::definitions(),
        Reference::Kuadrant => kuadrant::definitions_of(edition.and_then(kuadrant::Edition::named).unwrap_or_default()),
        Reference::Contour => contour::definitions(),
    }
}

/// What such a target is held to whatever it claims: a fault must not get out of being tested by claiming less than the plain
/// reference.
pub fn held_to(reference: Reference) -> FeatureChoice {
    match reference {
        Reference::GatewayApi => {
            let of_kinds = FEATURES_OF_KINDS.iter().map(|(_, feature)| feature);
            let features =
                SUPPORTED_FEATURES.iter().chain(FEATURES_SINCE.1).chain(EXPERIMENTAL_FEATURES).chain(of_kinds);
            FeatureChoice::Only(features.map(|name| (*name).to_owned()).collect())
        }
        Reference::Aso | Reference::Kuadrant | Reference::Contour => FeatureChoice::Claimed,
    }
}

/// Starts the embedded target of a dialect.
///
/// # Errors
/// A name of its conduct means nothing, or a part of it did not start.
pub async fn start(reference: Reference, conduct: &Conduct, asked: &RunOptions) -> Result<Located, TestbedError> {
    let edition = asked.contract.edition();
    match reference {
        Reference::GatewayApi => start_gateway_api(gateway_behaviour(conduct)?, asked).await,
        Reference::Aso => start_aso(conduct, edition).await,
        Reference::Kuadrant => start_kuadrant(conduct, edition).await,
        Reference::Contour => start_contour(conduct, edition).await,
    }
}

/// How the implementation of Gateway API behaves.
fn gateway_behaviour(conduct: &Conduct) -> Result<Behaviour, UnknownBehaviour> {
    match conduct {
        Conduct::Named(names) => Behaviour::of(names.as_deref()),
        Conduct::Tampered(tampering) => Ok(Behaviour::Tampered(tampering.target.clone())),
    }
}

async fn start_aso(conduct: &Conduct, edition: Option<&str>) -> Result<Located, TestbedError> {
    let edition = edition.and_then(aso::Edition::named).unwrap_or_default();
    let options = AsoOptions { edition, ..AsoOptions::default() };
    let options = match conduct {
        Conduct::Named(names) => AsoOptions { behaviour: aso::behaviour(names.as_deref())?, ..options },
        Conduct::Tampered(tampering) => AsoOptions { tampering: Some(tampering.clone()), ..options },
    };
    let testbed = AsoTestbed::start(options).await?;
    Ok(Located {
        api: Api::new(testbed.client()),
        gateway_class: None,
        single_gateway_class: None,
        usable_address: None,
        dial: Vec::new(),
        features: aso::FEATURES.map(str::to_owned).to_vec(),
        services: services(testbed.services()),
        testbed: Some(Embedded::Aso(Box::new(testbed))),
    })
}

/// The policies misbehave by name; what is tampered with is the cluster below them too.
async fn start_kuadrant(conduct: &Conduct, edition: Option<&str>) -> Result<Located, TestbedError> {
    let edition = edition.and_then(kuadrant::Edition::named).unwrap_or_default();
    let (policies, cluster) = match conduct {
        Conduct::Named(names) => (kuadrant::behaviour(names.as_deref())?, Behaviour::Plain),
        Conduct::Tampered(_) => (kuadrant::Behaviour::default(), gateway_behaviour(conduct)?),
    };
    let cluster = TestbedOptions { behaviour: cluster, ..TestbedOptions::default() };
    let testbed = KuadrantTestbed::start(policies, edition, cluster).await?;
    Ok(Located {
        api: Api::new(testbed.client()),
        gateway_class: Some(testbed.cluster().gateway_class().to_owned()),
        single_gateway_class: Some(testbed.cluster().single_gateway_class().to_owned()),
        usable_address: Some(testbed.cluster().usable_address()),
        dial: testbed.cluster().dial_rules(),
        features: Vec::new(),
        services: services(testbed.services()),
        testbed: Some(Embedded::Kuadrant(Box::new(testbed))),
    })
}

/// HTTPProxies misbehave by name; what is tampered with is the cluster below them too.
async fn start_contour(conduct: &Conduct, edition: Option<&str>) -> Result<Located, TestbedError> {
    let edition = edition.and_then(contour::Edition::named).unwrap_or_default();
    let (proxies, cluster) = match conduct {
        Conduct::Named(names) => (contour::behaviour(names.as_deref())?, Behaviour::Plain),
        Conduct::Tampered(_) => (contour::Behaviour::default(), gateway_behaviour(conduct)?),
    };
    let cluster = TestbedOptions { behaviour: cluster, ..TestbedOptions::default() };
    let testbed = ContourTestbed::start(proxies, edition, cluster).await?;
    Ok(Located {
        api: Api::new(testbed.client()),
        gateway_class: None,
        single_gateway_class: None,
        usable_address: None,
        dial: testbed.cluster().dial_rules(),
        features: contour::FEATURES.map(str::to_owned).to_vec(),
        services: None,
        testbed: Some(Embedded::Contour(Box::new(testbed))),
    })
}

/// What a testbed serves on loopback can be used.
fn services(of: Vec<gateproof_testbed::Service>) -> Option<Services> {
    let service = |service: gateproof_testbed::Service| {
        let url = service.url.parse().ok()?;
        Some(ServiceAddress {
            name: service.name.to_owned(),
            url,
            token: Some(service.token),
            authority: service.authority,
        })
    };
    Services::new(of.into_iter().filter_map(service)).ok()
}

/// Starts the embedded target of Gateway API, with definitions other than the built-in ones if there are any, and with somebody who runs
/// Deployments if that is asked.
async fn start_gateway_api(behaviour: Behaviour, asked: &RunOptions) -> Result<Located, TestbedError> {
    // The experimental channel holds all of the other, so nothing that the reference can do is left out.
    let channel = Channel::Experimental;
    let options = TestbedOptions {
        behaviour,
        crds: asked.crds.clone(),
        without: asked.without_crds.clone(),
        lacking: asked.without_features.clone(),
        channel,
        workloads: asked.backend_image.is_some(),
        ..TestbedOptions::default()
    };
    let testbed = Testbed::start(options).await?;
    // The built-in release has the place, and a reference that leaves out what it can misbehaves.
    let known: &[&str] = if asked.crds.is_empty() { &[] } else { SUPPORTED_FEATURES };
    Ok(Located {
        // Within one process, requests need neither sockets nor TLS.
        api: Api::new(testbed.client()),
        gateway_class: Some(testbed.gateway_class().to_owned()),
        single_gateway_class: Some(testbed.single_gateway_class().to_owned()),
        usable_address: Some(testbed.usable_address()),
        dial: testbed.dial_rules(),
        features: known.iter().filter(|feature| !testbed.lacks(feature)).map(ToString::to_string).collect(),
        services: None,
        testbed: Some(Embedded::GatewayApi(Box::new(testbed))),
    })
}
