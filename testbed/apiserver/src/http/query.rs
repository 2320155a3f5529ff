//! Query parameters.

use crate::cluster::{Continue, FieldValidation, ListOptions, WriteOptions};
use crate::error::{ApiError, StatusCause};
use crate::resource::Resource;
use crate::select::{FieldSelector, LabelSelector, Selection};

/// The parameters of a request.
#[derive(Debug, Default)]
pub struct Query(Vec<(String, String)>);

/// What a watch is asked for.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// What to leave out.
    pub selection: Selection,
    /// From where on; nothing and 0 stand for the present.
    pub revision: Option<u64>,
    /// Whether bookmarks are welcome.
    pub bookmarks: bool,
    /// `sendInitialEvents`, where it is given.
    pub initial_events: Option<bool>,
    /// After how many seconds the watch ends.
    pub timeout: Option<u64>,
}

impl Query {
    /// Reads a query string.
    pub fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// A parameter's value; nothing where it is missing or empty.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Every value of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is true or false; as in Kubernetes, it is true for every text but `false` and `0`.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.all(name).next().map(|value| !["false", "0"].contains(&value))
    }

    fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                ApiError::bad_request(format!(
                    "query parameter {name} is {text:?}, not a number of 64 bits without sign"
                ))
            }),
        }
    }

    /// A parameter that Kubernetes reads as a number with a sign; those below zero count as none.
    fn signed(&self, name: &str) -> Result<Option<u64>, ApiError> {
        match self.get(name) {
            "" => Ok(None),
            text => {
                text.parse().map(|number: i64| u64::try_from(number).ok().filter(|&number| number > 0)).map_err(|_| {
                    ApiError::bad_request(format!("query parameter {name} is {text:?}, not a number of 64 bits"))
                })
            }
        }
    }

    /// Namespace, label and field selectors.
    ///
    /// # Errors
    /// 400 for selectors that cannot be read or are not offered.
    pub fn selection(&self, resource: &Resource, namespace: &str) -> Result<Selection, ApiError> {
        let (labels, fields) = (self.get("labelSelector"), self.get("fieldSelector"));
        let unable = |why: String| {
            let what = format!("{}, Resource={}", resource.api_version(), resource.plural);
            ApiError::bad_request(format!(
                "unable to find {what:?} that match label selector {labels:?}, field selector {fields:?}: {why}"
            ))
        };
        Ok(Selection {
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            labels: LabelSelector::parse(labels).map_err(unable)?,
            fields: FieldSelector::parse(fields, resource).map_err(unable)?,
        })
    }

    /// The options of a list, held against the rules of `ValidateListOptions`.
    ///
    /// # Errors
    /// 400 for values that cannot be read, 422 for combinations that are not allowed.
    pub fn list(&self, resource: &Resource, namespace: &str) -> Result<ListOptions, ApiError> {
        let (version, matching) = (self.get("resourceVersion"), self.get("resourceVersionMatch"));
        let resume = self.get("continue");
        let mut causes = Vec::new();
        if !matching.is_empty() {
            let mut forbid = |why| causes.push(StatusCause::forbidden("resourceVersionMatch", why));
            if version.is_empty() {
                forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
            }
            if !resume.is_empty() {
                forbid("resourceVersionMatch is forbidden when continue is provided");
            }
            if matching == "Exact" && version == "0" {
                forbid("resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"");
            }
            if !["Exact", "NotOlderThan"].contains(&matching) {
                causes.push(unsupported(matching, "\"\", \"Exact\", \"NotOlderThan\""));
            }
        }
        if self.flag("sendInitialEvents").is_some() {
            causes.push(StatusCause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        refuse(causes)?;
        // Version 0 asks for any state at hand, and gets all of it: a real server's cache has no pages.
        let paged = version != "0" || !resume.is_empty();
        let limit = self.signed("limit")?.filter(|_| paged);
        self.signed("timeoutSeconds")?;
        let revision = self.number("resourceVersion")?;
        let resume = if resume.is_empty() { None } else { Some(Continue::parse(resume)?) };
        if resume.is_some() && revision.is_some_and(|revision| revision != 0) {
            return Err(ApiError::bad_request("specifying resource version is not allowed when using continue"));
        }
        Ok(ListOptions {
            selection: self.selection(resource, namespace)?,
            limit: limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            resume,
            revision,
            // A limit with a version and no match is the oldest way to say Exact.
            exact: matching == "Exact" || (matching.is_empty() && limit.is_some()),
        })
    }

    /// The options of a watch, held against the rules of `ValidateListOptions`.
    ///
    /// # Errors
    /// 400 for values that cannot be read, 422 for combinations that are not allowed.
    pub fn watch(&self, resource: &Resource, namespace: &str) -> Result<WatchOptions, ApiError> {
        let matching = self.get("resourceVersionMatch");
        let initial_events = self.flag("sendInitialEvents");
        let mut causes = Vec::new();
        let mut forbid = |why| causes.push(StatusCause::forbidden("resourceVersionMatch", why));
        if initial_events.is_some() && matching != "NotOlderThan" {
            forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        }
        if !matching.is_empty() {
            if initial_events.is_none() {
                forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
            }
            if matching != "NotOlderThan" {
                causes.push(unsupported(matching, "\"NotOlderThan\""));
            }
        }
        let mut forbid = |why| causes.push(StatusCause::forbidden("resourceVersionMatch", why));
        if !self.get("continue").is_empty() {
            forbid("resourceVersionMatch is forbidden when continue is provided");
        }
        refuse(causes)?;
        // Kubernetes does not count a version that is none as the client's fault here.
        let revision = self.number("resourceVersion").map_err(|error| ApiError::failed(error.message))?;
        Ok(WatchOptions {
            selection: self.selection(resource, namespace)?,
            revision,
            bookmarks: self.flag("allowWatchBookmarks").unwrap_or(false),
            initial_events,
            timeout: self.signed("timeoutSeconds")?,
        })
    }

    /// Reads `includeObject`, what the rows of a Table show beside their cells.
    ///
    /// # Errors
    /// 400 for anything but the three values that there are.
    pub fn included(&self) -> Result<&str, ApiError> {
        match self.get("includeObject") {
            known @ ("" | "None" | "Metadata" | "Object") => Ok(known),
            other => Err(ApiError::bad_request(format!(
                "unrecognized includeObject value {other:?}, must be \"None\", \"Metadata\" or \"Object\""
            ))),
        }
    }

    /// Reads the `resourceVersion` of one object's GET, which may not be newer than the newest there is.
    ///
    /// # Errors
    /// 400 for what is no version, 504 for one that is yet to come.
    pub fn not_newer(&self, current: u64) -> Result<(), ApiError> {
        match self.number("resourceVersion")? {
            Some(asked) if asked > current => Err(ApiError::too_large_resource_version(asked, current)),
            _ => Ok(()),
        }
    }

    /// Reads `gracePeriodSeconds`, which changes nothing: there is no kubelet.
    ///
    /// # Errors
    /// 400 for what is no number.
    pub fn grace_period(&self) -> Result<(), ApiError> {
        self.signed("gracePeriodSeconds").map(drop)
    }

    /// Whether nothing shall be kept. `options` is the kind of the request's options, for refusals.
    ///
    /// # Errors
    /// 422 for anything but `All`.
    pub fn dry_run(&self, options: &str) -> Result<bool, ApiError> {
        let mut asked = false;
        for value in self.all("dryRun") {
            if value != "All" {
                let message = format!("Unsupported value: {value:?}: supported values: \"All\"");
                let cause = StatusCause::new("FieldValueNotSupported", "dryRun", message);
                return Err(ApiError::invalid("meta.k8s.io", options, "", vec![cause]));
            }
            asked = true;
        }
        Ok(asked)
    }

    /// The options of a write, of which `options` is the kind; the manager is the user agent's where none is named, except
    /// for server-side apply.
    ///
    /// # Errors
    /// 400 for values that cannot be read, 422 for values that are not allowed.
    pub fn write(&self, options: &str, user_agent: &str, apply: bool) -> Result<WriteOptions, ApiError> {
        let validation = match self.get("fieldValidation") {
            "" => FieldValidation::default(),
            "Ignore" => FieldValidation::Ignore,
            "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                let message =
                    format!("Unsupported value: {other:?}: supported values: \"Ignore\", \"Strict\", \"Warn\"");
                let cause = StatusCause::new("FieldValueNotSupported", "fieldValidation", message);
                return Err(ApiError::invalid("meta.k8s.io", options, "", vec![cause]));
            }
        };
        let force = self.flag("force");
        if force.is_some() && !apply {
            let cause = StatusCause::forbidden("force", "may not be specified for non-apply patch");
            return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
        }
        let named = self.get("fieldManager");
        let mut causes = Vec::new();
        if named.len() > 128 {
            causes.push(StatusCause::new(
                "FieldValueTooLong",
                "fieldManager",
                "Too long: may not be more than 128 bytes",
            ));
        }
        if named.chars().any(char::is_control) {
            causes.push(StatusCause::invalid(
                "fieldManager",
                &named.into(),
                "should only contain printable characters",
            ));
        }
        if !causes.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", options, "", causes));
        }
        let manager = match named {
            "" if !apply => user_agent.split('/').next().unwrap_or("").chars().take(128).collect(),
            named => named.to_owned(),
        };
        let manager = if manager.is_empty() && !apply { "unknown".to_owned() } else { manager };
        let (dry_run, force) = (self.dry_run(options)?, force.unwrap_or(false));
        Ok(WriteOptions { dry_run, manager, validation, force, ..WriteOptions::default() })
    }
}

