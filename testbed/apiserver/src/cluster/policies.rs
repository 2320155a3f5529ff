//! Validating admission policies: rules in the cluster that refuse requests, or warn of them.
//!
//! They hold from the moment at which policy and binding are stored. Requests are held against them in the version in which they come,
//! whatever a policy says of equivalent ones; there are no parameters and no authorizer.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Cluster, Target, WriteOptions};
use crate::error::ApiError;
use crate::kinds::policies::{BINDINGS, POLICIES, is_one};
use crate::kinds::{defaults, validation};
use crate::meta;
use crate::resource::Resource;
use crate::schema::cel::{Answer, Engine, KubeCel, untyped};
use crate::store::{Key, NAMESPACES};

type Cel = <KubeCel as Engine>::Value;

/// A creation.
pub(super) const CREATE: &str = "CREATE";
/// A change, by whatever verb.
pub(super) const UPDATE: &str = "UPDATE";
/// A deletion.
pub(super) const DELETE: &str = "DELETE";

/// What is asked for.
pub(super) struct Asked<'a> {
    /// What is to be done.
    pub(super) operation: &'static str,
    /// The object as it is to be.
    pub(super) new: Option<&'a Value>,
    /// The object as it is.
    pub(super) old: Option<&'a Value>,
    /// Who asks.
    pub(super) user: &'a Value,
    /// Whether nothing is kept of it.
    pub(super) dry_run: bool,
}

impl<'a> Asked<'a> {
    pub(super) fn of(
        operation: &'static str,
        new: Option<&'a Value>,
        old: Option<&'a Value>,
        options: &'a WriteOptions,
    ) -> Self {
        Self { operation, new, old, user: &options.user, dry_run: options.dry_run }
    }

    fn name(&self) -> &str {
        self.new.or(self.old).map(meta::name).unwrap_or_default()
    }

    /// What expressions see as `request`. What does not apply is not there.
    fn request(&self, target: Target<'_>) -> Value {
        let resource = target.resource;
        let (group, version) = (&resource.group, &resource.version);
        let mut request = json!({
            "kind": {"group": group, "version": version, "kind": resource.kind},
            "resource": {"group": group, "version": version, "resource": resource.plural},
            "operation": self.operation,
            "dryRun": self.dry_run,
            "userInfo": self.user,
        });
        if self.user.is_null() {
            request["userInfo"] = json!({"username": "system:apiserver", "groups": ["system:masters"]});
        }
        for (field, value) in
            [("name", self.name()), ("namespace", target.namespace), ("subResource", target.subresource)]
        {
            if !value.is_empty() {
                request[field] = value.into();
            }
        }
        request
    }
}

/// Why a policy does not admit a request.
struct Denial {
    reason: String,
    message: String,
}

impl Cluster {
    /// Stores a policy or a binding that is there from the start.
    pub(super) fn install_policy(&self, mut object: Value, now: &str) -> Result<(), ApiError> {
        let registry = self.registry();
        let resource = registry.by_kind(meta::api_version(&object), meta::kind(&object));
        let resource = resource.filter(|_| is_one(&object)).ok_or_else(ApiError::no_such_path)?;
        defaults::apply(resource, &mut object);
        let causes = validation::check(resource, &object, None, self.addresses);
        let name = meta::name(&object).to_owned();
        if !causes.is_empty() {
            return Err(ApiError::invalid(&resource.group, &resource.kind, &name, causes));
        }
        self.own(&mut object, now);
        let metadata = meta::entry(&mut object);
        metadata.insert("uid".into(), Uuid::new_v4().to_string().into());
        metadata.insert("creationTimestamp".into(), now.into());
        metadata.insert("generation".into(), 1.into());
        let stored = self.store.insert(&resource.collection, object);
        stored.map(drop).map_err(|error| ApiError::from_store(error, resource, "", &name))
    }

