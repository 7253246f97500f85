//! A table that fits the terminal.

use std::io::{self, IsTerminal as _, Write};

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::text::printable;

/// Space between columns.
const GAP: usize = 2;
/// No column becomes narrower than this to make room for others.
const NARROWEST: usize = 8;

/// Rows, and the widths of their columns.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The width of each column; none is cut if the table goes to a program.
    widths: Vec<usize>,
    is_cut: bool,
}

impl Table {
    /// A table as wide as the terminal, or as its longest cells if stdout is none.
    pub(crate) fn of(header: &[String], rows: &[Vec<String>]) -> Self {
        let terminal = io::stdout().is_terminal().then(terminal_width);
        Self::of_width(header, rows, terminal)
    }

    fn of_width(header: &[String], rows: &[Vec<String>], width: Option<usize>) -> Self {
        let one_line = |cell: &String| printable(&cell.replace('\n', " "));
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(one_line).collect()).collect();
        let header: Vec<String> = header.iter().map(|name| name.to_uppercase()).collect();
        let count = rows.iter().map(Vec::len).max().unwrap_or(0).max(header.len());
        let longest = |column: usize| {
            let cells = rows.iter().chain([&header]).filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..count).map(longest).collect();
        if let Some(width) = width {
            // An id that is cut is of no use.
            let is_cut = |column: usize| header.get(column).is_none_or(|name| name != "ID");
            fit(&mut widths, is_cut, width.saturating_sub(GAP * count.saturating_sub(1)));
        }
        Self { header, rows, widths, is_cut: width.is_some() }
    }

    /// The same columns for further rows.
    pub(crate) fn without_rows(self) -> Self {
        Self { rows: Vec::new(), ..self }
    }

    /// Writes header and rows.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if !self.header.is_empty() {
            let (bold, plain) = if self.is_cut { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
            writeln!(out, "{bold}{}{plain}", self.line(&self.header))?;
        }
        self.rows.iter().try_for_each(|row| writeln!(out, "{}", self.line(row)))
    }

    /// Writes a further row.
    pub(crate) fn row(&self, out: &mut impl Write, row: &[String]) -> io::Result<()> {
        let row: Vec<String> = row.iter().map(|cell| printable(&cell.replace('\n', " "))).collect();
        writeln!(out, "{}", self.line(&row))
    }

    fn line(&self, row: &[String]) -> String {
        let mut line = String::new();
        for (index, (cell, width)) in row.iter().zip(&self.widths).enumerate() {
            let is_last = index + 1 == row.len();
            let cell = if self.is_cut { cut(cell, *width) } else { cell.clone() };
            let room = width.saturating_sub(cell.width());
            line.push_str(&isolated(&cell, self.is_cut));
            if !is_last {
                line.push_str(&" ".repeat(room + GAP));
            }
        }
        line.trim_end().to_owned()
    }
}

/// Makes the widest columns narrower until all fit.
fn fit(widths: &mut [usize], is_cut: impl Fn(usize) -> bool, room: usize) {
    while widths.iter().sum::<usize>() > room {
        let columns = widths.iter_mut().enumerate().filter(|(column, _)| is_cut(*column));
        let Some(widest) = columns.map(|(_, width)| width).max() else { return };
        if *widest <= NARROWEST {
            return;
        }
        *widest -= 1;
    }
}

/// The beginning of a text that has this width, with an ellipsis if something is left out. It is
/// cut between characters as people see them.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for character in text.graphemes(true) {
        if short.width() + character.width() + 1 > width {
            break;
        }
        short.push_str(character);
    }
    short + "…"
}

/// A text from right to left is isolated, so that it does not move the other cells of its row
/// (Unicode Standard Annex 9).
fn isolated(cell: &str, is_terminal: bool) -> String {
    let is_from_the_right = |character: char| {
        let code = u32::from(character);
        matches!(code, 0x590..=0x8ff | 0xfb1d..=0xfdff | 0xfe70..=0xfeff)
            || matches!(code, 0x10800..=0x10fff | 0x1e800..=0x1efff)
    };
    if is_terminal && cell.contains(is_from_the_right) {
        format!("\u{2068}{cell}\u{2069}")
    } else {
        cell.to_owned()
    }
}

fn terminal_width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(header: &[&str], rows: &[&[&str]], width: Option<usize>) -> String {
        let owned = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let table = Table::of_width(
            &owned(header),
            &rows.iter().map(|row| owned(row)).collect::<Vec<_>>(),
            width,
        );
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let table = written(&["id", "name"], &[&["1", "Ada"], &["20", "日本"]], None);
        assert_eq!(table, "ID  NAME\n1   Ada\n20  日本\n");
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let long = "a".repeat(60);
        let table = written(
            &["username", "name"],
            &[&["ada", &long], &[&long, "日本語日本語日本語"]],
            Some(30),
        );
        for line in table.lines() {
            assert!(line.width() <= 30, "{line}");
        }
        assert!(table.contains('…'), "{table}");
    }

    #[test]
    fn a_text_from_right_to_left_stays_in_its_cell() {
        let table = written(&["name", "id"], &[&["שלום עולם", "7"]], Some(40));
        assert!(table.contains("\u{2068}שלום עולם\u{2069}  7"), "{table:?}");
    }

    #[test]
    fn a_cut_leaves_whole_characters() {
        let family = "👩‍👩‍👧";
        for width in 2..8 {
            let short = cut(&family.repeat(4), width);
            assert!(short.width() <= width && short.ends_with('…'), "{width}: {short}");
            assert_eq!(short.trim_end_matches('…').len() % family.len(), 0, "{short}");
        }
    }

    #[test]
    fn no_cell_controls_the_terminal() {
        let table = written(&[], &[&["a\u{1b}[2Jb\nc", "\u{202e}x"]], Some(80));
        assert_eq!(table, "a\\u001b[2Jb c  \\u202ex\n");
    }
}
