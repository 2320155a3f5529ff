//! What a scenario says of itself, whatever the names are that its steps may use.

use super::diagnostic::Source;
use super::parse::tree::{self, Node};

/// What a scenario is called, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Its name.
    pub(crate) name: String,
    /// Its features.
    pub(crate) features: Vec<String>,
}

/// Those of a file, as far as they can be read. What is wrong with them is for the parser to tell.
pub(crate) fn outlines(text: &str) -> Vec<Outline> {
    let documents = tree::read(&Source::new("", text), &mut Vec::new());
    let of = |root: &Node| {
        let name = root.get("metadata")?.get("name")?.text()?.to_owned();
        let features = root.get("spec").and_then(|spec| spec.get("features")).map(Node::list).unwrap_or_default();
        Some(Outline { name, features: features.iter().filter_map(|one| one.text().map(str::to_owned)).collect() })
    };
    documents.iter().filter_map(|document| of(&document.root)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_outlined_whatever_its_steps_are() {
        let text = "metadata: {name: a}\nspec: {features: [A, B], steps: [nonsense]}\n---\nmetadata: {}\n---\nmetadata: {name: b}\n";
        let told: Vec<_> = outlines(text).into_iter().map(|one| (one.name, one.features)).collect();
        let features = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(told, [("a".to_owned(), features(&["A", "B"])), ("b".to_owned(), Vec::new())]);
    }
}
