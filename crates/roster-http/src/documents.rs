//! Documents that are the same for every caller: their entity tags and their compressed forms.
//!
//! A document is made when it is first requested, and compressed when it is first sent in a coding.
//! Both are done again only after it changed. Each coded form has its own strong entity tag: the
//! digest of its bytes.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    sync::{Arc, Mutex, OnceLock, PoisonError},
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
use roster_server::{AcceptedCoding, Coding};
use sha2::{Digest as _, Sha256};

use crate::{
    extract::{Media, tags},
    problem::{Problem, ProblemCode},
};

/// With this quality, the longest document takes a tenth of a second.
const BROTLI_QUALITY: u32 = 7;
/// The best quality, for documents of up to so many bytes: the files of the console. They get a
/// twelfth smaller, and each takes less than a tenth of a second, once.
const BROTLI_QUALITY_OF_SMALL: u32 = 11;
const SMALL_BYTES_MAX: usize = 64 * 1024;
const BROTLI_WINDOW_LOG2: u32 = 22;

/// The documents in the forms in which they were sent.
#[derive(Default)]
pub(crate) struct Documents {
    kept: Mutex<HashMap<(String, Media), Arc<Document>>>,
}

impl Documents {
    /// The response with a document, or 304 if the caller has it. Each document is kept in memory
    /// and made again only for another version, so there must be few values of `path`. `make`
    /// returns `None` if there is no such document.
    pub(crate) fn respond(
        &self,
        (path, media, version): (&str, Media, i64),
        headers: &HeaderMap,
        make: impl FnOnce() -> Option<Bytes>,
    ) -> Result<Response, Problem> {
        let document = self.document((path, media, version), make);
        let document = document.ok_or_else(|| Problem::new(ProblemCode::ProblemNotFound))?;
        let accepted = AcceptedCoding::of(headers, &[Coding::Brotli, Coding::Gzip]);
        let form = document.form(accepted.coding);
        let form = form.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
        let is_known =
            tags(headers, &IF_NONE_MATCH)?.is_some_and(|known| known.hold_weakly(form.tag()));
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = Response::new(Body::from(form.bytes.clone()));
            response.headers_mut().insert(CONTENT_TYPE, media.header());
            if let Some(coding) = accepted.coding {
                response.headers_mut().insert(CONTENT_ENCODING, coding.header());
            }
            response
        };
        response.headers_mut().insert(ETAG, form.etag.clone());
        Ok(response)
    }

    /// The document of this version from memory, or a new one.
    fn document(
        &self,
        (path, media, version): (&str, Media, i64),
        make: impl FnOnce() -> Option<Bytes>,
    ) -> Option<Arc<Document>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (path.to_owned(), media);
        if let Some(document) = kept.get(&key).filter(|document| document.version == version) {
            return Some(Arc::clone(document));
        }
        let document = Arc::new(Document { version, bytes: make()?, ..Document::default() });
        kept.insert(key, Arc::clone(&document));
        Some(document)
    }
}

/// One document in its forms.
#[derive(Default)]
struct Document {
    version: i64,
    bytes: Bytes,
    plain: OnceLock<Option<Form>>,
    gzip: OnceLock<Option<Form>>,
    brotli: OnceLock<Option<Form>>,
}

impl Document {
    /// The form in a coding; `None` only if the encoder fails.
    fn form(&self, coding: Option<Coding>) -> Option<&Form> {
        let form = match coding {
            None => self.plain.get_or_init(|| Form::of(self.bytes.clone())),
            Some(Coding::Gzip) => {
                self.gzip.get_or_init(|| gzip(&self.bytes).ok().and_then(Form::of))
            }
            Some(Coding::Brotli) => {
                self.brotli.get_or_init(|| brotli(&self.bytes).ok().and_then(Form::of))
            }
        };
        form.as_ref()
    }
}

/// The bytes that are sent.
struct Form {
    bytes: Bytes,
    etag: HeaderValue,
}

impl Form {
    fn of(bytes: Bytes) -> Option<Self> {
        let digest = Sha256::digest(&bytes);
        let digest = data_encoding::HEXLOWER.encode(digest.first_chunk::<16>()?);
        let etag = HeaderValue::try_from(format!("\"{digest}\"")).ok()?;
        Some(Self { bytes, etag })
    }

    /// The entity tag without its quotation marks.
    fn tag(&self) -> &str {
        self.etag.to_str().unwrap_or_default().trim_matches('"')
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
