//! Text from outside, made harmless; lines of a given width.

use std::fmt::Write;

/// Text that came from a kernel, a guest or a file, with whatever could move the cursor,
/// colour the terminal, break the line or turn the direction of writing shown as an escape.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push(' '),
            c if c.is_control() || is_invisible(c) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "{}", c.escape_default());
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Characters that show nothing but change how others are shown: zero-width ones, marks of
/// direction, line and paragraph separators, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Words laid out in lines of at most `width` characters: the first begins with `head`, the
/// others with as many blanks. A word longer than a line stays whole.
pub(crate) fn wrapped(head: &str, text: &str, width: usize) -> String {
    let indent = head.chars().count();
    let mut lines = String::from(head);
    let mut column = indent;
    let mut is_first = true;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if is_first {
            is_first = false;
        } else if column + 1 + length > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(plain("a\x1b[2Jb\nc\td"), "a\\u{1b}[2Jb\\nc d");
        assert_eq!(plain("x\u{202e}y\u{200b}"), "x\\u{202e}y\\u{200b}");
        assert_eq!(plain("10 \u{b5}s \u{b1}"), "10 \u{b5}s \u{b1}");
        assert_eq!(plain("\u{9b}31m"), "\\u{9b}31m");
    }

    #[test]
    fn words_are_laid_out() {
        assert_eq!(wrapped("Clock  ", "one two three", 14), "Clock  one two\n       three\n");
        assert_eq!(wrapped("", "", 10), "\n");
    }
}
