//! `roster events`, and how an event is shown.

use std::collections::HashMap;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use futures_util::{StreamExt as _, TryStreamExt as _};
use roster_client::{Call, Client, Event, Method};
use serde_json::{Map, Value};

use crate::connection::Remote;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Record, Writing, plain};
use crate::records::label;
use crate::text::{quoted, say};

/// How many events are shown without `--after`.
const LAST: u64 = 20;

/// The columns with values of usual widths, for a table whose next row may come late.
const COLUMNS: [(&str, &str); 7] = [
    ("time", "2026-11-28T14:46:19.984Z"),
    (TENANT, "customer-name"),
    ("type", "webhook.replayed"),
    ("name", "somebody@example.com"),
    ("actor", "key:4sJ0bYq7Zd (operator)"),
    ("changed", "status, department"),
    ("id", "0123456789abcdef-1234567"),
];

/// The column that only the events of all tenants have.
const TENANT: &str = "tenant";

/// The flags of `roster events`.
#[derive(Debug, Args)]
pub struct EventsFlags {
    /// Wait for further events, until Ctrl-C
    #[arg(short, long)]
    follow: bool,

    /// Only events after this position [default: the last 20; with --follow those that come]
    #[arg(long, value_name = "POSITION")]
    after: Option<String>,

    /// Only events of these types, such as user.deleted,group.*
    #[arg(long = "type", value_name = "TYPES", value_delimiter = ',')]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    types: Vec<String>,

    /// Only events by this actor, such as key:4sJ0bYq7Zd
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    actor: Vec<String>,

    /// Only events about this, such as users/ID, groups/ID or tenants/NAME
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    subject: Option<String>,

    /// The events of all tenants
    #[arg(long)]
    all_tenants: bool,

    /// Stop after this many [default: all after --after, else 20]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    remote: Remote,
}

impl EventsFlags {
    /// Writes the command that goes on after a position, with the same selection.
    fn suggest(&self, last: &str) {
        let types = Some(self.types.join(",")).filter(|types| !types.is_empty());
        let types = types.iter().map(|types| ("type", types));
        let actors = self.actor.iter().map(|actor| ("actor", actor));
        let subject = self.subject.iter().map(|subject| ("subject", subject));
        let selection = types.chain(actors).chain(subject);
        let words = selection.map(|(flag, value)| format!(" --{flag} {}", quoted(value)));
        let words: String = words.collect();
        let all = if self.all_tenants { " --all-tenants" } else { "" };
        self.remote.suggest(&format!("next: roster events --follow --after {last}{words}{all}"));
    }
}

pub(crate) async fn run(flags: EventsFlags) -> Outcome {
    // Those of all tenants are at the service.
    let target = flags.remote.target()?;
    let client = if flags.all_tenants { target.service()? } else { target.client()? };
    let mut query = vec![("type", flags.types.join(","))];
    let names = Names::read(&client).await;
    query.extend(flags.actor.iter().map(|actor| ("actor", names.actor(actor))));
    query.push(("subject", flags.subject.clone().unwrap_or_default()));
    query.push(("tenants", if flags.all_tenants { "all" } else { "" }.to_owned()));
    query.retain(|(_, value)| !value.is_empty());
    let query: Vec<(&str, &str)> = query.iter().map(|(name, value)| (*name, &**value)).collect();
    if flags.follow {
        follow(&flags, &client, &query, &names).await
    } else {
        list(&flags, &client, &query, &names).await
    }
}

async fn list(
    flags: &EventsFlags,
    client: &Client,
    query: &[(&str, &str)],
    names: &Names,
) -> Outcome {
    let (mut query, mut last) = (query.to_vec(), Vec::new());
    let events = client.resource::<Event>("events");
    let Some(after) = &flags.after else {
        // The newest come first; people read the newest last.
        let count = flags.limit.unwrap_or(LAST);
        let page = count.min(1000).to_string();
        query.extend([("sort", "-position"), ("limit", &*page)]);
        let mut newest = std::pin::pin!(events.list(&query));
        while u64::try_from(last.len()).is_ok_and(|length| length < count) {
            let Some(event) = newest.try_next().await? else { break };
            last.push(event);
        }
        last.reverse();
        return show(flags, futures_util::stream::iter(last).map(Ok).boxed(), names).await;
    };
    query.extend([("after", &**after), ("limit", "500")]);
    show(flags, events.list(&query).boxed(), names).await
}

async fn show(
    flags: &EventsFlags,
    events: futures_util::stream::BoxStream<'_, Result<Event, roster_client::Error>>,
    names: &Names,
) -> Outcome {
    let mut last = None;
    let rows = events.map_ok(|event| {
        last = Some(event.id.clone());
        row(&event, &flags.output, names)
    });
    let (count, more) = flags.output.list(rows, &columns(flags).0, flags.limit).await?;
    match (count, more, last) {
        (0, _, _) => say("no events"),
        (_, true, _) => say("there are more events: --limit stopped the list"),
        (_, false, Some(last)) => {
            flags.suggest(&last);
        }
        (_, false, None) => {}
    }
    Ok(0)
}

