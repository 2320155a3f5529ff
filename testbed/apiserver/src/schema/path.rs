//! Field paths, in the two notations that the API server uses.

use std::fmt::Write;

/// One place in an object, as a chain of borrowed steps up to the root.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

/// How the API server writes the path of an error that belongs to no field.
pub(crate) const NO_FIELD: &str = "<nil>";

impl<'a> Path<'a> {
    pub(crate) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// A declared field of an object.
    pub(crate) fn field(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    /// A free key of a map.
    pub(crate) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    /// An item of a list.
    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// `metadata.labels[app]`: how causes name their field. The root is `<nil>`.
    pub(crate) fn bracketed(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, true);
        if out.is_empty() { NO_FIELD.to_owned() } else { out }
    }

    /// `metadata.labels.app`: how value validation and strict decoding name it. The root is empty.
    pub(crate) fn dotted(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false);
        out
    }

    fn write(&self, out: &mut String, bracket_keys: bool) {
        if let Some(parent) = self.parent {
            parent.write(out, bracket_keys);
        }
        match self.step {
            Step::Root => {}
            Step::Index(index) => {
                // Writing into a String cannot fail.
                let _ = write!(out, "[{index}]");
            }
            Step::Key(key) if bracket_keys => {
                let _ = write!(out, "[{key}]");
            }
            Step::Field(name) | Step::Key(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations() {
        let (meta, spec) = (Path::ROOT.field("metadata"), Path::ROOT.field("spec"));
        let labels = meta.field("labels");
        assert_eq!(labels.key("a.b/c").bracketed(), "metadata.labels[a.b/c]");
        assert_eq!(labels.key("app").dotted(), "metadata.labels.app");
        let rules = spec.field("rules");
        let rule = rules.index(3);
        assert_eq!(rule.field("filters").bracketed(), "spec.rules[3].filters");
        assert_eq!(Path::ROOT.bracketed(), "<nil>");
        assert_eq!(Path::ROOT.dotted(), "");
    }
}
