//! Finds the gap of a page (<https://www.sqlite.org/fileformat2.html>, sections 1.3 and 1.6).
//!
//! A page of a tree contains its header, the pointers to its cells, the gap, and the cells, which
//! fill the page from its end. An overflow page begins with the number of another page: from 128
//! GiB on, that number may begin with the byte that marks a page of a tree. So a page counts as one
//! of a tree only if its cells, free blocks and fragments fill the area after the gap exactly, as
//! those of a tree do. After its first four bytes an overflow page contains text, whose bytes never
//! form such a header.

use std::{fs::File, io, ops::Range, os::unix::fs::FileExt as _};

/// The size of the file's own header, at the start of its first page.
const FILE_HEADER: usize = 100;

pub(crate) struct Layout {
    pub(crate) page_size: usize,
    pub(crate) pages: u32,
}

impl Layout {
    /// Parses the file's header. Returns `None` for an unknown layout.
    pub(crate) fn read(database: &File) -> io::Result<Option<Self>> {
        let mut header = [0; FILE_HEADER];
        database.read_exact_at(&mut header, 0)?;
        // The value 1 means 64 KiB, which does not fit into this field.
        let page_size = match u16_at(&header, 16) {
            Some(1) | None => return Ok(None),
            Some(size) => u64::from(size),
        };
        // Reserved bytes at the end of each page, which Roster does not use.
        let reserved = header.get(20).is_none_or(|reserved| *reserved != 0);
        let pages = database.metadata()?.len().checked_div(page_size);
        let pages = pages.and_then(|pages| u32::try_from(pages).ok());
        Ok(match (pages, usize::try_from(page_size)) {
            (Some(pages), Ok(page_size)) if !reserved => Some(Self { page_size, pages }),
            _ => None,
        })
    }

    /// The offset of a page; the first one has number 1.
    pub(crate) fn offset(number: u32, page_size: usize) -> u64 {
        let page_size = u64::try_from(page_size).unwrap_or(u64::MAX);
        u64::from(number.saturating_sub(1)).saturating_mul(page_size)
    }

    /// Reads consecutive pages. Returns `None` if the file cannot be read.
    pub(crate) fn read_pages<'b>(
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

/// The gap of a page, if it is a page of a tree and the gap is not empty.
pub(crate) fn gap(number: u32, page: &[u8]) -> Option<Range<usize>> {
    let header = if number == 1 { FILE_HEADER } else { 0 };
    let kind = Kind::of(*page.get(header)?)?;
    let pointers = header + if kind.is_inner { 12 } else { 8 };
    let start = pointers + 2 * usize::from(u16_at(page, header + 3)?);
    let end = usize::from(u16_at(page, header + 5)?);
    let is_unclean = page.get(start..end)?.iter().any(|byte| *byte != 0);
    let content = Content { page, header, start: end };
    let is_full = || content.used(kind, pointers..start) == page.len().checked_sub(end);
    (is_unclean && is_full()).then_some(start..end)
}

/// The kind of a tree's page.
#[derive(Clone, Copy)]
struct Kind {
    is_inner: bool,
    is_table: bool,
}

impl Kind {
    fn of(mark: u8) -> Option<Self> {
        let is_tree = matches!(mark, 2 | 5 | 10 | 13);
        is_tree.then_some(Self { is_inner: mark < 10, is_table: mark % 2 == 1 })
    }
}

/// The area after the gap.
struct Content<'p> {
    page: &'p [u8],
    header: usize,
    start: usize,
}

impl Content<'_> {
    /// How many bytes the cells, free blocks and fragments take. Returns `None` if one of them is
    /// outside this area.
    fn used(&self, kind: Kind, pointers: Range<usize>) -> Option<usize> {
        let mut used = usize::from(*self.page.get(self.header + 7)?);
        for pointer in pointers.step_by(2) {
            let cell = usize::from(u16_at(self.page, pointer)?);
            used += self.within(cell, self.cell_size(kind, cell)?)?;
        }
        let (mut block, mut end) = (usize::from(u16_at(self.page, self.header + 1)?), 0);
        while block != 0 {
            let size = usize::from(u16_at(self.page, block + 2)?);
            // The blocks are in ascending order, so the loop ends.
            used += self.within(block, size).filter(|_| block >= end && size >= 4)?;
            end = block + size;
            block = usize::from(u16_at(self.page, block)?);
        }
        Some(used)
    }

    fn within(&self, start: usize, size: usize) -> Option<usize> {
        (start >= self.start && start + size <= self.page.len()).then_some(size)
    }

    /// The size of a cell on this page, in bytes.
    fn cell_size(&self, kind: Kind, cell: usize) -> Option<usize> {
        let child = if kind.is_inner { 4 } else { 0 };
        let (number, length) = self.varint(cell + child)?;
        let size = child + length;
        let size = match (kind.is_table, kind.is_inner) {
            // The number is the id of the row, not the size of a payload.
            (true, true) => size,
            (true, false) => {
                let (_, row) = self.varint(cell + size)?;
                size + row + self.on_page(number, self.page.len().checked_sub(35)?)?
            }
            (false, _) => {
                let most = (self.page.len().checked_sub(12)? * 64 / 255).checked_sub(23)?;
                size + self.on_page(number, most)?
            }
        };
        Some(size.max(4))
    }

    /// How many bytes of a payload of this size are on this page: all of them, or a part and the
    /// number of an overflow page.
    fn on_page(&self, bytes: u64, most: usize) -> Option<usize> {
        let bytes = usize::try_from(bytes).ok()?;
        if bytes <= most {
            return Some(bytes);
        }
        let least = (self.page.len().checked_sub(12)? * 32 / 255).checked_sub(23)?;
        let rest = bytes.checked_sub(least)?.checked_rem(self.page.len().checked_sub(4)?)?;
        Some(4 + if least + rest <= most { least + rest } else { least })
    }

    /// A number of variable length, and its length.
    fn varint(&self, at: usize) -> Option<(u64, usize)> {
        let mut number = 0;
        for length in 1..=9 {
            let byte = *self.page.get(at + length - 1)?;
            if length == 9 {
                return Some(((number << 8) | u64::from(byte), length));
            }
            number = (number << 7) | u64::from(byte & 0x7f);
            if byte < 0x80 {
                return Some((number, length));
            }
        }
        None
    }
}

