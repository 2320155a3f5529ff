//! What should be: a verdict for every object, and the configuration of the data path, from a snapshot alone.
//!
//! Each root is followed through what it includes. An error that stops a root leaves nothing of it in the data path; others leave a route
//! or a service out.

mod access;
mod conditions;
mod config;
mod extension;
mod lookup;
mod policies;
mod root;
mod routes;
mod tcpproxy;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use gateproof_proxy::Config;
use gateproof_runtime::object::{name, namespace};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::ProxySpec;
use crate::gate::Guard;
use crate::kinds::{Key, Kind, Snapshot};
use crate::settings::{Edition, Settings};
use crate::status::Verdict;
pub use config::{Answer, Host, HostRoute, Retries, Secure};

/// What should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What is to be said of each object.
    pub verdicts: BTreeMap<Key, Verdict>,
    /// What is served.
    pub hosts: Vec<Host>,
    /// The same as the proxy takes it. Where it is there, it counts instead of the hosts.
    pub config: Option<Config>,
}

/// A proxy as it is followed.
pub(crate) struct Proxy {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) spec: ProxySpec,
}

impl Proxy {
    fn key(&self) -> Key {
        (Kind::HttpProxy, self.namespace.clone(), self.name.clone())
    }

    fn id(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// What a round works with.
pub(crate) struct Round<'r> {
    pub(crate) snapshot: &'r Snapshot,
    pub(crate) settings: &'r Settings,
    pub(crate) proxies: &'r BTreeMap<(String, String), Proxy>,
    pub(crate) verdicts: BTreeMap<Key, Verdict>,
    /// Those that no root has reached.
    pub(crate) orphans: BTreeSet<(String, String)>,
}

impl Round<'_> {
    pub(crate) fn verdict(&mut self, proxy: &Proxy) -> &mut Verdict {
        let served = self.served();
        let verdict = self.verdicts.entry(proxy.key()).or_default();
        verdict.served = Some(served);
        verdict
    }

    fn served(&self) -> Value {
        json!({"ingress": [{"ip": self.settings.address.to_string()}]})
    }

    pub(crate) fn is_design(&self) -> bool {
        self.settings.edition == Edition::Design
    }
}

/// What should be, given what is known.
#[must_use]
pub fn reconcile(snapshot: &Snapshot, settings: &Settings) -> Outcome {
    let ours = snapshot.all(Kind::HttpProxy).filter(|object| lookup::is_of_class(object, &settings.class));
    let proxies: BTreeMap<(String, String), Proxy> = ours
        .filter_map(|object| {
            let (namespace, name) = (namespace(object).to_owned(), name(object).to_owned());
            let spec = ProxySpec::deserialize(&object["spec"]).ok()?;
            Some(((namespace.clone(), name.clone()), Proxy { namespace, name, spec }))
        })
        .collect();
    let orphans = proxies.iter().filter(|(_, proxy)| proxy.spec.virtualhost.is_none()).map(|(id, _)| id.clone());
    let orphans = orphans.collect();
    let mut round = Round { snapshot, settings, proxies: &proxies, verdicts: BTreeMap::new(), orphans };
    let extensions = extension::verdicts(&mut round);
    let mut hosts = Vec::new();
    for proxy in root::unique(&mut round) {
        hosts.extend(root::host(&mut round, proxy, &extensions));
    }
    for id in std::mem::take(&mut round.orphans) {
        let verdict = round.verdict(&proxies[&id]);
        verdict.error("Orphaned", "Orphaned", "no root leads to this HTTPProxy, by whatever chain of includes");
    }
    for verdict in round.verdicts.values_mut() {
        if settings.edition == Edition::Design {
            crate::design::reword(verdict);
        }
    }
    Outcome { verdicts: round.verdicts, hosts, config: None }
}

/// The configuration of the proxy that serves hosts.
#[must_use]
pub fn config(hosts: &[Host], settings: &Settings) -> Config {
    config::config(hosts, settings)
}

/// What is asked of requests before they are sent on, by host and in the order of its routes.
#[must_use]
pub fn guards(hosts: &[Host]) -> BTreeMap<String, Vec<Guard>> {
    let of = |host: &Host| host.routes.iter().map(|route| route.guard.clone()).collect();
    hosts.iter().map(|host| (host.fqdn.clone(), of(host))).collect()
}