fn unsupported(value: &str, supported: &str) -> StatusCause {
    let message = format!("Unsupported value: {value:?}: supported values: {supported}");
    StatusCause::new("FieldValueNotSupported", "resourceVersionMatch", message)
}

fn refuse(causes: Vec<StatusCause>) -> Result<(), ApiError> {
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", causes)) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;

    use super::*;
    use crate::kinds::Registry;

    #[rstest]
    #[case("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", 0)]
    #[case("sendInitialEvents=true", 422)]
    #[case("sendInitialEvents=false", 422)]
    #[case("resourceVersionMatch=NotOlderThan", 422)]
    #[case("sendInitialEvents=true&resourceVersionMatch=Exact", 422)]
    #[case("resourceVersion=x", 500)]
    #[case("continue=x", 422)]
    #[case("sendInitialEvents=maybe&resourceVersionMatch=NotOlderThan", 0)]
    #[case("timeoutSeconds=x", 400)]
    #[case("resourceVersion=7&timeoutSeconds=3", 0)]
    fn watches(#[case] text: &str, #[case] code: u16) {
        let registry = Registry::new([]);
        let pods = registry.resource("", "v1", "pods").unwrap();
        let answer = Query::parse(text).watch(pods, "");
        assert_eq!(answer.err().map_or(0, |error| error.code.as_u16()), code);
    }

    #[rstest]
    #[case("resourceVersion=5&resourceVersionMatch=Exact", 0)]
    #[case("resourceVersion=0&resourceVersionMatch=Exact", 422)]
    #[case("resourceVersionMatch=Exact", 422)]
    #[case("resourceVersion=5&resourceVersionMatch=Newest", 422)]
    #[case("sendInitialEvents=false", 422)]
    #[case("continue=x", 400)]
    #[case("labelSelector=a%20b", 400)]
    #[case("fieldSelector=spec.foo%3D1", 400)]
    #[case("limit=10&labelSelector=a%3Db", 0)]
    #[case("limit=-1", 0)]
    #[case("limit=x", 400)]
    #[case("timeoutSeconds=x", 400)]
    fn lists(#[case] text: &str, #[case] code: u16) {
        let registry = Registry::new([]);
        let pods = registry.resource("", "v1", "pods").unwrap();
        let answer = Query::parse(text).list(pods, "");
        assert_eq!(answer.err().map_or(0, |error| error.code.as_u16()), code);
    }
}
