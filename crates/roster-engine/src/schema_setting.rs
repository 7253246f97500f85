//! The schema of users among the settings of a store.

use std::sync::Arc;

use roster_core::{StoreError, UserSchema};

use crate::database::corrupt;

/// The name of the setting. It is missing until the schema is first replaced.
pub const SCHEMA_SETTING: &str = "user_schema";

/// The schema of such a setting.
pub fn schema_of(value: Option<&[u8]>) -> Result<Arc<UserSchema>, StoreError> {
    let Some(value) = value else { return Ok(Arc::default()) };
    UserSchema::from_record(value).map(Arc::new).map_err(|_| corrupt("settings.user_schema"))
}
