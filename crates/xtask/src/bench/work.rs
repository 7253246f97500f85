//! The requests of the bench, one kind of [`Work`] for each.

use std::net::SocketAddr;

use anyhow::{Context, Result};

use super::{
    load::Work,
    people::{self, Random},
};

/// A user that is stored: its number, from which its keys follow, and its id.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The number that made it.
    pub(super) number: u64,
    /// The id that the service gave it.
    pub(super) id: String,
}

/// Most tests of a filter.
const TESTS_MAX: usize = 64;

/// How a request for one of the known users is made.
pub(super) type PathOf = fn(&Known) -> String;

/// GETs of one fixed path.
pub(super) struct Fixed {
    /// The server, for the Host field.
    pub(super) host: SocketAddr,
    /// Path and query.
    pub(super) path: String,
}

impl Work for Fixed {
    fn next(&mut self, request: &mut Vec<u8>) -> bool {
        write_request(request, "GET", &self.path, self.host, None);
        true
    }

    fn expected(&self) -> u16 {
        200
    }
}

/// GETs of some paths in turn.
pub(super) struct Turns<'a> {
    /// The server, for the Host field.
    pub(super) host: SocketAddr,
    /// The paths that are still to come, and come again.
    pub(super) paths: std::iter::Cycle<std::slice::Iter<'a, String>>,
}

impl Work for Turns<'_> {
    fn next(&mut self, request: &mut Vec<u8>) -> bool {
        let Some(path) = self.paths.next() else { return false };
        write_request(request, "GET", path, self.host, None);
        true
    }

    fn expected(&self) -> u16 {
        200
    }
}

/// GETs of users at random.
pub(super) struct Reads<'a> {
    /// The server, for the Host field.
    pub(super) host: SocketAddr,
    /// Whom to read.
    pub(super) users: &'a [Known],
    /// The path for each.
    pub(super) path: PathOf,
    /// The key that is sent, if one is.
    pub(super) key: Option<&'a str>,
    /// The order.
    pub(super) random: Random,
}

impl Work for Reads<'_> {
    fn next(&mut self, request: &mut Vec<u8>) -> bool {
        let Some(user) = self.random.pick(self.users) else { return false };
        write_head(request, "GET", &(self.path)(user), self.host);
        if let Some(key) = self.key {
            request.extend_from_slice(format!("Authorization: Bearer {key}\r\n").as_bytes());
        }
        write_body(request, None);
        true
    }

    fn expected(&self) -> u16 {
        200
    }

    fn answered(&mut self, body: &[u8]) -> Result<()> {
        // A fast empty page would be no result.
        anyhow::ensure!(body.len() > 200, "a read found nothing");
        Ok(())
    }
}

/// Whether requests have an `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idempotency {
    /// They have none.
    Unkeyed,
    /// Each has a key of its own.
    Keyed,
}

/// POSTs of new users, with consecutive numbers.
pub(super) struct Creates<'a> {
    /// The server, for the Host field.
    pub(super) host: SocketAddr,
    /// The number of the next user.
    pub(super) next: u64,
    /// Where to stop.
    pub(super) end: u64,
    /// Whether they have keys.
    pub(super) idempotency: Idempotency,
    /// Those that were created.
    pub(super) created: &'a mut Vec<Known>,
}

impl Work for Creates<'_> {
    fn next(&mut self, request: &mut Vec<u8>) -> bool {
        if self.next >= self.end {
            return false;
        }
        let body = people::body(self.next, 0);
        write_head(request, "POST", "/users", self.host);
        if self.idempotency == Idempotency::Keyed {
            let field = format!("Idempotency-Key: \"bench {}\"\r\n", self.next);
            request.extend_from_slice(field.as_bytes());
        }
        write_body(request, Some(&body));
        self.next += 1;
        true
    }

    fn expected(&self) -> u16 {
        201
    }

    fn answered(&mut self, body: &[u8]) -> Result<()> {
        self.created.push(read_known(body)?);
        Ok(())
    }
}

/// PUTs of users at random, each a real change.
pub(super) struct Replaces<'a> {
    /// The server, for the Host field.
    pub(super) host: SocketAddr,
    /// Whom to replace.
    pub(super) users: &'a [Known],
    /// The order.
    pub(super) random: Random,
    /// Grows with each request and never repeats, so that nothing is written twice.
    pub(super) revision: &'a mut u64,
}

