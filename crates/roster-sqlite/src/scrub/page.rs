//! Where the gap of a page lies (<https://www.sqlite.org/fileformat2.html>, sections 1.3 and 1.6).
//!
//! A page of a tree holds its header, the pointers to its cells, the gap, and from the far end the
//! cells. Nothing else of a page is understood here, and no other kind of page.

use std::{fs::File, io, ops::Range, os::unix::fs::FileExt as _};

/// A page that begins with the number of another one, as overflow pages do, begins with a byte
/// that would mark it as a tree's only where numbers go this far: 128 GiB and more.
const PAGES_MAX: u32 = 0x0200_0000;

/// The size of the file's own header, at the start of its first page.
const FILE_HEADER: usize = 100;

/// How a database file is laid out.
pub(super) struct Layout {
    pub(super) page_size: usize,
    pub(super) pages: u32,
}

impl Layout {
    /// Reads the file's header; `None` where the pages cannot be told apart.
    pub(super) fn read(database: &File) -> io::Result<Option<Self>> {
        let mut header = [0; FILE_HEADER];
        database.read_exact_at(&mut header, 0)?;
        // 1 stands for 64 KiB, which does not fit.
        let page_size = match u16_at(&header, 16) {
            Some(1) | None => return Ok(None),
            Some(size) => u64::from(size),
        };
        // Bytes at the end of each page that belong to nobody: we never ask for any.
        let reserved = header.get(20).is_none_or(|reserved| *reserved != 0);
        let pages = database.metadata()?.len().checked_div(page_size);
        let pages = pages.and_then(|pages| u32::try_from(pages).ok());
        Ok(match (pages, usize::try_from(page_size)) {
            (Some(pages), Ok(page_size)) if pages < PAGES_MAX && !reserved => {
                Some(Self { page_size, pages })
            }
            _ => None,
        })
    }

    /// Where a page begins; the first one has number 1.
    pub(super) fn offset(number: u32, page_size: usize) -> u64 {
        let page_size = u64::try_from(page_size).unwrap_or(u64::MAX);
        u64::from(number.saturating_sub(1)).saturating_mul(page_size)
    }

    /// Reads some pages one after the other; `None` where the file cannot be read.
    pub(super) fn read_pages<'b>(
        &self,
        database: &File,
        first: u32,
        count: u32,
        bytes: &'b mut [u8],
    ) -> Option<impl Iterator<Item = &'b [u8]>> {
        let length = usize::try_from(count).ok()?.checked_mul(self.page_size)?;
        let bytes = bytes.get_mut(..length)?;
        database.read_exact_at(bytes, Self::offset(first, self.page_size)).ok()?;
        Some(bytes.chunks_exact(self.page_size))
    }
}

/// Where the gap of a page lies, if it is the page of a tree and anything is left there.
pub(super) fn gap(number: u32, page: &[u8]) -> Option<Range<usize>> {
    let header = if number == 1 { FILE_HEADER } else { 0 };
    let pointers = match page.get(header)? {
        // Inner pages of an index and of a table.
        2 | 5 => header + 12,
        // Their leaves.
        10 | 13 => header + 8,
        _ => return None,
    };
    let start = pointers + 2 * usize::from(u16_at(page, header + 3)?);
    let end = usize::from(u16_at(page, header + 5)?);
    let is_unclean = page.get(start..end)?.iter().any(|byte| *byte != 0);
    is_unclean.then_some(start..end)
}

/// Two bytes, the higher one first.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(cells: u16, content: u16) -> Vec<u8> {
        let mut page = vec![0; 512];
        page[0] = 13;
        page[3..5].copy_from_slice(&cells.to_be_bytes());
        page[5..7].copy_from_slice(&content.to_be_bytes());
        page
    }

    #[test]
    fn a_gap_lies_between_pointers_and_cells() {
        let mut page = leaf(3, 400);
        assert_eq!(gap(2, &page), None, "it is clean");
        page[14] = 1;
        assert_eq!(gap(2, &page), Some(14..400));
        page[14] = 0;
        for owned in [13, 400, 511] {
            page[owned] = 1;
        }
        assert_eq!(gap(2, &page), None, "pointers and cells are none of it");
        page[399] = 1;
        assert_eq!(gap(2, &page), Some(14..400));
        page[0] = 5;
        assert_eq!(gap(2, &page), Some(18..400), "an inner page has a longer header");
    }

    #[test]
    fn the_first_page_begins_with_the_header_of_the_file() {
        let mut page = vec![1; 100];
        page.extend(leaf(1, 300).into_iter().take(412));
        page[200] = 1;
        assert_eq!(gap(1, &page), Some(110..300));
    }

    #[test]
    fn what_is_no_page_of_a_tree_or_makes_no_sense_has_no_gap() {
        let mut page = leaf(3, 400);
        page[20] = 1;
        for kind in [0, 1, 3, 7, 255] {
            page[0] = kind;
            assert_eq!(gap(2, &page), None, "{kind}");
        }
        for (cells, content) in [(0, 0), (300, 400), (0, 600), (u16::MAX, u16::MAX)] {
            let mut page = leaf(cells, content);
            page[20] = 1;
            assert_eq!(gap(2, &page), None, "{cells} {content}");
        }
        assert_eq!(gap(2, &[]), None);
    }
}