    /// Holds a request against every policy that is bound. Returns what to warn of.
    pub(super) fn admit(&self, target: Target<'_>, asked: &Asked<'_>) -> Result<Vec<String>, ApiError> {
        let mut warnings = Vec::new();
        // Whoever locks everybody out of policies by one could not be helped.
        if [POLICIES, BINDINGS].contains(&&*target.resource.collection) {
            return Ok(warnings);
        }
        for binding in self.store.all(BINDINGS) {
            let name = binding["spec"]["policyName"].as_str().unwrap_or_default();
            let Some(policy) = self.store.get(POLICIES, &Key::new("", name)) else { continue };
            if !self.matches(&policy["spec"]["matchConstraints"], target, asked)
                || !self.matches(&binding["spec"]["matchResources"], target, asked)
            {
                continue;
            }
            let bound = meta::name(&binding);
            for Denial { reason, message } in self.denials(&policy["spec"], target, asked) {
                let does = |action: &str| meta::texts(&binding["spec"]["validationActions"]).contains(&action);
                if does("Deny") {
                    let why =
                        format!("ValidatingAdmissionPolicy '{name}' with binding '{bound}' denied request: {message}");
                    return Err(ApiError::denied(target.resource, asked.name(), &reason, &why));
                }
                if does("Warn") {
                    warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{bound}': {message}"
                    ));
                }
            }
        }
        Ok(warnings)
    }

    /// Whether a request is one of those that constraints are about. None are about everything.
    fn matches(&self, constraints: &Value, target: Target<'_>, asked: &Asked<'_>) -> bool {
        let rules = |field: &str| constraints[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let fits = |rule: &Value| fits(rule, target, asked);
        let (wanted, excluded) = (rules("resourceRules"), rules("excludeResourceRules"));
        if !(wanted.is_empty() || wanted.iter().any(fits)) || excluded.iter().any(fits) {
            return false;
        }
        let is_namespace = &*target.resource.collection == NAMESPACES;
        let namespace = self.store.get(NAMESPACES, &Key::new("", target.namespace));
        let namespace = namespace.as_deref().or_else(|| asked.new.or(asked.old).filter(|_| is_namespace));
        let by_namespace = namespace.is_none_or(|one| selects(&constraints["namespaceSelector"], one));
        by_namespace
            && [asked.new, asked.old].into_iter().flatten().any(|one| selects(&constraints["objectSelector"], one))
    }

    /// What of a policy's validations a request does not satisfy.
    fn denials(&self, policy: &Value, target: Target<'_>, asked: &Asked<'_>) -> Vec<Denial> {
        let see = |value: Option<&Value>| untyped::<KubeCel>(value.unwrap_or(&Value::Null));
        let namespace = self.store.get(NAMESPACES, &Key::new("", target.namespace));
        let mut scope = vec![
            ("object", see(asked.new)),
            ("oldObject", see(asked.old)),
            ("request", see(Some(&asked.request(target)))),
            ("namespaceObject", see(namespace.as_deref())),
        ];
        let fails = policy["failurePolicy"] != "Ignore";
        let listed = |field: &str| policy[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let broken = |source: &str, error: &str| Denial {
            reason: String::new(),
            message: format!("expression '{source}' resulted in error: {error}"),
        };
        let mut open = None;
        for condition in listed("matchConditions") {
            match answer(&scope, text(condition, "expression")) {
                Ok(Answer::Bool(true)) => {}
                Ok(Answer::Bool(false)) => return Vec::new(),
                other => open = open.or(Some(broken(text(condition, "expression"), &no_bool(other)))),
            }
        }
        if let Some(denial) = open {
            return if fails { vec![denial] } else { Vec::new() };
        }
        let mut variables: Vec<(String, Cel)> = Vec::new();
        scope.push(("variables", KubeCel::map(Vec::new())));
        for variable in listed("variables") {
            // One that comes to nothing fails where it is used.
            let value = KubeCel::compile(text(variable, "expression")).and_then(|one| KubeCel::value(&scope, &one));
            if let Ok(value) = value {
                variables.push((text(variable, "name").to_owned(), value));
                scope.pop();
                scope.push(("variables", KubeCel::map(variables.clone())));
            }
        }
        let judge = |validation: &Value| {
            let source = text(validation, "expression");
            match answer(&scope, source) {
                Ok(Answer::Bool(true)) => None,
                Ok(Answer::Bool(false)) => {
                    let own = match answer(&scope, text(validation, "messageExpression")) {
                        Ok(Answer::Text(own)) if !own.trim().is_empty() => Some(own),
                        _ => None,
                    };
                    let message = own.unwrap_or_else(|| match text(validation, "message").trim() {
                        "" => format!("failed expression: {}", source.trim()),
                        message => message.to_owned(),
                    });
                    Some(Denial { reason: text(validation, "reason").to_owned(), message })
                }
                other => fails.then(|| broken(source, &no_bool(other))),
            }
        };
        listed("validations").iter().filter_map(judge).collect()
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn answer(scope: &[(&str, Cel)], source: &str) -> Result<Answer, String> {
    let program = KubeCel::compile(source)?;
    KubeCel::evaluate(scope, &[&program]).pop().unwrap_or(Ok(Answer::Other))
}

fn no_bool(answer: Result<Answer, String>) -> String {
    answer.err().unwrap_or_else(|| "it is neither true nor false".to_owned())
}

/// Whether a rule names what is asked for.
fn fits(rule: &Value, target: Target<'_>, asked: &Asked<'_>) -> bool {
    let Resource { group, version, plural, namespaced, .. } = &**target.resource;
    let names = |field: &str, one: &str| meta::texts(&rule[field]).iter().any(|name| ["*", one].contains(name));
    let is_resource = |name: &&str| match name.split_once('/') {
        None => target.subresource.is_empty() && ["*", plural.as_str()].contains(name),
        Some((of, subresource)) => {
            ["*", plural.as_str()].contains(&of)
                && (subresource == "*" || (subresource == target.subresource && !subresource.is_empty()))
        }
    };
    let in_scope = match text(rule, "scope") {
        "Cluster" => !namespaced,
        "Namespaced" => *namespaced,
        _ => true,
    };
    let named = meta::texts(&rule["resourceNames"]);
    names("apiGroups", group)
        && names("apiVersions", version)
        && names("operations", asked.operation)
        && meta::texts(&rule["resources"]).iter().any(is_resource)
        && in_scope
        && (named.is_empty() || named.contains(&asked.name()))
}

/// Whether a LabelSelector selects an object; none selects everything.
fn selects(selector: &Value, object: &Value) -> bool {
    let mut equal = selector["matchLabels"].as_object().into_iter().flatten();
    let mut expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    equal.all(|(key, value)| meta::label(object, key) == value.as_str())
        && expressions.all(|one| {
            let label = meta::label(object, text(one, "key"));
            let is_among = label.is_some_and(|label| meta::texts(&one["values"]).contains(&label));
            match text(one, "operator") {
                "In" => is_among,
                "NotIn" => !is_among,
                "Exists" => label.is_some(),
                _ => label.is_none(),
            }
        })
}
