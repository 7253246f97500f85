//! Fetches a document of an issuer, with limits on size and time.

use std::net::IpAddr;

use bytes::Bytes;
use http::{
    Request, StatusCode,
    header::{ACCEPT, USER_AGENT},
};
use roster_outbound::{Client, Limits};

use crate::{
    limits::{ANSWER_BYTES_MAX, ANSWER_TRAFFIC_BYTES_MAX, ANSWER_WAIT_MAX},
    url::IssuerUrl,
};

const LIMITS: Limits = Limits {
    connect: ANSWER_WAIT_MAX,
    whole: ANSWER_WAIT_MAX,
    body_bytes: Some(ANSWER_BYTES_MAX),
    traffic_bytes: ANSWER_TRAFFIC_BYTES_MAX,
};

/// The body of the response. The error is a text for the log.
pub(crate) async fn get(client: &Client, url: &IssuerUrl) -> Result<Bytes, String> {
    let fetched = exchange(client, url).await;
    fetched.map_err(|why| format!("{url}: {why}"))
}

async fn exchange(client: &Client, url: &IssuerUrl) -> Result<Bytes, String> {
    let request = Request::get(url.path())
        .header(USER_AGENT, "roster")
        .header(ACCEPT, "application/json, application/jwk-set+json")
        .body(Bytes::new())
        .map_err(|error| error.to_string())?;
    // The operator sets the URL, and an issuer may be in an inner network. Even if the name
    // resolves to another address, plain HTTP connects only to loopback.
    let admits = |address: IpAddr| url.is_secure() || address.is_loopback();
    let answer = client.send(url.target(), request, LIMITS, admits).await;
    let answer = answer.map_err(|fault| fault.to_string())?;
    match answer.status {
        StatusCode::OK => Ok(answer.body),
        status => Err(format!("status {}", status.as_u16())),
    }
}

#[cfg(test)]
mod tests {
    use roster_outbound::RootCertStore;
    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn an_issuer_that_sends_informational_responses_without_end_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let issuer = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let part = b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000);
            let mut sent = 0;
            while stream.write_all(&part).await.is_ok() {
                sent += part.len();
            }
            sent
        });
        let client = Client::trusting(RootCertStore::empty());
        let began = std::time::Instant::now();
        assert!(get(&client, &IssuerUrl::parse(&url).unwrap()).await.is_err());
        assert!(began.elapsed() < ANSWER_WAIT_MAX / 2);
        // What the kernel buffers is sent too.
        assert!(issuer.await.unwrap() < 20_000_000);
    }
}
