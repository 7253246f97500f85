//! A PATCH of a user: its operations, and their application to the user's record.

use roster_core::{Attribute, Draft, Json, User, UserSchema, Work, json, limits::COMPARISONS_MAX};

use super::{
    Sent, UserWriter,
    flags::{named_flags, names_username},
    read,
};
use crate::{
    Projection, ScimError, Strictness,
    patch::{self, Operation, of_attributes},
    schema::USER,
};

/// The operations of a PATCH of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserPatch {
    operations: Vec<Operation>,
    /// The flags of verified addresses that they name.
    flags: Vec<Attribute>,
    /// Whether they give the user a username.
    names_username: bool,
    strictness: Strictness,
    memory: usize,
    /// The names of the attributes that no schema has. Tolerant parsing drops them.
    pub dropped: Vec<String>,
}

/// How many bytes of a patch and of a record are copied in the time of one comparison.
const COPIED_BYTES_PER_COMPARISON: usize = 256;

impl UserPatch {
    /// Parses the body of a PATCH. `schema` declares extensions, whose attributes are members of
    /// `attributes`.
    pub fn read(
        body: Json,
        strictness: Strictness,
        schema: &UserSchema,
    ) -> Result<Self, ScimError> {
        let sent = patch::read(body, strictness)?;
        let work = Work::new(COMPARISONS_MAX);
        let mut dropped = Vec::new();
        let operations = of_attributes(sent, schema, strictness, &work, &mut dropped)?;
        dropped.extend(patch::dropped(&USER, &operations, strictness, &work)?);
        let flags = named_flags(&operations, strictness);
        let names_username = names_username(&operations, strictness);
        let memory = |one: &Operation| {
            size_of::<Operation>()
                + one.path.as_ref().map_or(0, String::len)
                + one.value.as_ref().map_or(0, Json::memory)
        };
        let memory = operations.iter().map(memory).sum();
        Ok(Self { operations, flags, names_username, strictness, memory, dropped })
    }

    /// About the number of bytes of memory that it takes.
    pub const fn memory(&self) -> usize {
        self.memory
    }

    /// The user after the operations, which are applied to the SCIM form of the record. Fails if
    /// that takes more comparisons than `work` allows.
    pub fn apply(&self, base: &str, user: &User, work: &Work) -> Result<Draft, ScimError> {
        // Both are copied.
        let record = user.to_record();
        work.spend((self.memory + record.len()) / COPIED_BYTES_PER_COMPARISON)?;
        let mut shown = Vec::with_capacity(record.len() * 2);
        // The operations name declared attributes as members of `attributes`.
        let (projection, schema) = (Projection::everything(), UserSchema::default());
        let writer = UserWriter::new(base, &projection, &schema);
        let written = writer.write(&record, &[], &mut shown);
        let resource = written.and_then(|()| json::read(&shown).ok());
        let unreadable = || ScimError::of_status(500, "the stored user cannot be read");
        let resource = resource.ok_or_else(unreadable)?;
        let strictness = self.strictness;
        let resource = patch::apply(&USER, resource, self.operations.clone(), strictness, work)?;
        let body = read(resource, strictness, Sent::Patched, &schema)?;
        // The comparisons of the operations are counted, and their result is not much larger.
        let mut draft = body.replacing(user, &Work::new(COMPARISONS_MAX))?;
        for flag in &self.flags {
            draft.name(*flag);
        }
        if self.names_username {
            draft.keep_username();
        }
        Ok(draft)
    }
}
