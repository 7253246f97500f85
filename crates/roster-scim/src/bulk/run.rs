//! A bulk request while it is carried out.
//!
//! Operations go in the order of the request, but that one waits which refers to what a later one
//! creates. Those that wait for each other are refused: nothing here is created in halves (RFC 7644
//! section 3.7.1).

use std::collections::{BTreeMap, BTreeSet};

use roster_core::Json;

use super::{
    BULK_RESPONSE_URN,
    references::{references, referred, resolved},
    request::{BulkMethod, BulkOperation, BulkRequest},
};
use crate::{ResourceType, ScimError, ScimType};

/// A bulk request on its way.
#[derive(Debug)]
pub struct Run {
    served: &'static [&'static ResourceType],
    waiting: Vec<Waiting>,
    /// What became of those that others may refer to.
    created: BTreeMap<String, Option<String>>,
    told: Vec<Option<Json>>,
    failures_left: Option<i64>,
}

#[derive(Debug)]
struct Waiting {
    at: usize,
    operation: BulkOperation,
    refers_to: BTreeSet<String>,
}

/// One operation that can be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    at: usize,
    method: BulkMethod,
    bulk_id: Option<String>,
    /// Of which kind the resource is.
    pub kind: &'static str,
    /// What is to be done.
    pub act: Act,
    /// The version that the resource must be at.
    pub version: Option<String>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Creates a resource of this body.
    Create(Json),
    /// Replaces the resource of this id by this body.
    Replace(String, Json),
    /// Changes the resource of this id by the body of a PATCH.
    Patch(String, Json),
    /// Deletes the resource of this id.
    Delete(String),
}

/// What became of a step that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The HTTP status that the request would have had by itself.
    pub status: u16,
    /// The id of the resource.
    pub id: String,
    /// Where it is.
    pub location: String,
    /// Its entity tag; `None` where it is gone.
    pub version: Option<String>,
}

