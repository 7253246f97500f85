//! Medians, ratios, and the tables that the bench prints.

use std::{fmt::Write as _, io::Write as _};

use anyhow::Result;

/// The middle value; `None` if there is none.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// What a row has to reach.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// This much or more.
    AtLeast(f64),
    /// This much or less.
    AtMost(f64),
    /// Reported without a goal.
    Informational,
}

/// One row of the table of targets.
pub(super) struct Row {
    /// What was measured, and against what.
    pub(super) work: String,
    /// The median over the rounds.
    pub(super) value: Option<f64>,
    /// The unit, or "x" of a ratio.
    pub(super) unit: &'static str,
    /// What it has to reach.
    pub(super) target: Target,
}

impl Row {
    fn verdict(&self) -> &'static str {
        match (self.value, self.target) {
            (None, _) => "not measured",
            (Some(_), Target::Informational) => "",
            (Some(value), Target::AtLeast(least)) if value >= least => "reached",
            (Some(value), Target::AtMost(most)) if value <= most => "reached",
            (Some(_), Target::AtLeast(_) | Target::AtMost(_)) => "MISSED",
        }
    }

    fn cells(&self) -> Vec<String> {
        let target = match self.target {
            Target::AtLeast(least) => format!(">= {least}"),
            Target::AtMost(most) => format!("<= {most}"),
            Target::Informational => "-".to_owned(),
        };
        let value = self.value.map_or_else(|| "-".to_owned(), |value| number(value, self.unit));
        vec![self.work.clone(), value, target, self.verdict().to_owned()]
    }
}

/// A number with as many decimals as its size calls for.
pub(super) fn number(value: f64, unit: &str) -> String {
    let space = if unit.is_empty() || unit == "x" { "" } else { " " };
    if value >= 100.0 {
        format!("{value:.0}{space}{unit}")
    } else if value >= 10.0 {
        format!("{value:.1}{space}{unit}")
    } else {
        format!("{value:.2}{space}{unit}")
    }
}

/// Prints the rows under their heads.
pub(super) fn print_rows(rows: &[Row]) -> Result<()> {
    let cells: Vec<_> = rows.iter().map(Row::cells).collect();
    print_table(&["work", "measured", "target", ""], &cells)
}

/// Prints lines of cells in columns, as a Markdown table.
pub(super) fn print_table(heads: &[&str], lines: &[Vec<String>]) -> Result<()> {
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        let longest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        longest.max(heads.get(column).map_or(0, |head| head.len()))
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    for line in [&heads, &rule].into_iter().chain(lines) {
        for (column, width) in widths.iter().enumerate() {
            let cell = line.get(column).map_or("", String::as_str);
            write!(text, "| {cell:width$} ", width = *width)?;
        }
        text.push_str("|\n");
    }
    say(&text)
}

/// Prints a paragraph.
pub(super) fn say(text: &str) -> Result<()> {
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Row, Target, median, number};

    #[test]
    fn the_median_is_the_middle_value() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn a_row_knows_whether_its_target_is_reached() {
        let verdict =
            |value, target| Row { work: String::new(), value, unit: "x", target }.verdict();
        assert_eq!(verdict(Some(0.7), Target::AtLeast(0.7)), "reached");
        assert_eq!(verdict(Some(0.69), Target::AtLeast(0.7)), "MISSED");
        assert_eq!(verdict(Some(51.0), Target::AtMost(50.0)), "MISSED");
        assert_eq!(verdict(None, Target::AtMost(50.0)), "not measured");
        assert_eq!(verdict(Some(1.0), Target::Informational), "");
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(number(0.7312, "x"), "0.73x");
        assert_eq!(number(12_345.6, "/s"), "12346 /s");
    }
}
