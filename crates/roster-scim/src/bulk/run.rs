//! The execution of a bulk request.
//!
//! Operations run in the order of the request, except that what an operation refers to is created
//! before it. Operations that refer to each other in a circle fail: nothing is created in two steps
//! (RFC 7644 section 3.7.1).

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use roster_core::Json;

use super::{
    BULK_RESPONSE_URN,
    references::{references, referred, resolve},
    request::{BulkMethod, BulkOperation, BulkRequest},
};
use crate::{ResourceType, ScimError, ScimType, value::names_nothing};

/// A bulk request that is being executed.
#[derive(Debug)]
pub struct Run {
    served: &'static [&'static ResourceType],
    /// The operations that have not begun, by their place.
    waiting: BTreeMap<usize, Waiting>,
    /// The operations that wait for the one at this place.
    waiting_for: BTreeMap<usize, Vec<usize>>,
    /// The place of the next operation, of one that it waits for, and so on.
    trail: Vec<usize>,
    /// The same places.
    on_trail: BTreeSet<usize>,
    /// The places of the operations, by `bulkId`.
    places: BTreeMap<String, usize>,
    /// The ids of created resources, by `bulkId`; `None` for an operation that failed.
    created: BTreeMap<String, Option<String>>,
    results: Vec<Option<Json>>,
    failures_left: Option<i64>,
}

#[derive(Debug)]
struct Waiting {
    operation: BulkOperation,
    refers_to: BTreeSet<String>,
    /// The places of those of them that are not executed.
    needs: BTreeSet<usize>,
}

/// One operation to execute.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    at: usize,
    method: BulkMethod,
    bulk_id: Option<String>,
    /// The name of the resource type.
    pub kind: &'static str,
    /// What to do.
    pub act: Act,
    /// The version that the resource must have.
    pub version: Option<String>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Creates a resource from this body.
    Create(Json),
    /// Replaces the resource with this id by this body.
    Replace(String, Json),
    /// Changes the resource with this id by this PATCH body.
    Patch(String, Json),
    /// Deletes the resource with this id.
    Delete(String),
}

/// The result of a step that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The HTTP status that the request would have had outside a bulk request.
    pub status: u16,
    /// The id of the resource.
    pub id: String,
    /// Its URL.
    pub location: String,
    /// Its entity tag; `None` if it was deleted.
    pub version: Option<String>,
}

impl Step {
    /// Takes the body out of the step.
    pub fn take_data(&mut self) -> Json {
        match &mut self.act {
            Act::Create(data) | Act::Replace(_, data) | Act::Patch(_, data) => {
                mem::replace(data, Json::Null)
            }
            Act::Delete(_) => Json::Null,
        }
    }
}

