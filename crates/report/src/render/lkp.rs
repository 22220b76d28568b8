//! The table in the layout of lkp-tests' `ncompare`.
//!
//! ```text
//!          %stddev     %change         %stddev
//!              \          |                \
//!     927326            +6.1%     983845        stress-ng.sockfd.ops_per_sec
//! ```

use std::fmt::Write;

use crate::number::{fixed, general, signed, whole};
use crate::report::{Report, ReportColumn};
use crate::table::{Cell, Change, FailureRow, Row};
use crate::text::{plain, wrapped};

const RULE: usize = 89;
/// Width of the first column; and of each further one, with its change.
const FIRST: usize = 16;
const FURTHER: usize = 27;

/// The table of a report. In the compatible mode these are the peer's bytes, and nothing at all
/// when no row was selected; otherwise a line on the clock stands before the table, and rows
/// whose metric some run lacks say so.
pub fn lkp(report: &Report) -> String {
    let table = &report.table;
    let mut out = String::new();
    let has_rows = !(table.failures.is_empty() && table.rows.is_empty());
    let is_empty = report.columns.is_empty() || !has_rows;
    if table.lkp_compatible && is_empty {
        return out;
    }
    // Writing to a string cannot fail, so the results are passed over.
    if !table.lkp_compatible {
        let clock = format!("clock: {} - ", report.clock);
        out.push_str(&wrapped(&clock, &report.clock_meaning, RULE));
        out.push('\n');
    }
    if report.columns.is_empty() {
        out.push_str("(nothing to compare)\n");
        return out;
    }
    head(&mut out, report);
    let further = report.columns.len().saturating_sub(1);
    if !table.failures.is_empty() {
        let _ = writeln!(out, "       fail:runs{}", "  %reproduction    fail:runs".repeat(further));
        let _ = writeln!(out, "           |    {}", "         |             |    ".repeat(further));
        for row in &table.failures {
            failure_row(&mut out, row, table.lkp_compatible);
        }
    }
    if !table.rows.is_empty() {
        let _ = writeln!(out, "         %stddev{}", "     %change         %stddev".repeat(further));
        let _ =
            writeln!(out, "             \\  {}", "        |                \\  ".repeat(further));
        for row in &table.rows {
            measured_row(&mut out, row, table.lkp_compatible);
        }
    }
    if is_empty {
        let _ = writeln!(out, "(nothing moved, and no headline metric is known)");
    }
    out.push('\n');
    out
}

fn head(out: &mut String, report: &Report) {
    let mut axes: Vec<(&String, &String)> = report.axes.0.iter().collect();
    axes.sort_by_cached_key(|(key, value)| axis_order(key, value));
    let keys: Vec<String> = axes.iter().map(|(key, _)| plain(key)).collect();
    let values: Vec<String> = axes.iter().map(|(_, value)| plain(value)).collect();
    let _ = writeln!(out, "{}", "=".repeat(RULE));
    let _ = writeln!(out, "{}:", keys.join("/"));
    let _ = writeln!(out, "  {}", values.join("/"));
    let _ = writeln!(out, "\n{}: ", plain(&report.key));
    for column in &report.columns {
        let _ = writeln!(out, "  {}", listed(column));
    }
    let _ = writeln!(out);
    for (at, column) in report.columns.iter().enumerate() {
        let width = if at == 0 { FIRST } else { FURTHER };
        let name: String = plain(&column.value).chars().take(width).collect();
        let _ = write!(out, "{name:>width$} ");
    }
    let _ = writeln!(out);
    for at in 0..report.columns.len() {
        let width = if at == 0 { FIRST } else { FURTHER };
        let _ = write!(out, "{} ", "-".repeat(width));
    }
    let _ = writeln!(out);
}

/// Axes are sorted as "key=value" texts, which puts `fs2` before `fs`; a commit that all columns
/// share stands behind the others, as it does in result paths.
fn axis_order(key: &str, value: &str) -> (bool, String) {
    (key == "commit", format!("{key}={value}"))
}

/// A column in the list above the table: its value, and its note behind it. A commit id is cut
/// to ten digits where the note says which one it is.
fn listed(column: &ReportColumn) -> String {
    let value = plain(&column.value);
    let Some(note) = &column.note else { return value };
    let is_id = value.len() == 40 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value: String = if is_id { value.chars().take(10).collect() } else { value };
    format!("{value} {}", plain(note))
}

fn failure_row(out: &mut String, row: &FailureRow, is_compatible: bool) {
    let no_runs = if is_compatible { "NaN" } else { "-" };
    for (at, cell) in row.cells.iter().enumerate() {
        if let Some(difference) = at.checked_sub(1).and_then(|at| row.reproduction.get(at)) {
            let difference = difference.map_or(no_runs.to_owned(), |d| fixed(d, 0));
            let _ = write!(out, "{difference:>10}% ");
        }
        let fails = if cell.fails == 0.0 { String::new() } else { whole(cell.fails) };
        let _ = write!(out, "{fails:>11}:{:<4}", cell.runs);
    }
    let _ = writeln!(out, "  {}", plain(&row.name));
}

fn measured_row(out: &mut String, row: &Row, is_compatible: bool) {
    for (at, cell) in row.cells.iter().enumerate() {
        if let Some(change) = at.checked_sub(1).and_then(|at| row.changes.get(at)) {
            out.push_str(&change_text(change));
        }
        let value = cell.mean.map_or("-".to_owned(), value);
        let _ = write!(out, "{value:>10}{:<6}", spread(cell));
    }
    let _ = write!(out, "  {}", plain(&row.name));
    if !is_compatible && row.cells.iter().any(|cell| cell.present < cell.runs) {
        let shares: Vec<String> =
            row.cells.iter().map(|cell| format!("{}/{}", cell.present, cell.runs)).collect();
        let _ = write!(out, "  (in {} runs)", shares.join(", "));
    }
    out.push('\n');
}

fn change_text(change: &Change) -> String {
    let number = |value: f64| {
        signed(if value.abs() < 100_000.0 { fixed(value, 1) } else { general(value, 2) })
    };
    match change {
        Change::Percent(value) => format!("{:>10}% ", number(*value)),
        Change::Points(value) => format!("{:>10}  ", number(*value)),
        Change::FromZero { rose } => format!("{:>10}% ", if *rose { "+Inf" } else { "-Inf" }),
        Change::Absent => format!("{:>10}  ", "-"),
    }
}

/// A mean: two decimals below 1000, whole up to 1e8, four digits above.
pub(super) fn value(value: f64) -> String {
    if value.abs() < 1000.0 {
        fixed(value, 2)
    } else if value.abs() > 1e8 {
        general(value, 4)
    } else {
        whole(value)
    }
}

fn spread(cell: &Cell) -> String {
    match cell.spread_percent {
        Some(percent) if percent > 2.0 => format!(" \u{b1}{:>3}%", whole(percent)),
        _ => String::new(),
    }
}
