//! The keys of a running service.

use futures_util::TryStreamExt as _;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use roster_client::{Call, Caller, Client, Error, Fault, Method, Resource, Write};
use serde_json::{Value, json};

use super::place::{Days, Keys, NewKey};
use crate::connection::Remote;
use crate::failure::{Failure, exit};
use crate::output::Record;
use crate::records::text;
use crate::text::say;

/// Seconds of a day.
const DAY: i64 = 24 * 60 * 60;

/// The keys of a service, or of one of its tenants.
pub(crate) struct ServiceKeys {
    client: Client,
}

impl ServiceKeys {
    /// The keys of the service that the flags name, and of the tenant unless the key is for all.
    pub(crate) fn of(remote: &Remote, is_of_service: bool) -> Result<Self, Failure> {
        let target = remote.target()?;
        let client = if is_of_service { target.service()? } else { target.client()? };
        Ok(Self { client })
    }

    fn resource(&self) -> Resource<Record> {
        self.client.resource("keys")
    }

    /// Checks what can be checked by reading, because keys have no dry run.
    async fn check(&self, key: &NewKey, caller: &Caller) -> Result<(), Failure> {
        let all = self.list().await?;
        let is_operator = caller.tenants.as_deref() == Some("all");
        let is_open = caller.open && caller.kind == "anonymous";
        if key.has_all_tenants && !is_operator && !is_open {
            let text = "only a key for all tenants creates another one";
            return Err(Failure::new(exit::NOT_ALLOWED, text));
        }
        let is_same = |one: &&Record| text(one, "name") == key.name;
        if let Some(same) = all.iter().filter(is_same).find(|one| text(one, "status") == "active") {
            say(&format!("note: the key {} has this name too", text(same, "id")));
        }
        Ok(())
    }
}

impl Keys for ServiceKeys {
    fn place(&self) -> Option<String> {
        Some(format!("the service {}", self.client.url()))
    }

    async fn list(&self) -> Result<Vec<Record>, Failure> {
        Ok(self.resource().list(&[]).try_collect().await?)
    }

    async fn create(&self, key: &NewKey, is_dry_run: bool) -> Result<Record, Failure> {
        let answer = self.client.send(&Call::new(Method::GET, "caller")).await?;
        let caller: Caller = answer.json()?;
        let mut body = json!({"name": key.name, "scopes": key.scopes});
        let mut set = |member: &str, value: Value| {
            body.as_object_mut().and_then(|body| body.insert(member.to_owned(), value))
        };
        match key.days {
            // The service chooses a year.
            None => None,
            Some(Days::Never) => set("expires_at", Value::Null),
            Some(Days::Count(days)) => {
                let end = after(answer.header("date"), days);
                set("expires_at", end.ok_or_else(no_time)?.into())
            }
        };
        if key.has_all_tenants {
            set("tenants", "all".into());
        }
        if is_dry_run {
            self.check(key, &caller).await?;
            let mut record: Record = serde_json::from_value(body)?;
            if key.days.is_none() {
                record.insert("expires_at".to_owned(), "in 365 days".into());
            }
            return Ok(record);
        }
        let shown = |fault: &Fault| match fault.pointer.as_deref() {
            Some("/name") => Some(key.name.clone()),
            Some("/expires_at") => Some("--days".to_owned()),
            _ => None,
        };
        let created = self.resource().create_with(&body, &Write::default()).await;
        let record = created.map_err(|error| Failure::of_input(error, shown))?;
        if key.scopes.iter().any(|scope| scope == "scim") {
            say(&format!("the SCIM URL for an identity provider: {}/scim/v2", self.client.url()));
        }
        if caller.open {
            say("this first key closes the service: from now on every caller needs a key or token");
            if !key.scopes.iter().any(|scope| scope == "keys:admin") {
                say("warning: it cannot create further keys; only `roster keys create` on the \
                     store of the stopped service can");
            }
        }
        Ok(record)
    }

    async fn rotate(&self, id: &str, overlap_s: u64) -> Result<Record, Failure> {
        let query = vec![("overlap_s".to_owned(), overlap_s.to_string())];
        let write = Write { query, ..Write::default() };
        Ok(self.resource().act(id, "rotate", &write).await?.json()?)
    }

    async fn revoke(&self, id: &str) -> Result<(), Failure> {
        self.resource().delete(id, &Write::default()).await?;
        Ok(())
    }
}

/// The time of the service, by its `Date`, and this many days later (RFC 3339).
fn after(date: Option<&str>, days: u32) -> Option<String> {
    let now: Timestamp = rfc2822::DateTimeParser::new().parse_timestamp(date?).ok()?;
    let end = now.checked_add(SignedDuration::from_secs(i64::from(days) * DAY)).ok()?;
    Some(end.to_string())
}

fn no_time() -> Failure {
    Error::Request("the service does not say its time: leave --days out, or write never".into())
        .into()
}

#[cfg(test)]
mod tests {
    use super::after;

    #[test]
    fn days_are_counted_from_the_time_of_the_service() {
        let date = Some("Sat, 28 Nov 2026 15:05:40 GMT");
        assert_eq!(after(date, 30).as_deref(), Some("2026-12-28T15:05:40Z"));
        assert_eq!(after(date, 36_500).as_deref(), Some("2126-11-04T15:05:40Z"));
        assert_eq!((after(None, 1), after(Some("today"), 1)), (None, None));
    }
}