impl Run {
    /// Starts a request for the resource types `served`.
    pub fn new(request: BulkRequest, served: &'static [&'static ResourceType]) -> Self {
        let results = request.operations.iter().map(|_| None).collect();
        let named = request.operations.iter().enumerate();
        let places: BTreeMap<String, usize> =
            named.filter_map(|(at, operation)| Some((operation.bulk_id.clone()?, at))).collect();
        let mut waiting = BTreeMap::new();
        let mut waiting_for: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, mut operation) in request.operations.into_iter().enumerate() {
            let mut refers_to = BTreeSet::new();
            operation.data.iter_mut().for_each(|data| references(data, &mut refers_to));
            refers_to.extend(operation.path.split('/').filter_map(referred).map(str::to_owned));
            let needs: BTreeSet<usize> =
                refers_to.iter().filter_map(|name| places.get(name).copied()).collect();
            for need in &needs {
                waiting_for.entry(*need).or_default().push(at);
            }
            waiting.insert(at, Waiting { operation, refers_to, needs });
        }
        let (created, failures_left) = (BTreeMap::new(), request.fail_on_errors);
        let (trail, on_trail) = (Vec::new(), BTreeSet::new());
        Self {
            served,
            waiting,
            waiting_for,
            trail,
            on_trail,
            places,
            created,
            results,
            failures_left,
        }
    }

    /// The next step; `None` if nothing is left or too many operations failed. Operations that
    /// cannot become a step are recorded as failures.
    pub fn next_step(&mut self) -> Option<Step> {
        loop {
            if self.failures_left == Some(0) {
                return None;
            }
            let at = self.next_place()?;
            let Waiting { operation, refers_to, .. } = self.waiting.remove(&at)?;
            let (method, bulk_id) = (operation.method, operation.bulk_id.clone());
            let step = if operation.path.contains('?') {
                let detail = "the path of a bulk operation takes no query: send the path alone";
                Err(ScimError::new(ScimType::InvalidSyntax, detail))
            } else if refers_to.iter().all(|name| self.created.contains_key(name)) {
                self.step(at, operation, &refers_to)
            } else {
                Err(self.unresolved(&refers_to))
            };
            match step {
                Ok(step) => return Some(step),
                Err(error) => self.fail(at, method, bulk_id, &error, None),
            }
        }
    }

    /// The place of the next operation in order or, if it waits for others, of the first of those.
    /// In a circle, an operation that waits for itself.
    fn next_place(&mut self) -> Option<usize> {
        loop {
            let Some(at) = self.trail.last().copied() else {
                let first = *self.waiting.keys().next()?;
                self.trail.push(first);
                self.on_trail.insert(first);
                continue;
            };
            let Some(waiting) = self.waiting.get(&at) else {
                self.trail.pop();
                self.on_trail.remove(&at);
                continue;
            };
            let Some(need) = waiting.needs.first().copied() else { return Some(at) };
            if !self.on_trail.insert(need) {
                return Some(need);
            }
            self.trail.push(need);
        }
    }

    /// Notes the result of the operation with this `bulkId`: the id of what it created, if it did.
    fn ended(&mut self, name: String, id: Option<String>) {
        if let Some(place) = self.places.get(&name) {
            for at in self.waiting_for.remove(place).unwrap_or_default() {
                if let Some(waiting) = self.waiting.get_mut(&at) {
                    waiting.needs.remove(place);
                }
            }
        }
        self.created.insert(name, id);
    }

    /// Records that a step succeeded.
    pub fn done(&mut self, step: Step, done: Done) {
        let mut members =
            result_members(step.method, step.bulk_id.as_deref(), Some(&done.location));
        let version = done.version.map(|version| ("version".to_owned(), Json::Text(version)));
        members.extend(version);
        members.push(("status".to_owned(), Json::Text(done.status.to_string())));
        if let Some(name) = step.bulk_id {
            self.ended(name, Some(done.id));
        }
        self.record_result(step.at, members);
    }

    /// Records that a step failed. `location` is the URL of the resource, if it exists.
    pub fn refused(&mut self, step: Step, error: &ScimError, location: Option<&str>) {
        self.fail(step.at, step.method, step.bulk_id, error, location);
    }

    /// The response: the result of each operation, in the order of the request.
    pub fn response(self) -> Json {
        let urn = Json::Text(BULK_RESPONSE_URN.to_owned());
        let operations = self.results.into_iter().flatten().collect();
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
            let detail = "the operation that it refers to created no resource";
            return Err(ScimError::of_status(409, detail));
        }
        let BulkOperation { method, bulk_id, version, path, data } = operation;
        let (kind, id) = self.resource_of(&path, &id_of)?;
        let mut data = data.unwrap_or(Json::Null);
        resolve(&mut data, &id_of);
        let act = match (method, id) {
            (BulkMethod::Post, None) => Act::Create(data),
            (BulkMethod::Put, Some(id)) => Act::Replace(id, data),
            (BulkMethod::Patch, Some(id)) => Act::Patch(id, data),
            // It may hold a version that the client expects to be checked.
            (BulkMethod::Delete, Some(_)) if data != Json::Null && !names_nothing(&data) => {
                let detail = "a DELETE takes no data: send the version of the resource as version";
                return Err(ScimError::new(ScimType::InvalidSyntax, detail));
            }
            (BulkMethod::Delete, Some(id)) => Act::Delete(id),
            (BulkMethod::Post, Some(_)) => {
                return Err(ScimError::of_status(405, "send POST to a path such as /Users"));
            }
            (BulkMethod::Get, _) => {
                let detail = "a bulk operation is a POST, PUT, PATCH or DELETE";
                return Err(ScimError::of_status(405, detail));
            }
            (BulkMethod::Put | BulkMethod::Patch | BulkMethod::Delete, None) => {
                let detail = "name one resource in the path: /Users/ and its id";
                return Err(ScimError::of_status(405, detail));
            }
        };
        Ok(Step { at, method, bulk_id, kind, act, version })
    }

    /// The resource type and the id of a path.
    fn resource_of(
        &self,
        path: &str,
        id_of: &impl Fn(&str) -> Option<String>,
    ) -> Result<(&'static str, Option<String>), ScimError> {
        let below = path.strip_prefix('/').unwrap_or(path);
        let below = below.strip_suffix('/').unwrap_or(below);
        let (endpoint, id) = match below.split_once('/') {
            Some((endpoint, id)) => (endpoint, Some(id)),
            None => (below, None),
        };
        let is_it = |kind: &&ResourceType| kind.endpoint.strip_prefix('/') == Some(endpoint);
        let kind = self.served.iter().copied().find(is_it).map(|kind| kind.name);
        let names_one = id.is_none_or(|id| !id.is_empty() && !id.contains('/'));
        let Some(kind) = kind.filter(|_| names_one) else {
            return Err(ScimError::of_status(404, "no resource type has this path"));
        };
        let id = id.map(|id| referred(id).and_then(id_of).unwrap_or_else(|| id.to_owned()));
        Ok((kind, id))
    }

    /// The error of an operation that can never run.
    fn unresolved(&self, refers_to: &BTreeSet<String>) -> ScimError {
        if refers_to.iter().all(|name| self.places.contains_key(name)) {
            let detail = "operations refer to each other in a circle: create the resources first, \
                          then connect them by a PATCH";
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
        let mut members = result_members(method, bulk_id.as_deref(), location);
        members.push(("status".to_owned(), Json::Text(error.status.to_string())));
        members.push(("response".to_owned(), error.to_json()));
        if let Some(name) = bulk_id {
            self.ended(name, None);
        }
        self.failures_left = self.failures_left.map(|left| left - 1);
        self.record_result(at, members);
    }

    fn record_result(&mut self, at: usize, members: Vec<(String, Json)>) {
        if let Some(result) = self.results.get_mut(at) {
            *result = Some(Json::Object(members));
        }
    }
}

/// The members that every result has.
fn result_members(
    method: BulkMethod,
    bulk_id: Option<&str>,
    location: Option<&str>,
) -> Vec<(String, Json)> {
    let text = |name: &str, text: &str| (name.to_owned(), Json::Text(text.to_owned()));
    let mut members = vec![text("method", method.as_str())];
    members.extend(bulk_id.map(|name| text("bulkId", name)));
    members.extend(location.map(|location| text("location", location)));
    members
}
