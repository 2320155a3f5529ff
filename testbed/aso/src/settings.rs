//! What the operator of the implementation decides.

use std::time::Duration;

/// Which description of the status language is followed, where the two differ in what can be observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// The design document: no `observedGeneration`, an owner has to exist and no more, nothing is sent after success, the first
    /// write says Ready, and a message of ARM stands as it is.
    Design,
    /// As shipped today: `observedGeneration` decides what may be overwritten, an owner has to be Ready, the spec is sent again from
    /// time to time, and the first visit only takes ownership.
    #[default]
    Current,
}

impl Edition {
    /// That of this name.
    pub fn named(name: &str) -> Option<Edition> {
        match name {
            "design" => Some(Edition::Design),
            "current" => Some(Edition::Current),
            _ => None,
        }
    }
}

/// Where tokens for ARM come from: a managed identity endpoint, as `IDENTITY_ENDPOINT` and `IDENTITY_HEADER` name one.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// URL of the endpoint.
    pub url: String,
    /// Value of the header `X-IDENTITY-HEADER`, a secret.
    pub header: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Settings of the implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// URL of ARM, without a slash at its end.
    pub arm: String,
    /// The authority that signed ARM's certificate, in PEM; nothing for plain HTTP.
    pub ca_pem: Option<String>,
    /// Where tokens come from; nothing for requests without one.
    pub identity: Option<Identity>,
    /// The subscription of the global credential; nothing for no global credential.
    pub subscription: Option<String>,
    /// Which description is followed.
    pub edition: Edition,
    /// What all delays are multiplied by: 1 is the real operator's pace.
    pub time_scale: f64,
    /// How long after a success the spec is sent again, before scaling; nothing for never. The edition `design` never does.
    pub sync_period: Option<Duration>,
    /// Whose annotation `operator-namespace` objects have to carry.
    pub operator_namespace: String,
    /// What `reconcile-policy` is where neither object nor namespace has one.
    pub default_policy: String,
    /// What namespaces are called at the end for which it is another, with that one. The real operator is told one for all.
    pub other_policies: Vec<(String, String)>,
    /// The namespaces whose objects are looked after; none for all.
    pub namespaces: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            arm: "http://127.0.0.1:8443".into(),
            ca_pem: None,
            identity: None,
            subscription: Some("00000000-0000-0000-0000-000000000001".into()),
            edition: Edition::default(),
            time_scale: 1.0,
            sync_period: Some(Duration::from_secs(15 * 60)),
            operator_namespace: "azureserviceoperator-system".into(),
            default_policy: "manage".into(),
            other_policies: Vec::new(),
            namespaces: Vec::new(),
        }
    }
}

impl Settings {
    /// A delay at the pace that is set.
    pub fn scaled(&self, delay: Duration) -> Duration {
        Duration::try_from_secs_f64(delay.as_secs_f64() * self.time_scale).unwrap_or(delay)
    }

    /// The policy of a namespace that has none, nor has the object.
    pub fn policy_in(&self, namespace: &str) -> &str {
        let other = self.other_policies.iter().find(|(end, _)| namespace.ends_with(end.as_str()));
        other.map_or(&self.default_policy, |(_, policy)| policy)
    }
}
