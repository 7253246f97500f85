//! The parsed document.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use super::Exchange;

/// A description of the service, ready to check exchanges.
#[derive(Debug)]
pub struct Description {
    pub(super) operations: Vec<Operation>,
    /// Problem responses outside of the operations, by code.
    pub(super) problems: BTreeMap<String, Response>,
    base_path: String,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: String,
    segments: Vec<String>,
    pub(super) parameters: Vec<Parameter>,
    /// Schemas of the request body by media type; empty if the operation takes none.
    pub(super) bodies: BTreeMap<String, Form>,
    /// Whether a request must have a body.
    pub(super) needs_body: bool,
    pub(super) responses: BTreeMap<u16, Response>,
    /// The response for every other status from 400 on.
    pub(super) refusal: Option<Response>,
}

/// One parameter of a request.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) place: String,
    pub(super) required: bool,
    pub(super) explode: bool,
    /// The JSON type that its text represents.
    pub(super) kind: String,
    pub(super) schema: Arc<Validator>,
}

/// One documented response.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) headers: Vec<Header>,
    /// Schemas of the body by media type; empty if there is none.
    pub(super) content: BTreeMap<String, Form>,
    /// The problem codes that it may have; empty if it is not a problem.
    pub(super) codes: BTreeSet<String>,
}

/// The structure of a body.
#[derive(Debug)]
pub(super) enum Form {
    /// One value.
    Whole(Arc<Validator>),
    /// One value per line.
    Lines(Arc<Validator>),
}

/// One documented header of a response.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) schema: Arc<Validator>,
}

impl Description {
    /// Parses an OpenAPI 3.1 document in JSON.
    pub fn load(document: &[u8]) -> Result<Self, String> {
        let mut document: Value = serde_json::from_slice(document).map_err(|e| e.to_string())?;
        close(&mut document);
        let reader = Reader { document: &document, made: RefCell::default() };
        let mut operations = Vec::new();
        for (path, item) in object(at(&document, "/paths")) {
            for (method, operation) in object(item) {
                if operation.get("responses").is_some() {
                    operations.push(reader.operation(path, method, item, operation)?);
                }
            }
        }
        if operations.is_empty() {
            return Err("the document has no operation".to_owned());
        }
        let mut problems = BTreeMap::new();
        for (_, response) in object(at(&document, "/components/responses")) {
            let codes: Vec<&Value> = array(at(response, "/x-problem-codes")).collect();
            for code in codes.into_iter().filter_map(Value::as_str) {
                problems.insert(code.to_owned(), reader.response(response)?);
            }
        }
        let server = at(&document, "/servers/0/url").as_str().unwrap_or_default();
        let host_and_path = server.split_once("://").map_or(server, |(_, rest)| rest);
        let base_path = host_and_path.split_once('/').map_or("", |(_, path)| path);
        let base_path = if base_path.is_empty() { String::new() } else { format!("/{base_path}") };
        Ok(Self { operations, problems, base_path })
    }

    /// Every documented operation and status.
    pub fn documented(&self) -> impl Iterator<Item = (&str, u16)> {
        self.operations.iter().flat_map(|operation| {
            operation.responses.keys().map(|status| (operation.id.as_str(), *status))
        })
    }

    /// The operation of an exchange, with the segments that fill its template.
    pub(super) fn operation(
        &self,
        exchange: &Exchange,
    ) -> Option<(&Operation, Vec<(String, String)>)> {
        // HEAD is GET without the body (RFC 9110 section 9.3.2) and is not described separately.
        let method = if exchange.method == "HEAD" { "GET" } else { &exchange.method };
        self.at_path(exchange).find(|(operation, _)| operation.method == method)
    }

    /// The operations of the path of an exchange.
    pub(super) fn at_path(
        &self,
        exchange: &Exchange,
    ) -> impl Iterator<Item = (&Operation, Vec<(String, String)>)> {
        let path = self.relative(&exchange.path).to_owned();
        self.operations
            .iter()
            .filter_map(move |operation| Some((operation, captured(&operation.segments, &path)?)))
    }

    /// A path without the base URL, which may be that of a tenant.
    fn relative<'a>(&self, path: &'a str) -> &'a str {
        let path = match path.strip_prefix(self.base_path.as_str()) {
            Some("") => "/",
            Some(rest) if rest.starts_with('/') => rest,
            Some(_) | None => path,
        };
        below_tenant(path).unwrap_or(path)
    }

    /// Whether an exchange is below the base URL of a tenant.
    pub(super) fn is_below_tenant(&self, exchange: &Exchange) -> bool {
        exchange.path.strip_prefix(self.base_path.as_str()).and_then(below_tenant).is_some()
    }
}

/// The rest of a path below the base URL of a tenant.
fn below_tenant(path: &str) -> Option<&str> {
    let below = path.strip_prefix("/tenants/")?;
    below.find('/').and_then(|end| below.get(end..))
}

