//! The last step of every change to a live object.

use serde_json::Value;

use super::update::may_go;
use super::{Cluster, Target};
use crate::store::{Object, StoreError};

impl Cluster {
    /// Stores `new` in the place of `stored`, or lets the object go if this was what its deletion waited for.
    pub(super) fn keep(
        &self,
        target: Target<'_>,
        stored: &Object,
        new: Value,
        dry_run: bool,
    ) -> Result<Object, StoreError> {
        let collection = &target.resource.collection;
        if dry_run {
            return Ok(new.into());
        }
        if may_go(&new) {
            // Nothing writes what the deletion waited for: watches see the last state that was stored, the client what it
            // asked for.
            let last = self.store.remove(collection, stored, (**stored).clone())?;
            self.after_write(target, &last, true);
            return Ok(new.into());
        }
        let object = self.store.replace(collection, stored, new)?;
        self.after_write(target, &object, false);
        Ok(object)
    }
}
