//! Create, get, all pages, a filter, PUT with `If-Match`, a stale PUT, PATCH, an invalid user and
//! DELETE, by the generated client. The arguments are the URL of the service and a key.

use std::{env, num::NonZeroU32};

use bytes::Bytes;
use futures::TryStreamExt as _;
use progenitor_client::Error;
use reqwest::header::{HeaderMap, HeaderValue, AUTHORIZATION};
use serde_json::{from_slice, from_value, json, Value};

#[allow(warnings, clippy::all, reason = "generated code")]
mod api {
    include!(concat!(env!("OUT_DIR"), "/api.rs"));
}
use api::{types, Client};

/// A value of a generated type.
fn of<T: serde::de::DeserializeOwned>(value: Value) -> T {
    from_value(value).expect("the description has this value")
}

async fn create(
    client: &Client,
    body: Value,
) -> Result<progenitor_client::ResponseValue<types::User>, Error<progenitor_client::ByteStream>> {
    client.create_user(None, None, None, None, None, None, &of(body)).await
}

async fn list(
    client: &Client,
    cursor: Option<types::ListUsersCursor>,
    filter: Option<types::ListUsersFilter>,
) -> types::UserList {
    let limit = NonZeroU32::new(3);
    let page = client
        .list_users(
            None,
            cursor.as_ref(),
            None,
            None,
            None,
            filter.as_ref(),
            None,
            limit,
            None,
            Some("progenitor"),
            None,
            None,
            None,
            None,
        )
        .await;
    page.expect("a page").into_inner()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = env::args().skip(1);
    let mut argument = || arguments.next().expect("the URL of the service and a key");
    let url = argument();
    let bearer = format!("Bearer {}", argument());
    let bearer = HeaderValue::try_from(bearer).expect("a key");
    let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
    let http = reqwest::Client::builder().default_headers(headers).build().expect("a client");
    let client = Client::new_with_client(&url, http);

    let mut ids = Vec::new();
    for number in 0..7 {
        let body = json!({"username": format!("p{number}"), "name": "Progenitor"});
        let made = create(&client, body).await.expect("a user");
        assert_eq!(made.status().as_u16(), 201);
        ids.push(made.into_inner().id);
    }
    let first = client.get_user(&ids[0], None, None).await.expect("a user");
    let tag = first.headers()["etag"].to_str().expect("a tag").to_owned();
    let (mut seen, mut cursor) = (0, None);
    loop {
        let page = list(&client, cursor, None).await;
        seen += page.items.len();
        match page.next_cursor {
            Some(next) => cursor = Some(of(serde_json::to_value(next).expect("a text"))),
            None => break,
        }
    }
    assert_eq!(seen, ids.len());
    let filter = of(json!("username eq \"p3\""));
    assert_eq!(list(&client, None, Some(filter)).await.items.len(), 1);

    let body: types::UserReplace = of(json!({"username": "p0", "title": "Dr"}));
    let replace = || client.replace_user(&ids[0], None, None, Some(&tag), None, None, &body);
    let replaced = replace().await.expect("the current version").into_inner();
    assert_eq!(replaced.title.as_deref().map(String::as_str), Some("Dr"));
    assert_eq!(replaced.version.get(), 2);
    let stale = replace().await.expect_err("a stale version");
    assert_eq!(stale.status().map(|status| status.as_u16()), Some(412));
    let patch: types::UserPatch = of(json!({"nickname": "P"}));
    let patched = client.patch_user(&ids[0], None, None, None, None, None, &patch).await;
    assert_eq!(patched.expect("a user").into_inner().version.get(), 3);

    let invalid = create(&client, json!({"username": "p9", "email": "none"})).await;
    let Err(Error::ErrorResponse(answer)) = invalid else { panic!("an invalid user was taken") };
    assert_eq!(answer.status().as_u16(), 422);
    let pieces: Vec<Bytes> = answer.into_inner().into_inner().try_collect().await.expect("a body");
    let problem: types::Problem = from_slice(&pieces.concat()).expect("a problem");
    assert_eq!(problem.errors[0].code.as_str(), "invalid-email");

    for id in &ids {
        let deleted = client.delete_user(id, None, None, None, None).await.expect("no body");
        assert_eq!(deleted.status().as_u16(), 204);
    }
    println!("passed");
}
