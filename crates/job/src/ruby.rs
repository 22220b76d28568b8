//! Finds Ruby in job files: `{{ }}`, `<% %>` and lines that begin with `%`. lkp-tests evaluates it;
//! here a job file is data and Ruby is refused, with words on what to write instead.

use crate::Place;
use crate::source::Line;

/// Each piece of Ruby: its place and what it is.
pub(crate) fn find(lines: &[Line]) -> Vec<(Place, &'static str)> {
    let mut found = Vec::new();
    for line in lines {
        let mut add = |column: usize, what| {
            let column = column.saturating_sub(line.shift);
            found.push((Place { file: line.file, line: line.line, column }, what));
        };
        if line.text.starts_with('%') {
            add(0, "a line that begins with `%`");
            continue;
        }
        let content = without_comment(&line.text);
        let column = |at: usize| content.get(..at).map_or(0, |head| head.chars().count());
        if let Some(at) = content.find("<%") {
            add(column(at), "an ERB tag `<% %>`");
        }
        if let Some(at) = content.find("{{") {
            add(column(at), "an expression `{{ }}`");
        }
    }
    found
}

/// What to write instead.
pub(crate) const HELP: &str = "write the values out: a list makes a matrix, and a further \
                               document (after a `---` line) varies keys together";

fn without_comment(text: &str) -> &str {
    if text.trim_start().starts_with('#') {
        return "";
    }
    text.split(" #").next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lines_of;

    #[test]
    fn every_piece_is_found_and_comments_are_not() {
        let text = "a: {{ b }}\n% if x\n# {{ c }}\nd: 1 # <% e %>\nf: <%= g %>\nh: 100%\n";
        let places: Vec<_> =
            find(&lines_of(0, text)).into_iter().map(|(p, _)| (p.line, p.column)).collect();
        assert_eq!(places, [(0, 3), (1, 0), (4, 3)]);
    }
}
