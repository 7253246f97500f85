//! What the machine allows: a bare hyper server that answers the same bytes to every request.
//!
//! It runs as a process of its own, like the server it is compared with, and on as many threads.

use std::{convert::Infallible, net::SocketAddr, thread::available_parallelism};

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, runtime, spawn};

/// Bytes of an answer: about those of one user.
const ONE_BYTES: usize = 500;
/// Bytes of the answer to [`PAGE_PATH`]: about those of a page of 50 users.
const PAGE_BYTES: usize = 24_054;
/// The path of the long answer.
pub(super) const PAGE_PATH: &str = "/page";

/// Serves until it is killed.
pub(super) fn serve(address: SocketAddr) -> Result<()> {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(available_parallelism()?.get())
        .enable_all()
        .build()?;
    // Accepting on a worker, as the rest of the work is.
    runtime.block_on(async move { spawn(accept(address)).await? })
}

async fn accept(address: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind(address).await?;
    let (one, page) = (filler(ONE_BYTES), filler(PAGE_BYTES));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (one, page) = (one.clone(), page.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let body = if request.uri().path() == PAGE_PATH { page.clone() } else { one.clone() };
            async move { Ok::<_, Infallible>(answer(body)) }
        });
        spawn(async move {
            // A caller who goes away is no fault of the bench.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

fn answer(body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    response
}

/// A JSON object of exactly `bytes` bytes.
fn filler(bytes: usize) -> Bytes {
    let frame = r#"{"pad":""}"#.len();
    Bytes::from(format!(r#"{{"pad":"{}"}}"#, "x".repeat(bytes.saturating_sub(frame))))
}
