//! Comments that are kept: a `# ...` or `#! ...` line after an empty line becomes a key of its own
//! and is written back as a comment. The sections of a saved job (`#! hosts/vm`) live on that.

use crate::source::Line;

/// Turns such lines into `:# ...:` keys, each together with the empty line before it.
pub(crate) fn keep_comments(lines: Vec<Line>) -> Vec<Line> {
    let mut kept: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines {
        let follows_empty = kept.len() > 1 && kept.last().is_some_and(|l| l.text.is_empty());
        if follows_empty && is_kept(&line.text) {
            kept.pop();
            kept.push(Line { text: format!(":{}: ", line.text), shift: 1, ..line });
        } else {
            kept.push(line);
        }
    }
    kept
}

fn is_kept(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('#') else { return false };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "- !|/?@<>.,_+=%~".contains(c);
    rest.starts_with(['!', ' ']) && rest.len() > 1 && rest.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{join, lines_of};

    #[test]
    fn only_a_comment_after_an_empty_line_is_kept() {
        let text = "a: 1\n# not\n\n#! hosts/vm\nb: 2\n\n# why: no\n\n  # indented\n";
        let kept = join(&keep_comments(lines_of(0, text)));
        assert_eq!(kept, "a: 1\n# not\n:#! hosts/vm: \nb: 2\n\n# why: no\n\n  # indented\n");
    }
}
