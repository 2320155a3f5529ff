//! The kinds that a dialect says controllers make objects of: one that nobody has would be listed in vain, as one of which there is none.

use std::path::Path;

use serde_json::Value;

use super::definitions::{Named, SERVED};
use super::error::SuiteError;
use super::kubernetes::NAMESPACED;
use crate::dialects::{Dialect, DialectKind, MadeKind, Scope, is_of_kubernetes};
use crate::scenario::{line_of, suggest};

/// The field of a kind that is wrong, and how.
type Wrong = (&'static str, String);

/// Holds them against the kinds of Kubernetes, those of the dialect and the definitions. Of a group that none of these has nobody knows.
pub(super) fn hold(definitions: Named<'_>, dialect: &Dialect, path: &Path, text: &str) -> Result<(), SuiteError> {
    let made_for = |of: &DialectKind| {
        let mut made = of.makes.iter().flat_map(|makes| &makes.kinds);
        made.find_map(|made| {
            let (field, problem) = problem(made, dialect, definitions)?;
            let (of, kind) = (format!("kind={}", of.kind), format!("kind={}", made.kind));
            let line = line_of(text, &["spec", "kinds", &of, "makes", "kinds", &kind, field].map(str::to_owned));
            Some(SuiteError::Undefined { path: path.to_owned(), line, problem: format!("in `makes`: {problem}") })
        })
    };
    dialect.kinds().find_map(made_for).map_or(Ok(()), Err)
}

fn problem(made: &MadeKind, dialect: &Dialect, definitions: Named<'_>) -> Option<Wrong> {
    if is_of_kubernetes(&made.group) {
        return of_kubernetes(made);
    }
    if !made.group.contains('.') {
        let problem = format!("`{}` is no API group: those of definitions are domains without a version", made.group);
        return Some(("group", problem));
    }
    of_definitions(made, definitions).or_else(|| of_dialect(made, dialect))
}

/// What is wrong with a plural, by who has another one.
fn other_plural(made: &MadeKind, known: &str, there: &str) -> Option<Wrong> {
    let MadeKind { kind, plural, .. } = made;
    (plural != known).then(|| ("plural", format!("{kind} has the plural `{plural}` here, and `{known}` {there}")))
}

fn of_kubernetes(made: &MadeKind) -> Option<Wrong> {
    let MadeKind { kind, group, version, .. } = made;
    let of_group = || NAMESPACED.iter().filter(|one| one.group == group);
    let named: Vec<_> = of_group().filter(|one| one.kind == kind).collect();
    let Some(first) = named.first() else {
        let hint = match NAMESPACED.iter().find(|one| one.kind == kind) {
            Some(one) if one.group.is_empty() => "; there is one in its core, so leave `group` out".to_owned(),
            Some(one) => format!("; there is one in the group `{}`", one.group),
            None => suggest(kind, of_group().map(|one| one.kind))
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default(),
        };
        let whose = if group.is_empty() { "its core".to_owned() } else { format!("the group `{group}`") };
        return Some(("kind", format!("Kubernetes has no {kind} for namespaces in {whose}{hint}")));
    };
    // Early versions come and go.
    let is_early = version.contains("alpha") || version.contains("beta");
    if !is_early && named.iter().all(|one| one.version != version) {
        let known: Vec<&str> = named.iter().map(|one| one.version).collect();
        let problem = format!("Kubernetes has no {kind} of the version `{version}`: there is {}", known.join(", "));
        return Some(("version", problem));
    }
    other_plural(made, first.plural, "in Kubernetes")
}

fn of_definitions(made: &MadeKind, Named(definitions, file): Named<'_>) -> Option<Wrong> {
    let MadeKind { kind, group, version, .. } = made;
    let mut of_group = definitions.iter().filter(|one| one["spec"]["group"] == group.as_str()).peekable();
    of_group.peek()?;
    let Some(found) = of_group.find(|one| one["spec"]["names"]["kind"] == kind.as_str()) else {
        // A target may leave some of them out.
        return file.map(|file| ("kind", format!("{file} defines kinds of the group `{group}`, and no {kind}")));
    };
    let file = file.unwrap_or(SERVED);
    if found["spec"]["scope"] == "Cluster" {
        return Some(("kind", in_no_namespace(kind)));
    }
    let versions = found["spec"]["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|one| one["served"] != false).filter_map(|one| one["name"].as_str());
    let served: Vec<&str> = served.collect();
    if !served.contains(&version.as_str()) {
        let problem = format!("{kind} is not served as `{version}` by {file}: there is {}", served.join(", "));
        return Some(("version", problem));
    }
    let plural = found.pointer("/spec/names/plural").and_then(Value::as_str).unwrap_or_default();
    other_plural(made, plural, &format!("in {file}"))
}

fn of_dialect(made: &MadeKind, dialect: &Dialect) -> Option<Wrong> {
    let own = dialect.kind(&made.kind).filter(|own| dialect.group_of(&own.kind) == made.group)?;
    match own.scope {
        Scope::Cluster => Some(("kind", in_no_namespace(&made.kind))),
        Scope::Namespaced => other_plural(made, &own.plural, "among the `kinds`"),
    }
}

fn in_no_namespace(kind: &str) -> String {
    format!("objects of {kind} live in no namespace, and are looked for in one")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// What is told of a kind that is made for the last kind of a dialect, which stands in line 11.
    fn told(made: &str, definitions: &[Value]) -> Option<String> {
        let text = format!(
            "apiVersion: gateproof.dev/v1alpha1\nkind: Dialect\nmetadata: {{name: lamps}}\nspec:\n  title: Lamps\n  groups: [a.test]\n  kinds:\n    \
             - {{kind: House, plural: houses, scope: Cluster}}\n    - kind: Lamp\n      plural: lamps\n      makes: {{label: a, kinds: [{made}]}}\n"
        );
        let dialect = Dialect::parse(&text).unwrap();
        let held = hold(Named(definitions, Some("crds.yaml")), &dialect, Path::new("dialect.yaml"), &text);
        held.err().map(|error| error.to_string().strip_prefix("dialect.yaml:11: in `makes`: ").unwrap().to_owned())
    }

    #[rstest]
    #[case::core("{kind: Service, plural: services}", None)]
    #[case::later(
        "{kind: HorizontalPodAutoscaler, group: autoscaling, version: v2, plural: horizontalpodautoscalers}",
        None
    )]
    #[case::early("{kind: Lease, group: coordination.k8s.io, version: v1beta1, plural: leases}", None)]
    #[case::of_others("{kind: Certificate, group: cert-manager.io, plural: certificate}", None)]
    #[case::own("{kind: Lamp, group: a.test, plural: lamps}", None)]
    #[case::own_plural(
        "{kind: Lamp, group: a.test, plural: lamp}",
        Some("Lamp has the plural `lamp` here, and `lamps` among the `kinds`")
    )]
    #[case::of_no_namespace(
        "{kind: House, group: a.test, plural: houses}",
        Some("objects of House live in no namespace, and are looked for in one")
    )]
    #[case::plural(
        "{kind: Service, plural: service}",
        Some("Service has the plural `service` here, and `services` in Kubernetes")
    )]
    #[case::nobodys(
        "{kind: Jobs, group: batch, plural: jobs}",
        Some("Kubernetes has no Jobs for namespaces in the group `batch`; did you mean `Job`?")
    )]
    #[case::of_another_group(
        "{kind: Deployment, plural: deployments}",
        Some("Kubernetes has no Deployment for namespaces in its core; there is one in the group `apps`")
    )]
    #[case::of_the_core(
        "{kind: Service, group: apps, plural: services}",
        Some(
            "Kubernetes has no Service for namespaces in the group `apps`; there is one in its core, so leave `group` out"
        )
    )]
    #[case::of_the_cluster(
        "{kind: ClusterRole, group: rbac.authorization.k8s.io, plural: clusterroles}",
        Some("Kubernetes has no ClusterRole for namespaces in the group `rbac.authorization.k8s.io`")
    )]
    #[case::version(
        "{kind: Job, group: batch, version: v2, plural: jobs}",
        Some("Kubernetes has no Job of the version `v2`: there is v1")
    )]
    #[case::group(
        "{kind: Deployment, group: app, plural: deployments}",
        Some("`app` is no API group: those of definitions are domains without a version")
    )]
    fn what_nobody_has_is_told(#[case] made: &str, #[case] wrong: Option<&str>) {
        assert_eq!(told(made, &[]).as_deref(), wrong);
    }

    #[rstest]
    #[case::right("{kind: Shade, group: a.test, version: v2, plural: shades}", None)]
    #[case::plural(
        "{kind: Shade, group: a.test, version: v2, plural: shade}",
        Some("Shade has the plural `shade` here, and `shades` in crds.yaml")
    )]
    #[case::version(
        "{kind: Shade, group: a.test, plural: shades}",
        Some("Shade is not served as `v1` by crds.yaml: there is v2")
    )]
    #[case::nobodys(
        "{kind: Bulb, group: a.test, plural: bulbs}",
        Some("crds.yaml defines kinds of the group `a.test`, and no Bulb")
    )]
    fn definitions_tell_of_theirs(#[case] made: &str, #[case] wrong: Option<&str>) {
        let shade = json!({"spec": {
            "group": "a.test",
            "names": {"kind": "Shade", "plural": "shades"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": false}, {"name": "v2", "served": true}],
        }});
        assert_eq!(told(made, &[shade]).as_deref(), wrong);
    }
}
