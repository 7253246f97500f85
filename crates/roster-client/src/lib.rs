//! A client of Roster: typed records, lists that follow all pages, retries, and the change log.
//!
//! A request that a broken connection or a busy service left open is sent again, if that is safe:
//! reads always, writes of users and groups with an `Idempotency-Key` that stays the same. The key
//! of the caller is sent to the service alone: redirects are not followed.
//!
//! ```
//! use futures_util::TryStreamExt;
//! use roster_client::{Client, User, Write};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use roster_testkit::process::{Engine, Place, Process, built};
//! # let place = Place::new(Engine::Sqlite);
//! # let service = Process::start(&mut place.serve(&built()));
//! # let url = &format!("http://{}", service.address());
//! let client = Client::builder(url)?.build()?;
//! let users = client.users();
//!
//! let ada = users.create(&serde_json::json!({"username": "ada", "title": "Dr"})).await?;
//! let change = serde_json::json!({"department": "Engines"});
//! let ada = users.patch(&ada.id, &change, &Write::at_version(ada.version)).await?;
//! assert_eq!((ada.version, ada.department.as_deref()), (2, Some("Engines")));
//!
//! // Every page, one user at a time.
//! let filter = [("filter", r#"title eq "Dr""#)];
//! let doctors: Vec<User> = users.list(&filter).try_collect().await?;
//! assert_eq!(doctors, [ada]);
//!
//! // What happened since the beginning, and then what happens.
//! let events = client.follow(None, &[]);
//! futures_util::pin_mut!(events);
//! let first = events.try_next().await?.expect("it waits for events and does not end");
//! assert_eq!((&*first.r#type, &*first.actor), ("user.created", "anonymous"));
//! # service.stop();
//! # Ok(())
//! # }
//! ```

mod call;
mod client;
mod error;
mod events;
mod records;
mod resource;

pub use bytes::Bytes;
pub use call::{Answer, Call, Write, random_key};
pub use client::{Builder, Client, is_loopback};
pub use error::{Error, Fault, Problem};
pub use records::{
    Address, Caller, Entry, Event, Group, Key, Manager, Member, Tenant, User, Webhook,
};
pub use reqwest::{Body, Method, Response, StatusCode, header};
pub use resource::{Page, Resource};
