//! The resources of one type on a page, and the envelope of a page.

use roster_core::{
    Actor,
    access::{Permit, ReadUsers},
};
use roster_scim::{Strictness, list::Envelope};

use super::ScimProblem;
use crate::request::Call;

/// Resources of one type on a page, as JSON.
#[derive(Default)]
pub(super) struct Resources {
    /// The number of resources that match; `None` if that is not known.
    pub(super) total: Option<u64>,
    pub(super) start_index: Option<u64>,
    pub(super) next_cursor: Option<String>,
    /// The number of resources on the page.
    pub(super) items: usize,
    /// Whether no resource follows.
    pub(super) ends: bool,
    /// Their JSON, with commas between them.
    pub(super) text: Vec<u8>,
}

/// The caller that requests a page, and how strictly its request is parsed.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) permit: Permit<ReadUsers>,
    pub(super) actor: &'a Actor,
    pub(super) strictness: Strictness,
}

impl<'a> Reader<'a> {
    pub(super) fn of(call: &'a Call) -> Result<Self, ScimProblem> {
        let (permit, strictness) = (call.permit()?, call.strictness());
        Ok(Self { permit, actor: call.authority().actor(), strictness })
    }
}

/// The JSON of a page: resources of each type, within the envelope.
pub(super) fn enclose(envelope: &Envelope, texts: &[&[u8]]) -> Vec<u8> {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let mut out = Vec::with_capacity(bytes + 256);
    envelope.open(&mut out);
    let mut is_first = true;
    for text in texts.iter().filter(|text| !text.is_empty()) {
        if !is_first {
            out.push(b',');
        }
        out.extend_from_slice(text);
        is_first = false;
    }
    Envelope::close(&mut out);
    out
}
