//! What a reference can be made to do otherwise: faults and legal variants by name, each in a seam of its own, and one wrong value.

use serde_json::Value;

/// A named misbehaviour.
#[derive(Clone, Copy, Debug)]
pub struct Fault<Seam> {
    /// Stable name, in kebab case.
    pub name: &'static str,
    /// What the implementation does wrong, as one sentence.
    pub summary: &'static str,
    /// IDs of the requirements that it breaks.
    pub clauses: &'static [&'static str],
    /// Where it sits.
    pub seam: Seam,
}

/// A named way to differ that is legal.
#[derive(Clone, Copy, Debug)]
pub struct Variant<Seam> {
    /// Stable name, in kebab case.
    pub name: &'static str,
    /// What the implementation does otherwise, as one sentence.
    pub summary: &'static str,
    /// Why it may.
    pub source: &'static str,
    /// Where it sits.
    pub seam: Seam,
}

/// A name that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownBehaviour {
    /// There is no such fault.
    #[error("there is no fault `{0}`")]
    Fault(String),
    /// There is no such variant.
    #[error("there is no variant `{0}`")]
    Variant(String),
    /// It stands there already.
    #[error("`{0}` is named twice")]
    Twice(String),
}

/// What sits in the seams by these names, such as `NAME+variant:NAME`; nothing without a name.
///
/// # Errors
/// The first name that means nothing.
pub fn seams<Seam: Copy + 'static>(
    names: Option<&str>,
    faults: impl Iterator<Item = &'static Fault<Seam>> + Clone,
    variants: &[Variant<Seam>],
) -> Result<Vec<Seam>, UnknownBehaviour> {
    let names: Vec<&str> = names.into_iter().flat_map(|names| names.split('+')).collect();
    let seam = |(index, name): (usize, &&str)| {
        if names[..index].contains(name) {
            return Err(UnknownBehaviour::Twice((*name).to_owned()));
        }
        if let Some(name) = name.strip_prefix("variant:") {
            let found = variants.iter().find(|variant| variant.name == name);
            return found.map(|one| one.seam).ok_or_else(|| UnknownBehaviour::Variant(name.to_owned()));
        }
        let found = faults.clone().find(|fault| fault.name == *name);
        found.map(|one| one.seam).ok_or_else(|| UnknownBehaviour::Fault((*name).to_owned()))
    };
    names.iter().enumerate().map(seam).collect()
}

/// Changes objects on their way into the cluster, and knows how they would read otherwise: the implementation goes on as if nothing
/// were wrong.
pub trait Spoiler: Send + Sync {
    /// Changes an object of a kind that is about to be written over the live one.
    fn spoil(&self, kind: &str, live: &Value, wanted: &mut Value);

    /// How an object of a kind would read; nothing if that is how it reads.
    fn restore(&self, kind: &str, object: &Value) -> Option<Value>;
}
