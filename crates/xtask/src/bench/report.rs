//! Medians and the printed tables.

use std::{fmt::Write as _, io::Write as _};

use anyhow::Result;

/// The middle value; `None` if there is none.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The goal of a figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// No goal.
    None,
}

/// A figure that is compared with its goal.
pub(super) struct Figure {
    /// The name of the figure and of its comparison.
    pub(super) name: String,
    /// The median over the rounds.
    pub(super) value: Option<f64>,
    /// The unit, or "x" for a ratio.
    pub(super) unit: &'static str,
    /// The goal.
    pub(super) target: Target,
}

impl Figure {
    fn verdict(&self) -> &'static str {
        match (self.value, self.target) {
            (None, _) => "not measured",
            (Some(_), Target::None) => "",
            (Some(value), Target::AtLeast(least)) if value >= least => "reached",
            (Some(value), Target::AtMost(most)) if value <= most => "reached",
            (Some(_), Target::AtLeast(_) | Target::AtMost(_)) => "MISSED",
        }
    }

    fn cells(&self) -> Vec<String> {
        let target = match self.target {
            Target::AtLeast(least) => format!(">= {least}"),
            Target::AtMost(most) => format!("<= {most}"),
            Target::None => "-".to_owned(),
        };
        let value = self.value.map_or_else(|| "-".to_owned(), |value| number(value, self.unit));
        vec![self.name.clone(), value, target, self.verdict().to_owned()]
    }
}

/// A number, with the number of decimals that suits its size.
pub(super) fn number(value: f64, unit: &str) -> String {
    let space = if unit.is_empty() || unit == "x" { "" } else { " " };
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}{space}{unit}")
}

/// Prints figures and their goals.
pub(super) fn print_figures(figures: &[Figure]) -> Result<()> {
    let cells: Vec<_> = figures.iter().map(Figure::cells).collect();
    print_table(&["figure", "measured", "goal", ""], &cells)
}

/// Prints lines of cells in columns, as a Markdown table.
pub(super) fn print_table(heads: &[&str], lines: &[Vec<String>]) -> Result<()> {
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        let longest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        longest.max(heads.get(column).map_or(0, |head| head.len()))
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut text = String::new();
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
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

#[cfg(test)]
mod tests {
    use super::{Figure, Target, median, number};

    #[test]
    fn the_median_is_the_middle_value() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn a_figure_reaches_its_goal_or_misses_it() {
        let verdict =
            |value, target| Figure { name: String::new(), value, unit: "x", target }.verdict();
        assert_eq!(verdict(Some(0.7), Target::AtLeast(0.7)), "reached");
        assert_eq!(verdict(Some(0.69), Target::AtLeast(0.7)), "MISSED");
        assert_eq!(verdict(Some(51.0), Target::AtMost(50.0)), "MISSED");
        assert_eq!(verdict(None, Target::AtMost(50.0)), "not measured");
        assert_eq!(verdict(Some(1.0), Target::None), "");
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(number(0.7312, "x"), "0.73x");
        assert_eq!(number(12_345.6, "/s"), "12346 /s");
    }
}
