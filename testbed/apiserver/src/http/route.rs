//! What a path names.

use http::Method;

/// A path, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: the groups.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/VERSION` or `/apis/GROUP/VERSION`.
    Resources(String, String),
    /// Objects.
    Object(ObjectPath),
    /// `/version`.
    Version,
    /// `/livez`, `/readyz`, `/healthz` and what is below them.
    Health,
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3` and below.
    OpenApiV3(String),
    /// `/`: the paths.
    Root,
    /// Nothing that is served.
    Unknown,
}

/// The path of a collection, an object or a subresource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectPath {
    /// The API group, empty for the core group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The namespace, empty for all or for cluster-scoped kinds.
    pub namespace: String,
    /// The resource's plural name.
    pub plural: String,
    /// The object's name, empty for the collection.
    pub name: String,
    /// The subresource, or empty.
    pub subresource: String,
    /// Whether the path itself asks for a watch, as the old form does.
    pub watch: bool,
}

impl Route {
    /// Takes a path apart.
    pub fn parse(path: &str) -> Self {
        let segments: Vec<String> = path.split('/').filter(|segment| !segment.is_empty()).map(decoded).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            [] => Self::Root,
            ["api"] => Self::CoreVersions,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["api", version] => Self::Resources(String::new(), (*version).to_owned()),
            ["apis", group, version] => Self::Resources((*group).to_owned(), (*version).to_owned()),
            ["api", version, rest @ ..] => ObjectPath::parse("", version, rest).map_or(Self::Unknown, Self::Object),
            ["apis", group, version, rest @ ..] => {
                ObjectPath::parse(group, version, rest).map_or(Self::Unknown, Self::Object)
            }
            ["version"] => Self::Version,
            ["livez" | "readyz" | "healthz", ..] => Self::Health,
            ["openapi", "v2"] => Self::OpenApiV2,
            ["openapi", "v3", rest @ ..] => Self::OpenApiV3(rest.join("/")),
            _ => Self::Unknown,
        }
    }
}

impl ObjectPath {
    fn parse(group: &str, version: &str, rest: &[&str]) -> Option<Self> {
        let (watch, rest) = match rest {
            ["watch", rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let base = Self { group: group.to_owned(), version: version.to_owned(), watch, ..Self::default() };
        let to = |plural: &str, name: &str, subresource: &str| Self {
            plural: plural.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
            ..base.clone()
        };
        Some(match rest {
            ["namespaces", name, subresource @ ("status" | "finalize")] if group.is_empty() => {
                to("namespaces", name, subresource)
            }
            ["namespaces", namespace, plural, tail @ ..] => {
                let name = tail.first().copied().unwrap_or("");
                let subresource = tail.get(1).copied().unwrap_or("");
                if tail.len() > 2 {
                    return None;
                }
                Self { namespace: (*namespace).to_owned(), ..to(plural, name, subresource) }
            }
            [plural] => to(plural, "", ""),
            [plural, name] => to(plural, name, ""),
            [plural, name, subresource] => to(plural, name, subresource),
            _ => return None,
        })
    }

    /// The verb as Kubernetes authorizes it.
    pub fn verb(&self, method: &Method, watch: bool) -> &'static str {
        match (method.as_str(), self.name.is_empty()) {
            ("GET" | "HEAD", _) if watch => "watch",
            ("GET" | "HEAD", true) => "list",
            ("GET" | "HEAD", false) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", true) => "deletecollection",
            ("DELETE", false) => "delete",
            _ => "other",
        }
    }

    /// `resource.group`, with `/subresource` behind it where there is one.
    pub fn counted_as(&self) -> String {
        let mut text = self.plural.clone();
        if !self.group.is_empty() {
            text = format!("{text}.{}", self.group);
        }
        if !self.subresource.is_empty() {
            text = format!("{text}/{}", self.subresource);
        }
        text
    }
}

fn decoded(segment: &str) -> String {
    let bytes = segment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = segment.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/api/v1/namespaces", "", "namespaces", "", "")]
    #[case("/api/v1/namespaces/a", "", "namespaces", "a", "")]
    #[case("/api/v1/namespaces/a/status", "", "namespaces", "a", "status")]
    #[case("/api/v1/namespaces/a/pods", "a", "pods", "", "")]
    #[case("/api/v1/namespaces/a/pods/b/status", "a", "pods", "b", "status")]
    #[case("/api/v1/nodes/n", "", "nodes", "n", "")]
    #[case("/apis/g.io/v1/namespaces/a/things/b%20c", "a", "things", "b c", "")]
    #[case("/apis/g.io/v1/things", "", "things", "", "")]
    fn objects(#[case] path: &str, #[case] ns: &str, #[case] plural: &str, #[case] name: &str, #[case] sub: &str) {
        let Route::Object(found) = Route::parse(path) else { unreachable!("{path} names objects") };
        assert_eq!((found.namespace.as_str(), found.plural.as_str()), (ns, plural));
        assert_eq!((found.name.as_str(), found.subresource.as_str()), (name, sub));
    }

    #[rstest]
    #[case("/", Route::Root)]
    #[case("/api", Route::CoreVersions)]
    #[case("/apis/", Route::Groups)]
    #[case("/apis/apps", Route::Group("apps".into()))]
    #[case("/apis/apps/v1", Route::Resources("apps".into(), "v1".into()))]
    #[case("/openapi/v3/apis/apps/v1", Route::OpenApiV3("apis/apps/v1".into()))]
    #[case("/readyz/ping", Route::Health)]
    #[case("/api/v1/namespaces/a/pods/b/c/d", Route::Unknown)]
    #[case("/metrics", Route::Unknown)]
    fn others(#[case] path: &str, #[case] expected: Route) {
        assert_eq!(Route::parse(path), expected);
    }
}