impl Run {
    /// A request that is about to be carried out upon the resource types that are served.
    pub fn new(request: BulkRequest, served: &'static [&'static ResourceType]) -> Self {
        let told = request.operations.iter().map(|_| None).collect();
        let waiting = request.operations.into_iter().enumerate().map(|(at, operation)| {
            let mut refers_to = BTreeSet::new();
            operation.data.iter().for_each(|data| references(data, &mut refers_to));
            refers_to.extend(operation.path.split('/').filter_map(referred).map(str::to_owned));
            Waiting { at, operation, refers_to }
        });
        Self {
            served,
            waiting: waiting.collect(),
            created: BTreeMap::new(),
            told,
            failures_left: request.fail_on_errors,
        }
    }

    /// The next step; `None` when all is done, or enough has failed. What cannot become a step is
    /// told as a failure on the way.
    pub fn next_step(&mut self) -> Option<Step> {
        loop {
            if self.failures_left == Some(0) || self.waiting.is_empty() {
                return None;
            }
            let is_ready = |waiting: &Waiting| {
                waiting.refers_to.iter().all(|name| self.created.contains_key(name))
            };
            let ready = self.waiting.iter().position(is_ready);
            let Waiting { at, operation, refers_to } = self.waiting.remove(ready.unwrap_or(0));
            let (method, bulk_id) = (operation.method, operation.bulk_id.clone());
            let step = match ready {
                Some(_) => self.step(at, operation, &refers_to),
                None => Err(self.unresolved(&operation, &refers_to)),
            };
            match step {
                Ok(step) => return Some(step),
                Err(error) => self.fail(at, method, bulk_id, &error, None),
            }
        }
    }

    /// Tells that a step was carried out.
    pub fn done(&mut self, step: Step, done: Done) {
        let mut members = told(step.method, step.bulk_id.as_deref(), Some(&done.location));
        let version = done.version.map(|version| ("version".to_owned(), Json::Text(version)));
        members.extend(version);
        members.push(("status".to_owned(), Json::Text(done.status.to_string())));
        if let Some(name) = step.bulk_id {
            self.created.insert(name, Some(done.id));
        }
        self.tell(step.at, members);
    }

    /// Tells that a step was refused. `location` is where the resource is, if there is one.
    pub fn refused(&mut self, step: Step, error: &ScimError, location: Option<&str>) {
        self.fail(step.at, step.method, step.bulk_id, error, location);
    }

    /// The answer: what became of each operation, in the order of the request.
    pub fn response(self) -> Json {
        let urn = Json::Text(BULK_RESPONSE_URN.to_owned());
        let operations = self.told.into_iter().flatten().collect();
        Json::Object(vec![
            ("schemas".to_owned(), Json::Array(vec![urn])),
            ("Operations".to_owned(), Json::Array(operations)),
        ])
    }

    fn step(
        &self,
        at: usize,
        operation: BulkOperation,
        refers_to: &BTreeSet<String>,
    ) -> Result<Step, ScimError> {
        let id_of = |name: &str| self.created.get(name).cloned().flatten();
        if refers_to.iter().any(|name| id_of(name).is_none()) {
            let detail = "the operation that it refers to has created nothing";
            return Err(ScimError::of_status(409, detail));
        }
        let BulkOperation { method, bulk_id, version, path, data } = operation;
        let (kind, id) = self.place(&path, &id_of)?;
        let data = data.map_or(Json::Null, |data| resolved(data, &id_of));
        let act = match (method, id) {
            (BulkMethod::Post, None) => Act::Create(data),
            (BulkMethod::Put, Some(id)) => Act::Replace(id, data),
            (BulkMethod::Patch, Some(id)) => Act::Patch(id, data),
            (BulkMethod::Delete, Some(id)) => Act::Delete(id),
            (BulkMethod::Post, Some(_)) => {
                return Err(ScimError::of_status(405, "POST goes to a path like /Users"));
            }
            (BulkMethod::Put | BulkMethod::Patch | BulkMethod::Delete, None) => {
                let detail = "name one resource in the path, as /Users and its id";
                return Err(ScimError::of_status(405, detail));
            }
        };
        Ok(Step { at, method, bulk_id, kind, act, version })
    }

    /// The kind of resource that a path leads to, and the id in it.
    fn place(
        &self,
        path: &str,
        id_of: &impl Fn(&str) -> Option<String>,
    ) -> Result<(&'static str, Option<String>), ScimError> {
        let below = path.strip_prefix('/').unwrap_or(path);
        let (endpoint, id) = match below.split_once('/') {
            Some((endpoint, id)) => (endpoint, Some(id)),
            None => (below, None),
        };
        let is_it = |kind: &&ResourceType| kind.endpoint.strip_prefix('/') == Some(endpoint);
        let kind = self.served.iter().copied().find(is_it).map(|kind| kind.name);
        let names_one = id.is_none_or(|id| !id.is_empty() && !id.contains('/'));
        let Some(kind) = kind.filter(|_| names_one) else {
            return Err(ScimError::of_status(404, "nothing is served at this path"));
        };
        let id = id.map(|id| referred(id).and_then(id_of).unwrap_or_else(|| id.to_owned()));
        Ok((kind, id))
    }

    /// Why an operation waits for ever.
    fn unresolved(&self, operation: &BulkOperation, refers_to: &BTreeSet<String>) -> ScimError {
        let is_there = |name: &String| {
            let is_it = |other: &BulkOperation| other.bulk_id.as_ref() == Some(name);
            self.created.contains_key(name)
                || is_it(operation)
                || self.waiting.iter().any(|waiting| is_it(&waiting.operation))
        };
        if refers_to.iter().all(is_there) {
            let detail = "operations refer to each other in a circle: create them first, and \
                          join them by a PATCH";
            return ScimError::of_status(409, detail);
        }
        let detail = "a bulkId names no operation of this request";
        ScimError::new(ScimType::InvalidValue, detail)
    }

    fn fail(
        &mut self,
        at: usize,
        method: BulkMethod,
        bulk_id: Option<String>,
        error: &ScimError,
        location: Option<&str>,
    ) {
        let mut members = told(method, bulk_id.as_deref(), location);
        members.push(("status".to_owned(), Json::Text(error.status.to_string())));
        members.push(("response".to_owned(), error.to_json()));
        if let Some(name) = bulk_id {
            self.created.insert(name, None);
        }
        self.failures_left = self.failures_left.map(|left| left - 1);
        self.tell(at, members);
    }

    fn tell(&mut self, at: usize, members: Vec<(String, Json)>) {
        if let Some(told) = self.told.get_mut(at) {
            *told = Some(Json::Object(members));
        }
    }
}

/// What is told of every operation.
fn told(method: BulkMethod, bulk_id: Option<&str>, location: Option<&str>) -> Vec<(String, Json)> {
    let text = |name: &str, text: &str| (name.to_owned(), Json::Text(text.to_owned()));
    let mut members = vec![text("method", method.as_str())];
    members.extend(bulk_id.map(|name| text("bulkId", name)));
    members.extend(location.map(|location| text("location", location)));
    members
}
