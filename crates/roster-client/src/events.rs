//! Follows the change log.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use reqwest::Method;

use crate::call::{Call, owned};
use crate::client::{Client, pause};
use crate::error::Error;
use crate::records::Event;
use crate::resource::Page;

/// How long the service may wait for an event, in seconds.
const WAIT_S: &str = "20";
/// The time until a response begins. A network that is broken says nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// Events of a page.
const PAGE: &str = "500";

/// The position of the end of the log.
const LATEST: &str = "latest";

/// Where a reader of the log is.
struct Reader {
    client: Client,
    query: Vec<(String, String)>,
    /// All events up to it were returned or are in `ready`.
    position: Option<String>,
    ready: VecDeque<Event>,
    /// Whether there was a response. If there was none, a strange one is not of Roster.
    has_read: bool,
}

impl Client {
    /// The events after a position, in their order, each once; then those that come. Without a
    /// position it begins with the oldest event; `latest` is the end of the log.
    ///
    /// The stream waits for a service that cannot be reached, restarts or fails over, and goes on
    /// where it was. It ends with an error that waiting does not mend, such as 401, or 410 if
    /// events after the position are gone. `query` selects events, such as by `type`; it takes no
    /// `cursor`.
    pub fn follow(
        &self,
        after: Option<&str>,
        query: &[(&str, &str)],
    ) -> impl Stream<Item = Result<Event, Error>> + use<> {
        let (client, position) = (self.clone(), after.map(ToOwned::to_owned));
        let (ready, has_read) = (VecDeque::new(), false);
        let reader = Reader { client, query: owned(query), position, ready, has_read };
        stream::try_unfold(reader, |mut reader| async {
            let mut attempt = 1;
            loop {
                if let Some(event) = reader.ready.pop_front() {
                    return Ok(Some((event, reader)));
                }
                match reader.read().await {
                    Ok(()) => (attempt, reader.has_read) = (1, true),
                    Err(error) if can_heal(&error, reader.has_read) => {
                        if let Some(notice) =
                            reader.client.settings.on_wait.filter(|_| attempt == 1)
                        {
                            notice(&error);
                        }
                        tokio::time::sleep(pause(attempt, &error)).await;
                        attempt = (attempt + 1).min(6);
                    }
                    Err(error) => return Err(error),
                }
            }
        })
    }
}

impl Reader {
    /// Waits for the next page.
    async fn read(&mut self) -> Result<(), Error> {
        if self.query.iter().any(|(name, _)| name == "cursor") {
            // The service would return the same page each time.
            return Err(Error::Request(
                "the place to begin is a position, not a cursor".to_owned(),
            ));
        }
        let mut call = Call::new(Method::GET, "events").query("limit", PAGE);
        call.query.extend(self.query.iter().cloned());
        let position = self.position.as_deref();
        // After a wait that breaks off, the end of the log would be another one.
        if position != Some(LATEST) {
            call = call.query("wait", WAIT_S);
        }
        if let Some(position) = position {
            call = call.query("after", position);
        }
        let answer = self.client.send_within(PATIENCE, &call).await?;
        let page: Page<Event> = answer.json()?;
        // Without it the same events would come again.
        let Some(position) = answer.position() else {
            return Err(self.client.strange("the response has no Roster-Position"));
        };
        self.position = Some(position.to_owned());
        self.ready = page.items.into();
        Ok(())
    }
}

/// Whether the same request may succeed later.
fn can_heal(error: &Error, has_read: bool) -> bool {
    match error {
        Error::Connect { .. } | Error::Broken { .. } => true,
        Error::Strange { .. } => has_read,
        Error::Problem(problem) => matches!(problem.status, 429 | 500..),
        Error::Request(_) => false,
    }
}
