//! Tables: with borders on a terminal, aligned text elsewhere.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};

use super::output;
use crate::error::Result;

/// Prints rows under headings; `empty` where there are none.
pub(super) fn print(headings: &[&str], rows: Vec<Vec<String>>, empty: &str) -> Result<()> {
    output::line(text(headings, rows, empty))
}

/// Rows under headings as they are to be printed; `empty` where there are none.
pub(super) fn text(headings: &[&str], rows: Vec<Vec<String>>, empty: &str) -> String {
    if rows.is_empty() {
        return empty.to_owned();
    }
    if !output::is_terminal() {
        return plain(headings, &rows);
    }
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some((width, _)) = size() {
        table.set_width(width);
    }
    table.set_header(headings.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    table.to_string()
}

/// Columns and lines of the terminal, if it has some.
pub(super) fn size() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// Columns two blanks apart, without blanks at the end of a line.
fn plain(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let headings = headings.iter().map(|heading| (*heading).to_owned()).collect::<Vec<_>>();
    let lines = std::iter::once(&headings).chain(rows).map(|row| {
        let cells: Vec<_> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width)).collect();
        cells.join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// One line of at most so many characters, safe for a terminal.
pub(super) fn cut(text: &str, most: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut cut: String = line.chars().take(most).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if line.chars().nth(most).is_some() {
        cut.pop();
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_with_text() {
        let text = plain(&["ID", "TASK"], &[vec!["7".into(), "mäil".into()], vec!["12".into(), String::new()]]);
        assert_eq!(text, "ID  TASK\n7   mäil\n12");
    }

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        assert_eq!(cut("\u{1b}[31mred\nmore", 80), "\u{fffd}[31mred");
        assert_eq!(cut("abcdef", 4), "abc…");
    }
}
