//! A collection of records, such as the users.

use std::marker::PhantomData;

use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call, Write, owned};
use crate::client::Client;
use crate::error::Error;
use crate::records::{Group, Key, Tenant, User, Webhook};

/// A collection of records of a type.
#[derive(Debug, Clone)]
pub struct Resource<T> {
    client: Client,
    path: String,
    record: PhantomData<fn() -> T>,
}

/// A page of a list.
#[derive(Debug, Clone, Deserialize)]
pub struct Page<T> {
    /// The records, which may be none although more follow.
    pub items: Vec<T>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
    /// How many records there are, if the request asks for `count`.
    pub total: Option<u64>,
    /// `at_least` if there may be more than `total`.
    pub total_relation: Option<String>,
}

impl Client {
    /// The users.
    #[must_use]
    pub fn users(&self) -> Resource<User> {
        self.resource("users")
    }

    /// The deleted users.
    #[must_use]
    pub fn deleted_users(&self) -> Resource<User> {
        self.resource("deleted-users")
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> Resource<Group> {
        self.resource("groups")
    }

    /// The API keys.
    #[must_use]
    pub fn keys(&self) -> Resource<Key> {
        self.resource("keys")
    }

    /// The webhooks.
    #[must_use]
    pub fn webhooks(&self) -> Resource<Webhook> {
        self.resource("webhooks")
    }

    /// The tenants of the service.
    #[must_use]
    pub fn tenants(&self) -> Resource<Tenant> {
        self.resource("tenants")
    }

    /// A resource whose records have another type, such as with only some members.
    #[must_use]
    pub fn resource<T>(&self, path: impl Into<String>) -> Resource<T> {
        Resource::new(self.clone(), path.into())
    }
}

impl<T> Resource<T> {
    const fn new(client: Client, path: String) -> Self {
        Self { client, path, record: PhantomData }
    }

    /// The path of a record. Names are escaped by the URL.
    fn at(&self, id: &str) -> Result<String, Error> {
        let is_segment = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if id.is_empty() || id.starts_with('.') || !id.bytes().all(is_segment) {
            return Err(Error::Request(format!("{id:?} is no id")));
        }
        Ok(format!("{}/{id}", self.path))
    }

    /// Deletes a record.
    ///
    /// # Errors
    ///
    /// If there is no response, or if the service refuses the request.
    pub async fn delete(&self, id: &str, write: &Write) -> Result<Answer, Error> {
        self.client.send(&self.call(Method::DELETE, self.at(id)?, write)?).await
    }

    /// Adds a record that its id alone describes, such as a member of a group.
    ///
    /// # Errors
    ///
    /// If there is no response, or if the service refuses the request.
    pub async fn add(&self, id: &str, write: &Write) -> Result<Answer, Error> {
        self.client.send(&self.call(Method::PUT, self.at(id)?, write)?).await
    }

    /// Sends a request about a record, such as `restore`, `rotate` or `test`.
    ///
    /// # Errors
    ///
    /// If there is no response, or if the service refuses the request.
    pub async fn act(&self, id: &str, action: &str, write: &Write) -> Result<Answer, Error> {
        let path = format!("{}/{action}", self.at(id)?);
        self.client.send(&self.call(Method::POST, path, write)?).await
    }

    fn call(&self, method: Method, path: String, write: &Write) -> Result<Call, Error> {
        // The other resources have no records of what they answered.
        let is_keyed = ["users", "deleted-users", "groups"].iter().any(|one| {
            self.path == *one
                || self.path.strip_prefix(one).is_some_and(|rest| rest.starts_with('/'))
        });
        Call::new(method, path).write(write, is_keyed)
    }
}

/// The writes need a key that may also read. Without that scope the service returns no record,
/// which is an error here: [`Client::send`] takes the answer as it is.
impl<T: DeserializeOwned> Resource<T> {
    /// All records of a list, page by page, in the order of the list. An error ends it.
    pub fn list(&self, query: &[(&str, &str)]) -> impl Stream<Item = Result<T, Error>> + use<T> {
        let pages = self.pages(query);
        pages.map_ok(|page| stream::iter(page.items).map(Ok::<T, Error>)).try_flatten()
    }

    /// The pages of a list.
    pub fn pages(
        &self,
        query: &[(&str, &str)],
    ) -> impl Stream<Item = Result<Page<T>, Error>> + use<T> {
        let mut call = Call::new(Method::GET, self.path.clone());
        call.query = owned(query);
        let first = Some((self.client.clone(), call, None::<String>));
        stream::try_unfold(first, |state| async {
            let Some((client, mut call, cursor)) = state else { return Ok(None) };
            let page = match &cursor {
                Some(cursor) => client.send(&call.clone().query("cursor", cursor.as_str())).await?,
                None => client.send(&call).await?,
            };
            let page: Page<T> = page.json()?;
            // A list may begin at a cursor that was kept.
            call.query.retain(|(name, _)| name != "cursor");
            if page.next_cursor.is_some() && page.next_cursor == cursor {
                return Err(client.strange("the next page is the same page"));
            }
            let next = page.next_cursor.clone().map(|cursor| (client, call, Some(cursor)));
            Ok(Some((page, next)))
        })
    }

    /// One record.
    ///
    /// # Errors
    ///
    /// If there is no response, or no such record.
    pub async fn get(&self, id: &str) -> Result<T, Error> {
        self.client.send(&Call::new(Method::GET, self.at(id)?)).await?.json()
    }

    /// Creates a record.
    ///
    /// # Errors
    ///
    /// If there is no response, or if the service refuses the record.
    pub async fn create<B>(&self, record: &B) -> Result<T, Error>
    where
        B: Serialize + ?Sized,
    {
        self.create_with(record, &Write::default()).await
    }

    /// Creates a record, with a dry run or further parameters.
    ///
    /// # Errors
    ///
    /// If there is no response, or if the service refuses the record.
    pub async fn create_with<B>(&self, record: &B, write: &Write) -> Result<T, Error>
    where
        B: Serialize + ?Sized,
    {
        self.client
            .send(&self.call(Method::POST, self.path.clone(), write)?.json(record)?)
            .await?
            .json()
    }

    /// Replaces a record: members that the new one lacks are cleared.
    ///
    /// # Errors
    ///
    /// If there is no response, no such record, or if the service refuses the new one.
    pub async fn replace<B>(&self, id: &str, record: &B, write: &Write) -> Result<T, Error>
    where
        B: Serialize + ?Sized,
    {
        self.client.send(&self.call(Method::PUT, self.at(id)?, write)?.json(record)?).await?.json()
    }

    /// Changes members of a record (JSON Merge Patch, RFC 7396).
    ///
    /// # Errors
    ///
    /// If there is no response, no such record, or if the service refuses the change.
    pub async fn patch<B>(&self, id: &str, change: &B, write: &Write) -> Result<T, Error>
    where
        B: Serialize + ?Sized,
    {
        self.client
            .send(&self.call(Method::PATCH, self.at(id)?, write)?.json(change)?)
            .await?
            .json()
    }
}
