//! The first row of turbostat's table, which is about the whole machine.

use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut lines = source.lines().skip_while(|line| !line.text.contains("Busy%"));
    let (Some(head), Some(row)) = (lines.next(), lines.next()) else { return };
    let names: Vec<&str> = head.text.split_ascii_whitespace().collect();
    let values: Vec<&str> = row.text.split_ascii_whitespace().collect();
    // The first columns name the CPU and are empty in the row of all.
    let Some(unnamed) = names.len().checked_sub(values.len()) else {
        out.unexpected(row.number, row.text);
        return;
    };
    for (name, value) in names.iter().skip(unnamed).zip(values) {
        if value != "-" && !value.contains('*') {
            out.push_word(row.number, name, value);
        }
    }
}
