//! What the operator of the implementation decides.

/// Which contract the statuses keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// As RFC 0004 designed it: `PolicyAncestorStatus` beside the conditions, the reasons of its table and no others, conflicts
    /// for every kind, nothing on targets.
    Design,
    /// As it is shipped.
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

/// Settings of the implementation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which contract the statuses keep.
    pub edition: Edition,
    /// The namespace of the Kuadrant object and of what is kept beside it.
    pub namespace: String,
    /// The names of Gateway controllers whose data plane the gate stands in.
    pub controllers: Vec<String>,
    /// Creates the namespace and a Kuadrant object in it at the start, and anew whenever it is gone.
    pub keep_kuadrant: bool,
    /// Where requests are held up. Put [`crate::gate::Gate`] into the data plane before the implementation starts.
    pub gate: crate::gate::Gate,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            edition: Edition::Current,
            namespace: "kuadrant-system".to_owned(),
            controllers: vec!["gateproof.dev/reference".to_owned()],
            keep_kuadrant: true,
            gate: crate::gate::Gate::default(),
        }
    }
}