/// Two bytes, the higher one first.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leaf page of a table, of 512 bytes. Its cells fill it from the offset `content` on. Each
    /// cell but the last has 20 bytes.
    fn leaf(cells: u16, content: u16) -> Vec<u8> {
        let mut page = vec![0; 512];
        page[0] = 13;
        page[3..5].copy_from_slice(&cells.to_be_bytes());
        page[5..7].copy_from_slice(&content.to_be_bytes());
        for number in 0..cells {
            let start = content + 20 * number;
            let end = if number + 1 == cells { 512 } else { start + 20 };
            let pointer = usize::from(8 + 2 * number);
            page[pointer..pointer + 2].copy_from_slice(&start.to_be_bytes());
            // The length of the payload, followed by the number of the row.
            page[usize::from(start)] = u8::try_from(end - start - 2).unwrap();
            page[usize::from(start) + 1] = 1;
        }
        page
    }

    #[test]
    fn a_gap_lies_between_pointers_and_cells() {
        let mut page = leaf(3, 400);
        assert_eq!(gap(2, &page), None, "it is clean");
        page[14] = 1;
        assert_eq!(gap(2, &page), Some(14..400));
        page[14] = 0;
        for owned in [402, 425, 511] {
            page[owned] = 1;
        }
        assert_eq!(gap(2, &page), None, "pointers and cells are none of it");
        page[399] = 1;
        assert_eq!(gap(2, &page), Some(14..400));
    }

    #[test]
    fn an_inner_page_has_a_longer_header() {
        let mut page = vec![0; 512];
        page[0] = 5;
        page[4] = 1;
        page[5..7].copy_from_slice(&506u16.to_be_bytes());
        page[12..14].copy_from_slice(&506u16.to_be_bytes());
        // A page number of four bytes and a row number of two.
        page[510] = 0x81;
        page[13 + 1] = 7;
        assert_eq!(gap(2, &page), Some(14..506));
    }

    #[test]
    fn the_first_page_begins_with_the_header_of_the_file() {
        let mut page = leaf(1, 450);
        page.copy_within(0..20, 100);
        page[..100].fill(1);
        page[200] = 1;
        assert_eq!(gap(1, &page), Some(110..450));
    }

    #[test]
    fn what_is_no_page_of_a_tree_or_makes_no_sense_has_no_gap() {
        let mut page = leaf(3, 400);
        page[20] = 1;
        assert!(gap(2, &page).is_some());
        for kind in [0, 1, 3, 7, 255] {
            page[0] = kind;
            assert_eq!(gap(2, &page), None, "{kind}");
        }
        for (cells, content) in [(0u16, 0u16), (300, 400), (0, 600), (u16::MAX, u16::MAX)] {
            let mut page = leaf(0, content);
            page[3..5].copy_from_slice(&cells.to_be_bytes());
            page[20] = 1;
            assert_eq!(gap(2, &page), None, "{cells} {content}");
        }
        assert_eq!(gap(2, &[]), None);
    }

    #[test]
    fn a_page_whose_cells_do_not_fill_it_has_no_gap() {
        let broken = |at: usize, byte: u8| {
            let mut page = leaf(3, 400);
            page[20] = 1;
            page[at] = byte;
            gap(2, &page)
        };
        assert!(broken(30, 1).is_some());
        // In this order: a fragment, a free block, a cell that is too long, a pointer to another
        // place.
        for (at, byte) in [(7, 1), (2, 200), (400, 19), (9, 0)] {
            assert_eq!(broken(at, byte), None, "{at}");
        }
    }

    #[test]
    fn an_overflow_page_of_a_large_file_is_no_page_of_a_tree() {
        let text = br#"{"username":"ada","attributes":{"about":"#;
        for mark in [2, 5, 10, 13] {
            for third in [0, 1, 255] {
                // The page begins with the number of the next page, as in a file of more than 128
                // GiB.
                let mut page = vec![mark, 0, 0, third];
                page.extend(text.iter().cycle().take(4092));
                assert_eq!(gap(7, &page), None, "{mark}");
            }
        }
    }

    #[test]
    fn a_file_of_more_than_128_gib_has_a_layout() {
        let file = tempfile::tempfile().unwrap();
        let mut header = [0; FILE_HEADER];
        header[16..18].copy_from_slice(&4096u16.to_be_bytes());
        file.write_all_at(&header, 0).unwrap();
        file.set_len(200 << 30).unwrap();
        let layout = Layout::read(&file).unwrap().unwrap();
        assert_eq!(layout.pages, 200 << 18);
    }
}
