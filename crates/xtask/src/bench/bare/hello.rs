//! A bare hyper server that sends the same bytes for every request.
//!
//! It runs in a separate process, like the service, and on as many threads.

use std::{convert::Infallible, net::SocketAddr, thread::available_parallelism};

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, runtime, spawn};

/// The size of a response in bytes: about that of one user.
const BODY_BYTES: usize = 500;

/// Serves until it is killed.
pub(crate) fn serve(address: SocketAddr) -> Result<()> {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(available_parallelism()?.get())
        .enable_all()
        .build()?;
    // Connections are accepted on a worker thread, like all other work.
    runtime.block_on(async move { spawn(accept(address)).await? })
}

async fn accept(address: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind(address).await?;
    let body = Bytes::from(format!("{{\"pad\":\"{}\"}}", "x".repeat(BODY_BYTES - 10)));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let body = body.clone();
        let service = service_fn(move |_: Request<Incoming>| {
            let mut response = Response::new(Full::new(body.clone()));
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            async move { Ok::<_, Infallible>(response) }
        });
        spawn(async move {
            // A broken connection is not an error of the benchmark.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}
