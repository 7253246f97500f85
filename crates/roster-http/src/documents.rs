//! Documents that are the same for every caller: their entity tags and their compressed forms.
//!
//! A document is made when it is first requested, and compressed when it is first sent in a coding.
//! Both are done again only after it changed, or if other documents took its place in memory. Each
//! coded form has its own strong entity tag: a digest of the document and the coding.

use std::{
    io::{self, Write as _},
    sync::{Arc, OnceLock},
};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH},
};
use quick_cache::{Weighter, sync::Cache};
use roster_core::TenantId;
use roster_server::{AcceptedCoding, Coding};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use crate::{
    extract::{Media, tags},
    problem::{Problem, ProblemCode},
    turns::in_one_piece,
};

/// With this quality, the longest document takes a tenth of a second.
const BROTLI_QUALITY: u32 = 7;
/// The best quality, for documents of up to so many bytes: the files of the console. They get a
/// twelfth smaller, and each takes less than a tenth of a second, once.
const BROTLI_QUALITY_OF_SMALL: u32 = 11;
const SMALL_BYTES_MAX: usize = 64 * 1024;
const BROTLI_WINDOW_LOG2: u32 = 22;

/// The memory for documents. The longest has less than 1 MiB; those of the default tenant and the
/// files of the console have 4 MiB together.
const KEPT_BYTES_MAX: u64 = 32 * 1024 * 1024;
const KEPT_MAX: usize = 1000;

/// Which document it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    /// The path.
    pub(crate) path: String,
    /// Its form.
    pub(crate) media: Media,
    /// Another version is another document.
    pub(crate) version: i64,
    /// The tenant, if its documents differ from those of others.
    pub(crate) tenant: TenantId,
}

/// The documents in the forms in which they were sent.
pub(crate) struct Documents {
    kept: Cache<Name, Arc<Document>, AllForms>,
    /// One document is made and compressed at a time: that takes up to a tenth of a second.
    making: Mutex<()>,
}

impl Default for Documents {
    fn default() -> Self {
        let kept = Cache::with_weighter(KEPT_MAX, KEPT_BYTES_MAX, AllForms);
        Self { kept, making: Mutex::default() }
    }
}

impl Documents {
    /// The response with a document, or 304 if the caller has it. `make` returns `None` if there is
    /// no such document.
    pub(crate) async fn respond(
        &self,
        name: &Name,
        headers: &HeaderMap,
        make: impl FnOnce() -> Option<Bytes>,
    ) -> Result<Response, Problem> {
        let coding = AcceptedCoding::of(headers, &[Coding::Brotli, Coding::Gzip]).coding;
        let kept = self.kept.get(name).filter(|document| document.has(coding));
        let document = match kept {
            Some(document) => document,
            None => self.make(name, coding, make).await?,
        };
        let tag = document.tag(coding);
        let is_known = tags(headers, &IF_NONE_MATCH)?.is_some_and(|known| known.hold_weakly(&tag));
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let form = document.form(coding);
            let bytes = form.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
            let mut response = Response::new(Body::from(bytes));
            response.headers_mut().insert(CONTENT_TYPE, name.media.header());
            if let Some(coding) = coding {
                response.headers_mut().insert(CONTENT_ENCODING, coding.header());
            }
            response
        };
        let etag = HeaderValue::try_from(format!("\"{tag}\""));
        response.headers_mut().extend(etag.map(|etag| (ETAG, etag)));
        Ok(response)
    }

    async fn make(
        &self,
        name: &Name,
        coding: Option<Coding>,
        make: impl FnOnce() -> Option<Bytes>,
    ) -> Result<Arc<Document>, Problem> {
        let _one = self.making.lock().await;
        let new = || make().map(|bytes| Arc::new(Document::of(bytes))).ok_or(());
        let document = in_one_piece(|| {
            self.kept.get_or_insert_with(name, new).inspect(|document| drop(document.form(coding)))
        });
        document.map_err(|()| Problem::new(ProblemCode::ProblemNotFound))
    }
}

/// The memory of a document in all its forms: coded ones have less than half of its size together.
#[derive(Clone)]
struct AllForms;

impl Weighter<Name, Arc<Document>> for AllForms {
    fn weight(&self, name: &Name, document: &Arc<Document>) -> u64 {
        let bytes = document.bytes.len() * 3 / 2 + name.path.len() + 200;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// One document in its forms.
struct Document {
    bytes: Bytes,
    digest: [u8; 32],
    gzip: OnceLock<Option<Bytes>>,
    brotli: OnceLock<Option<Bytes>>,
}

impl Document {
    fn of(bytes: Bytes) -> Self {
        let digest = Sha256::digest(&bytes).into();
        Self { bytes, digest, gzip: OnceLock::new(), brotli: OnceLock::new() }
    }

    /// The entity tag of the form in a coding, without its quotation marks.
    fn tag(&self, coding: Option<Coding>) -> String {
        let mut digest = self.digest;
        if let Some(coding) = coding {
            let named = Sha256::new().chain_update(digest).chain_update(coding.name());
            digest = named.finalize().into();
        }
        let (start, _) = digest.split_at(16);
        data_encoding::HEXLOWER.encode(start)
    }

    /// Whether it is there in a coding.
    fn has(&self, coding: Option<Coding>) -> bool {
        match coding {
            None => true,
            Some(Coding::Gzip) => self.gzip.get().is_some(),
            Some(Coding::Brotli) => self.brotli.get().is_some(),
        }
    }

    /// The form in a coding; `None` only if the encoder fails.
    fn form(&self, coding: Option<Coding>) -> Option<Bytes> {
        match coding {
            None => Some(self.bytes.clone()),
            Some(Coding::Gzip) => self.gzip.get_or_init(|| gzip(&self.bytes).ok()).clone(),
            Some(Coding::Brotli) => self.brotli.get_or_init(|| brotli(&self.bytes).ok()).clone(),
        }
    }
}

fn gzip(bytes: &[u8]) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish().map(Bytes::from)
}

fn brotli(bytes: &[u8]) -> io::Result<Bytes> {
    let mut coded = Vec::new();
    let is_small = bytes.len() <= SMALL_BYTES_MAX;
    let quality = if is_small { BROTLI_QUALITY_OF_SMALL } else { BROTLI_QUALITY };
    {
        let mut encoder =
            brotli::CompressorWriter::new(&mut coded, 4096, quality, BROTLI_WINDOW_LOG2);
        encoder.write_all(bytes)?;
        encoder.flush()?;
    }
    Ok(Bytes::from(coded))
}
