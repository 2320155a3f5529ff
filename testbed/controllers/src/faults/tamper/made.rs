//! Objects that are made for Gateways, made wrongly.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ObjectEdit, Tamper, TamperError, lock};
use crate::{
    reconcile::infrastructure::Made,
    runtime::{
        objects::put,
        seams::{ObjectsSeam, Seen},
    },
    snapshot::ObjectKey,
};

/// What is wrong with what is made, and what would be made if nothing were.
#[derive(Default)]
pub(super) struct Wrong {
    edits: Vec<(ObjectKey, ObjectEdit)>,
    plain: BTreeMap<ObjectKey, Vec<Value>>,
}

impl Wrong {
    fn spoil(&self, gateway: &ObjectKey, object: &mut Value) {
        self.edits.iter().filter(|(of, _)| of == gateway).for_each(|(_, edit)| edit(object));
    }
}

impl Tamper {
    /// Makes everything wrong that is made for a Gateway, and keeps it so. Returns once what there is has been written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn made(&self, gateway: &ObjectKey, edit: ObjectEdit) -> Result<(), TamperError> {
        let there = {
            let mut made = lock(&self.0.made);
            made.edits.push((gateway.clone(), edit));
            let mut there = made.plain.get(gateway).cloned().unwrap_or_default();
            there.iter_mut().for_each(|object| made.spoil(gateway, object));
            there
        };
        let client = self.place()?.client.clone();
        for object in &there {
            put(&client, object).await.map_err(Box::new)?;
        }
        // The implementation may have been about to write what is right.
        self.0.again.notify_one();
        Ok(())
    }
}

impl ObjectsSeam for Tamper {
    fn edit(&mut self, _: Seen<'_>, made: &mut Vec<Made>) {
        let mut wrong = lock(&self.0.made);
        wrong.plain.clear();
        for Made { gateway, object } in made.iter() {
            wrong.plain.entry(gateway.clone()).or_default().push(object.clone());
        }
        for Made { gateway, object } in made {
            wrong.spoil(gateway, object);
        }
    }
}
