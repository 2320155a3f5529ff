use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{CONFLICTS, Tamper, TamperError, read};
use crate::{
    faults::specs::unguard,
    runtime::kinds::built_in_release,
    snapshot::{Kind, ObjectKey},
};

/// The kind of definitions.
const DEFINITION: &str = Kind::CustomResourceDefinition.name();

/// What a schema refuses a value for, beside its type.
const RULES: [&str; 14] = [
    "x-kubernetes-validations",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "enum",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minProperties",
    "required",
];

impl Tamper {
    /// Takes every rule out of the CRD of this name, so that the API server stores what it should refuse.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn admit_anything(&self, crd: &str) -> Result<(), TamperError> {
        self.edit_schemas(crd, drop_rules).await
    }

    /// Puts a rule into the CRD of this name that no `spec` satisfies, so that the API server refuses every object.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn refuse_everything(&self, crd: &str) -> Result<(), TamperError> {
        self.edit_schemas(crd, |schema| {
            if let Some(spec) = schema.pointer_mut("/properties/spec") {
                spec["x-kubernetes-validations"] = json!([{"rule": "false", "message": "nothing is taken"}]);
            }
        })
        .await
    }

    /// Changes the schema of every version of the CRD of this name.
    async fn edit_schemas(&self, crd: &str, edit: fn(&mut Value)) -> Result<(), TamperError> {
        let (api, key) = self.crd(crd)?;
        for _ in 0..CONFLICTS {
            let mut object = read(&api, DEFINITION, &key).await?;
            for version in object.pointer_mut("/spec/versions").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
                    edit(schema);
                }
            }
            let object: DynamicObject =
                serde_json::from_value(object).map_err(|error| super::unreadable(DEFINITION, &key, &error))?;
            match api.replace(&key.name, &PostParams::default(), &object).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                Err(error) => return Err(Box::new(error).into()),
            }
        }
        Err(super::unreadable(DEFINITION, &key, &"it keeps changing"))
    }

    /// Takes an annotation off the CRD of this name, and before that the binding of the policy that refuses it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn unannotate_crd(&self, crd: &str, annotation: &str) -> Result<(), TamperError> {
        let (api, key) = self.crd(crd)?;
        unguard(api.clone().into_client()).await.map_err(Box::new)?;
        let patch = json!({"metadata": {"annotations": {annotation: null}}});
        api.patch(&key.name, &PatchParams::default(), &Patch::Merge(patch)).await.map_err(Box::new)?;
        Ok(())
    }

    fn crd(&self, name: &str) -> Result<(Api<DynamicObject>, ObjectKey), TamperError> {
        let key = ObjectKey::new("", name);
        Ok((self.api_of(&built_in_release(Kind::CustomResourceDefinition), &key)?, key))
    }
}

/// Drops the rules of a schema and of all below it. A property may have a rule's name, so properties are gone through by
/// value alone.
fn drop_rules(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for rule in RULES {
        fields.remove(rule);
    }
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(drop_rules),
            ("items" | "additionalProperties", value) => drop_rules(value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => all.iter_mut().for_each(drop_rules),
            ("not", value) => drop_rules(value),
            _ => {}
        }
    }
}