async fn follow(
    flags: &EventsFlags,
    client: &Client,
    query: &[(&str, &str)],
    names: &Names,
) -> Outcome {
    let mut after = flags.after.clone().unwrap_or_else(|| "latest".to_owned());
    // An error that a retry cannot solve ends the command at the start.
    let call = Call::new(Method::GET, "events").query("after", &*after).query("limit", "1");
    let answer = client.send(&call).await?;
    // `latest` would be another position later.
    if let Some(end) = answer.position().filter(|_| after == "latest") {
        end.clone_into(&mut after);
    }
    let (columns, usual) = columns(flags);
    let mut writing = Writing::begin(&flags.output, flags.output.columns(&columns))?;
    writing.expect(&usual)?;
    if flags.output.is_table() {
        say(&format!("waiting for events of {}; Ctrl-C ends it", client.url()));
    }
    let mut events = std::pin::pin!(client.follow(Some(&after), query));
    let (mut count, mut last) = (0, None);
    let outcome = loop {
        if flags.limit.is_some_and(|limit| count >= limit) {
            break Ok(0);
        }
        let event = tokio::select! {
            event = events.try_next() => event,
            stopped = tokio::signal::ctrl_c() => break stopped.map(|()| 0).map_err(Failure::from),
        };
        match event {
            Ok(Some(event)) => {
                writing.record(&flags.output, &row(&event, &flags.output, names))?;
                writing.measure()?;
                last = Some(event.id);
                count += 1;
            }
            Ok(None) => break Ok(0),
            Err(error) => break Err(Failure::from(error)),
        }
    };
    writing.end()?;
    if let Some(last) = last {
        flags.suggest(&last);
    }
    outcome
}

/// The columns of the events, and a row of usual widths.
fn columns(flags: &EventsFlags) -> (Vec<&'static str>, Vec<String>) {
    let shown = COLUMNS.iter().filter(|(name, _)| flags.all_tenants || *name != TENANT);
    shown.map(|(name, usual)| (*name, (*usual).to_owned())).unzip()
}

/// An event as a row of a table; for programs the event itself.
fn row(event: &Event, output: &Output, names: &Names) -> Record {
    let whole = || {
        let text = serde_json::to_string(event).unwrap_or_default();
        serde_json::from_str::<Record>(&text).unwrap_or_default()
    };
    if !output.is_flat() {
        return whole();
    }
    let mut row = whole();
    row.insert("name".to_owned(), name_of(event).into());
    row.insert("actor".to_owned(), names.of(&event.actor).into());
    row.insert("changed".to_owned(), changed(&event.data).join(", ").into());
    row
}

/// What people call the record of an event.
fn name_of(event: &Event) -> String {
    let kind = event.subject.split('/').next().unwrap_or_default().trim_end_matches('s');
    let record = event.data.get(kind).and_then(Value::as_object);
    let record: Record = record.cloned().unwrap_or_default().into_iter().collect();
    let name = label(&record);
    if name.is_empty() { event.subject.clone() } else { name }
}

/// The members that an event has changed.
pub(crate) fn changed(data: &Map<String, Value>) -> Vec<String> {
    let names = data.get("changed").and_then(Value::as_array);
    let mut changed: Vec<String> = names.into_iter().flatten().map(plain).collect();
    for (member, word) in [("added", "added"), ("removed", "removed")] {
        let count = data.get(member).and_then(Value::as_array).map_or(0, Vec::len);
        if count > 0 {
            changed.push(format!("{word} {count}"));
        }
    }
    changed
}

/// The names of the keys, if the caller may list them: the log names them by their ids.
pub(crate) struct Names(HashMap<String, String>);

impl Names {
    pub(crate) async fn read(client: &Client) -> Self {
        let keys = client.keys().list(&[("limit", "1000")]).try_collect::<Vec<_>>().await;
        let keys = keys.unwrap_or_default();
        Self(keys.into_iter().map(|key| (format!("key:{}", key.id), key.name)).collect())
    }

    /// The actor that a caller means: by the name of its key, or as the log names it.
    fn actor(&self, named: &str) -> String {
        let found = self.0.iter().find(|(_, name)| *name == named);
        found.map_or_else(|| named.to_owned(), |(actor, _)| actor.clone())
    }

    pub(crate) fn of(&self, actor: &str) -> String {
        match self.0.get(actor) {
            Some(name) => format!("{actor} ({name})"),
            None => actor.to_owned(),
        }
    }
}