/// Makes every schema reject members that it does not name, unless it says that it accepts others.
/// The description is open, so that clients accept members of later versions. The tests must find
/// every member that it lacks.
fn close(tree: &mut Value) {
    match tree {
        Value::Object(members) => {
            let is_schema = members.get("properties").is_some_and(Value::is_object);
            let is_closed = members.contains_key("propertyNames");
            if is_schema && !is_closed && members.get("type").is_some() {
                members.entry("additionalProperties").or_insert(Value::Bool(false));
            }
            members.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The values of the template's parameters; `None` if the path does not match.
fn captured(template: &[String], path: &str) -> Option<Vec<(String, String)>> {
    let segments: Vec<&str> = path.split('/').collect();
    if segments.len() != template.len() {
        return None;
    }
    let mut found = Vec::new();
    for (wanted, segment) in template.iter().zip(segments) {
        match wanted.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(_) if segment.is_empty() => return None,
            Some(name) => found.push((name.to_owned(), segment.to_owned())),
            None if wanted == segment => {}
            None => return None,
        }
    }
    Some(found)
}

/// Reads parts of one document.
struct Reader<'a> {
    document: &'a Value,
    /// Compiled schemas, by their text: most responses share a few.
    made: RefCell<HashMap<String, Arc<Validator>>>,
}

impl<'a> Reader<'a> {
    fn operation(
        &self,
        path: &str,
        method: &str,
        item: &'a Value,
        operation: &'a Value,
    ) -> Result<Operation, String> {
        let id = at(operation, "/operationId").as_str().ok_or_else(|| format!("{path}: no id"))?;
        let declared = array(at(item, "/parameters")).chain(array(at(operation, "/parameters")));
        let parameters = declared.map(|one| self.parameter(one)).collect::<Result<_, _>>()?;
        let (mut responses, mut refusal) = (BTreeMap::new(), None);
        for (status, response) in object(at(operation, "/responses")) {
            if status == "default" {
                refusal = Some(self.response(response)?);
                continue;
            }
            let status = status.parse().map_err(|_| format!("{id}: {status} is no status"))?;
            responses.insert(status, self.response(response)?);
        }
        Ok(Operation {
            id: id.to_owned(),
            method: method.to_ascii_uppercase(),
            segments: path.split('/').map(str::to_owned).collect(),
            parameters,
            bodies: self.content(at(operation, "/requestBody"))?,
            needs_body: operation.pointer("/requestBody/required") == Some(&Value::Bool(true)),
            responses,
            refusal,
        })
    }

    fn parameter(&self, parameter: &'a Value) -> Result<Parameter, String> {
        let parameter = self.resolve(parameter)?;
        let kind = at(parameter, "/schema/type").as_str().unwrap_or("string");
        Ok(Parameter {
            name: at(parameter, "/name").as_str().ok_or("a parameter without a name")?.to_owned(),
            place: at(parameter, "/in").as_str().unwrap_or_default().to_owned(),
            required: *at(parameter, "/required") == true,
            explode: *at(parameter, "/explode") != false,
            kind: kind.to_owned(),
            schema: self.schema(at(parameter, "/schema"))?,
        })
    }

    fn response(&self, response: &'a Value) -> Result<Response, String> {
        let response = self.resolve(response)?;
        let mut headers = Vec::new();
        for (name, header) in object(at(response, "/headers")) {
            let header = self.resolve(header)?;
            headers.push(Header {
                name: name.clone(),
                required: *at(header, "/required") == true,
                schema: self.schema(at(header, "/schema"))?,
            });
        }
        let codes = array(at(response, "/x-problem-codes")).filter_map(Value::as_str);
        Ok(Response {
            headers,
            content: self.content(response)?,
            codes: codes.map(str::to_owned).collect(),
        })
    }

    fn content(&self, part: &Value) -> Result<BTreeMap<String, Form>, String> {
        // Further media types, which the generators of clients do not see.
        let kinds = [at(part, "/content"), at(part, "/x-other-content")];
        let by_type = kinds.into_iter().flat_map(object).map(|(media_type, one)| {
            let form = match one.get("x-item-schema") {
                Some(item) => Form::Lines(self.schema(item)?),
                None => Form::Whole(self.schema(at(one, "/schema"))?),
            };
            Ok((media_type.clone(), form))
        });
        by_type.collect()
    }

    /// A schema with its components.
    fn schema(&self, schema: &Value) -> Result<Arc<Validator>, String> {
        let text = schema.to_string();
        if let Some(made) = self.made.borrow().get(&text) {
            return Ok(Arc::clone(made));
        }
        let root = json!({ "allOf": [schema], "components": self.components(schema) });
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            // The two formats that the service checks by its own, wider rules. An empty address in
            // a request is no value.
            .with_format("idn-email", |text: &str| text.is_empty() || text.contains('@'))
            .with_format("uri", |text: &str| text.contains(':') && !text.contains(' '))
            .build(&root)
            .map_err(|fault| format!("{schema}: {fault}"))?;
        let validator = Arc::new(validator);
        self.made.borrow_mut().insert(text, Arc::clone(&validator));
        Ok(validator)
    }

    /// The components that the references of a schema lead to, directly or through others. With all
    /// components, each schema would take as long to compile as the whole document.
    fn components(&self, schema: &Value) -> Value {
        let (mut found, mut open) = (Map::new(), vec![schema]);
        while let Some(next) = open.pop() {
            match next {
                Value::Object(members) => {
                    let reference = members.get("$ref").and_then(Value::as_str).unwrap_or_default();
                    if let Some(name) = reference.strip_prefix("#/components/schemas/")
                        && !found.contains_key(name)
                    {
                        let component = at(self.document, &format!("/components/schemas/{name}"));
                        found.insert(name.to_owned(), component.clone());
                        open.push(component);
                    }
                    open.extend(members.values());
                }
                Value::Array(items) => open.extend(items),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        json!({ "schemas": found })
    }

    fn resolve(&self, value: &'a Value) -> Result<&'a Value, String> {
        let Some(reference) = at(value, "/$ref").as_str() else { return Ok(value) };
        let pointer = reference.trim_start_matches('#');
        self.document.pointer(pointer).ok_or_else(|| format!("{reference} leads nowhere"))
    }
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The value at a JSON pointer; `null` if there is none.
pub(super) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}
