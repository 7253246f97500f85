//! The types of events that a webhook has.

use crate::{
    json::Json,
    read::events::EventKinds,
    write::event::{EventKind, SubjectKind},
};

/// Types as a caller wrote them: names, or all of a subject such as `user.*`. At least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTypes(Vec<String>);

impl EventTypes {
    /// All types but those of audit events.
    pub fn default_types() -> Self {
        Self(["user.*", "group.*", "schema.*", "log.*"].map(str::to_owned).to_vec())
    }

    /// Parses types. The error is the first text that is none.
    pub fn parse(texts: &[String]) -> Result<Self, String> {
        if let Some(unknown) = texts.iter().find(|text| EventKinds::of_type(text).is_none()) {
            return Err(unknown.clone());
        }
        Ok(Self(texts.to_vec()))
    }

    /// The kinds of events.
    pub fn kinds(&self) -> EventKinds {
        let kinds = self.0.iter().filter_map(|text| EventKinds::of_type(text));
        kinds.fold(EventKinds::NONE, EventKinds::or)
    }

    /// Whether it has kinds of events about such a subject.
    pub fn has(&self, is_such: impl Fn(SubjectKind) -> bool) -> bool {
        let kinds = self.kinds();
        EventKind::ALL.iter().any(|kind| is_such(kind.subject()) && kinds.has(*kind))
    }

    /// The list as JSON.
    pub fn to_json(&self) -> Json {
        Json::Array(self.0.iter().cloned().map(Json::Text).collect())
    }
}
