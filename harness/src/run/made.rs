//! Lists what a target made for an object of a scenario.

use serde_json::Value;

use super::environment::Environment;
use crate::cluster::api::{Api, ApiError};
use crate::log::{Body, Carrier, ObjectKey};
use crate::scenario::MadeFor;

/// Lists what was made for the first of these objects, in its namespace, which is one of the run's: nobody else's are read. Of each
/// object no more than what is asked for is kept.
pub(super) async fn listed(env: &Environment, step: usize, expected: &MadeFor, objects: &[ObjectKey]) -> Body {
    let asked = env.log.now();
    let listed = match objects.first().and_then(|object| Some((object.namespace.as_deref()?, object.name.as_str()))) {
        Some((namespace, name)) => list(&env.api, expected, namespace, name).await.map_err(|error| error.to_string()),
        None => Err("it is in no namespace".to_owned()),
    };
    let (found, error) = listed.map_or_else(|error| (Vec::new(), Some(error)), |found| (found, None));
    Body::Listed { step, asked, found, error }
}

async fn list(api: &Api, expected: &MadeFor, namespace: &str, name: &str) -> Result<Vec<Carrier>, ApiError> {
    let mut found = Vec::new();
    for kind in &expected.kinds {
        let list = match api.get(&kind.path(namespace, &expected.label, name)).await {
            // A kind that the cluster does not have has no objects.
            Err(error) if error.is_not_found() => continue,
            list => list?,
        };
        let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
        found.extend(items.filter_map(|object| expected.seen(kind, object)));
    }
    Ok(found)
}
