//! Content negotiation by the Accept header.

use crate::error::ApiError;

/// What an answer shows of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The objects.
    Full,
    /// Their metadata, as `PartialObjectMetadata` of this version of `meta.k8s.io`.
    Partial(&'static str),
    /// Rows, as `Table` of this version of `meta.k8s.io`.
    Table(&'static str),
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// What was negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// What is shown.
    pub form: Form,
    /// How it is written.
    pub format: Format,
    /// Whether the form is named for lists, or for single objects; nothing where the name is the same.
    pub for_lists: Option<bool>,
}

/// One clause of an Accept header.
pub struct Clause<'a> {
    /// The media type without parameters.
    pub media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or("");
        Self { media, parameters: parts.filter_map(|part| part.split_once('=')).collect() }
    }

    /// A parameter's value, or nothing.
    pub fn parameter(&self, name: &str) -> &'a str {
        self.parameters.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }
}

/// The clauses of an Accept header; nothing stands for anything.
pub fn clauses(header: &str) -> Vec<Clause<'_>> {
    let header = if header.trim().is_empty() { "*/*" } else { header };
    let mut clauses: Vec<Clause<'_>> = header.split(',').map(Clause::parse).collect();
    let weight = |clause: &Clause<'_>| match clause.parameter("q").parse::<f32>() {
        Ok(q) => (q.clamp(0.0, 1.0) * 1000.0) as u32,
        Err(_) => 1000,
    };
    clauses.sort_by_key(|clause| std::cmp::Reverse(weight(clause)));
    clauses
}

fn format(media: &str) -> Option<Format> {
    match media {
        "application/json" | "application/*" | "*/*" => Some(Format::Json),
        "application/yaml" => Some(Format::Yaml),
        _ => None,
    }
}

impl Accepted {
    /// The first clause that the server can satisfy; protobuf it cannot.
    ///
    /// # Errors
    /// 406 if there is none.
    pub fn parse(header: &str) -> Result<Self, ApiError> {
        for clause in clauses(header) {
            let Some(format) = format(clause.media) else { continue };
            let version = match clause.parameter("v") {
                "v1beta1" => "meta.k8s.io/v1beta1",
                _ => "meta.k8s.io/v1",
            };
            let form = match (clause.parameter("as"), clause.parameter("g")) {
                ("", _) => Form::Full,
                ("Table", "meta.k8s.io") => Form::Table(version),
                ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io") => Form::Partial(version),
                _ => continue,
            };
            let for_lists = matches!(form, Form::Partial(_)).then(|| clause.parameter("as").ends_with("List"));
            return Ok(Self { form, format, for_lists });
        }
        Err(ApiError::not_acceptable())
    }
}

impl Accepted {
    /// Whether the form can show a list, or a single object.
    ///
    /// # Errors
    /// 406 for a list in the form of one object. The other way round Kubernetes answers 500, as if it were its own fault.
    pub fn suits(self, list: bool) -> Result<Self, ApiError> {
        match self.for_lists {
            Some(named) if named != list && list => Err(ApiError::not_acceptable()),
            Some(named) if named != list => Err(ApiError::failed("an object cannot be shown as a list")),
            _ => Ok(self),
        }
    }
}

impl Format {
    /// The Content-Type of the answer.
    pub fn media(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", Some(Form::Full))]
    #[case("application/vnd.kubernetes.protobuf,application/json", Some(Form::Full))]
    #[case("application/vnd.kubernetes.protobuf, */*", Some(Form::Full))]
    #[case("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Some(Form::Table("meta.k8s.io/v1")))]
    #[case("application/json;as=Other;v=v1;g=meta.k8s.io,application/json", Some(Form::Full))]
    #[case("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Some(Form::Partial("meta.k8s.io/v1")))]
    #[case("application/json;q=0.1,application/json;as=Table;g=meta.k8s.io;v=v1", Some(Form::Table("meta.k8s.io/v1")))]
    #[case("text/html", None)]
    #[case("application/vnd.kubernetes.protobuf", None)]
    fn negotiates(#[case] header: &str, #[case] expected: Option<Form>) {
        assert_eq!(Accepted::parse(header).ok().map(|accepted| accepted.form), expected);
    }
}