impl Work for Replaces<'_> {
    fn next(&mut self, request: &mut Vec<u8>) -> bool {
        let Some(user) = self.random.pick(self.users) else { return false };
        *self.revision += 1;
        let body = people::body(user.number, *self.revision);
        write_request(request, "PUT", &one(user), self.host, Some(&body));
        true
    }

    fn expected(&self) -> u16 {
        200
    }
}

/// DELETEs, each user once; at random, for the newest users lie side by side.
pub(super) struct Deletes<'a> {
    /// The server, for the Host field.
    pub(super) host: SocketAddr,
    /// Whom to delete; those that were sent off are gone from it.
    pub(super) users: &'a mut Vec<Known>,
    /// The order.
    pub(super) random: Random,
}

impl Work for Deletes<'_> {
    fn next(&mut self, request: &mut Vec<u8>) -> bool {
        let Some(index) = self.random.index(self.users.len()) else { return false };
        let user = self.users.swap_remove(index);
        write_request(request, "DELETE", &one(&user), self.host, None);
        true
    }

    fn expected(&self) -> u16 {
        204
    }
}

/// The path of one user.
pub(super) fn one(user: &Known) -> String {
    format!("/users/{}", user.id)
}

/// The same by SCIM.
pub(super) fn one_by_scim(user: &Known) -> String {
    format!("/scim/v2/Users/{}", user.id)
}

/// The first page of 50 by SCIM.
pub(super) const SCIM_PAGE: &str = "/scim/v2/Users?count=50";

/// The list of users with this username.
pub(super) fn by_username(user: &Known) -> String {
    format!("/users?username={}", people::username(user.number))
}

/// The list of users with this e-mail address.
pub(super) fn by_email(user: &Known) -> String {
    format!("/users?email={}", people::email(user.number))
}

/// The list of users with this username, by a filter.
pub(super) fn filter_username(user: &Known) -> String {
    format!("/users?filter=username%20eq%20%22{}%22", people::username(user.number))
}

/// The list of users with this e-mail address, the further one of whoever has one, by a filter.
pub(super) fn filter_email(user: &Known) -> String {
    let email = people::further_email(user.number).unwrap_or_else(|| people::email(user.number));
    format!("/users?filter=emails.value%20eq%20%22{email}%22")
}

/// The search for a word that one user has.
pub(super) fn search_rare(user: &Known) -> String {
    format!("/users?q={}", people::username(user.number))
}

/// What no index helps to find, and nobody is: one test a user.
pub(super) const SCAN: &str = "/users?filter=nickname%20co%20%22nobody%22";

/// The dearest filter that was found: as many tests as there may be, each of which makes a key of
/// each address of each user, and none of which is met. The title keeps it off the index of keys.
pub(super) fn scan_worst() -> String {
    let address = |n| format!("emails%20eq%20%22no{n}@example.net%22");
    let tests: Vec<_> = (1..TESTS_MAX).map(address).collect();
    format!("/users?filter=title%20eq%20%22none%22%20or%20{}", tests.join("%20or%20"))
}

fn write_request(
    request: &mut Vec<u8>,
    method: &str,
    path: &str,
    host: SocketAddr,
    body: Option<&str>,
) {
    write_head(request, method, path, host);
    write_body(request, body);
}

fn write_head(request: &mut Vec<u8>, method: &str, path: &str, host: SocketAddr) {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
    request.extend_from_slice(head.as_bytes());
}

/// The rest of a request: the end of its head, and the body if it has one.
fn write_body(request: &mut Vec<u8>, body: Option<&str>) {
    if let Some(body) = body {
        let length = body.len();
        let rest =
            format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
        request.extend_from_slice(rest.as_bytes());
    } else {
        request.extend_from_slice(b"\r\n");
    }
}

/// The created user, read off the record that was answered.
fn read_known(body: &[u8]) -> Result<Known> {
    let record: serde_json::Value = serde_json::from_slice(body)?;
    let text = |name| record.get(name).and_then(serde_json::Value::as_str);
    let id = text("id").context("a record without id")?.to_owned();
    let number = text("employee_number").context("not a user of ours")?.parse()?;
    Ok(Known { number, id })
}
