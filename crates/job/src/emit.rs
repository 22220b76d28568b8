//! Writes jobs as YAML in the form lkp-tests saves them, which is that of Psych and libyaml: two
//! blanks of indent, lists at the depth of their key, the least quoting, folding at 80 columns.

use std::sync::LazyLock;

use regex::Regex;

use crate::scalar;
use crate::value::{Key, Map, Value};

/// Lines are folded at a blank behind this column.
const WIDTH: usize = 80;
/// A key longer than this is written with `? `.
const LONGEST_SIMPLE_KEY: usize = 128;

/// A whole document, `---` first.
pub(crate) fn document(map: &Map) -> String {
    let mut writer = Writer { out: String::from("---"), column: 3 };
    if map.is_empty() {
        writer.put(" {}\n");
    } else {
        writer.map(map, 0, Lead::NewLine);
        writer.put("\n");
    }
    writer.out
}

/// A value as it stands behind `key: ` in a text.
pub(crate) fn inline(value: &Value) -> String {
    let mut writer = Writer { out: String::new(), column: 0 };
    match value {
        Value::Map(map) if !map.is_empty() => writer.map(map, 0, Lead::Compact),
        Value::List(items) if !items.is_empty() => writer.list(items, 0, Lead::Compact),
        scalar => writer.value(scalar, 0),
    }
    writer.out.trim_start().to_owned()
}

/// How the first line of a block begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    NewLine,
    /// Right behind a `- `.
    Compact,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

struct Writer {
    out: String,
    column: usize,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column = match text.rfind('\n') {
            Some(at) => text[at + 1..].chars().count(),
            None => self.column + text.chars().count(),
        };
    }

    fn new_line(&mut self, indent: usize) {
        self.put("\n");
        self.put(&" ".repeat(indent));
    }

    fn map(&mut self, map: &Map, indent: usize, lead: Lead) {
        for (at, (key, node)) in map.iter().enumerate() {
            if at > 0 || lead == Lead::NewLine {
                self.new_line(indent);
            }
            match key {
                // An empty line, then the comment as it was.
                Key::Comment(text) if indent == 0 => {
                    self.put("\n");
                    self.put(text);
                    continue;
                }
                Key::Comment(text) => self.put(&format!(":{text}:")),
                Key::Scalar(text) => self.put(&format!("{text}:")),
                Key::Text(text) => self.key(text),
            }
            match &node.value {
                Value::Map(inner) if !inner.is_empty() => {
                    self.map(inner, indent + 2, Lead::NewLine);
                }
                Value::List(items) if !items.is_empty() => {
                    self.list(items, indent, Lead::NewLine);
                }
                scalar => self.value(scalar, indent + 2),
            }
        }
    }

    fn list(&mut self, items: &[crate::Node], indent: usize, lead: Lead) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 || lead == Lead::NewLine {
                self.new_line(indent);
            }
            self.put("-");
            match &item.value {
                Value::Map(inner) if !inner.is_empty() => {
                    self.put(" ");
                    self.map(inner, indent + 2, Lead::Compact);
                }
                Value::List(inner) if !inner.is_empty() => {
                    self.put(" ");
                    self.list(inner, indent + 2, Lead::Compact);
                }
                scalar => self.value(scalar, indent + 2),
            }
        }
    }

    fn key(&mut self, text: &str) {
        let is_simple = text.chars().count() <= LONGEST_SIMPLE_KEY && !text.contains('\n');
        let style = style(text);
        if is_simple && style != Style::Literal {
            // Keys are never folded.
            let style = if text.is_empty() { Style::Single } else { style };
            self.quoted(text, style, None);
            self.put(":");
        } else {
            self.put("? ");
            self.quoted(text, Style::Double, Some(2));
            self.new_line(0);
            self.put(":");
        }
    }

    /// A scalar (or an empty collection) behind a key or a dash.
    fn value(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => {}
            Value::Text(text) => {
                self.put(" ");
                self.quoted(text, style(text), Some(indent));
            }
            Value::Symbol(text) => self.put(&format!(" :{text}")),
            Value::List(_) => self.put(" []"),
            Value::Map(_) => self.put(" {}"),
            other => self.put(&format!(" {}", other.to_text())),
        }
    }

    /// Text in a style; folded with this indent, where one is given.
    fn quoted(&mut self, text: &str, style: Style, fold: Option<usize>) {
        match style {
            Style::Plain => self.folded(text, fold, 0, |c| c.to_string()),
            Style::Single => {
                self.put("'");
                let escape = |c: char| if c == '\'' { "''".to_owned() } else { c.to_string() };
                self.folded(text, fold, 1, escape);
                self.put("'");
            }
            Style::Double => {
                self.put("\"");
                self.folded_double(text, fold);
                self.put("\"");
            }
            Style::Literal => self.literal(text, fold.unwrap_or(2)),
        }
    }

    fn folded(
        &mut self,
        text: &str,
        fold: Option<usize>,
        margin: usize,
        escape: impl Fn(char) -> String,
    ) {
        let chars: Vec<char> = text.chars().collect();
        let mut after_blank = false;
        for (at, c) in chars.iter().enumerate() {
            let next_is_blank = chars.get(at + 1) == Some(&' ');
            let is_inside = at >= margin && at + margin < chars.len();
            match fold {
                Some(indent)
                    if *c == ' '
                        && !after_blank
                        && self.column > WIDTH
                        && is_inside
                        && !next_is_blank =>
                {
                    self.new_line(indent);
                }
                _ => self.put(&escape(*c)),
            }
            after_blank = *c == ' ';
        }
    }

    fn folded_double(&mut self, text: &str, fold: Option<usize>) {
        let chars: Vec<char> = text.chars().collect();
        let mut after_blank = false;
        for (at, c) in chars.iter().enumerate() {
            let is_inside = at > 0 && at + 1 < chars.len();
            match fold {
                Some(indent) if *c == ' ' && !after_blank && self.column > WIDTH && is_inside => {
                    self.new_line(indent);
                    if chars.get(at + 1) == Some(&' ') {
                        self.put("\\");
                    }
                }
                _ => self.put(&escaped(*c)),
            }
            after_blank = *c == ' ';
        }
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with([' ', '\n']) {
            self.put("2");
        }
        let chomping = match text.strip_suffix('\n') {
            None => "-",
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => "+",
            Some(_) => "",
        };
        self.put(chomping);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            if line.is_empty() {
                self.put("\n");
            } else {
                self.new_line(indent);
                self.put(line);
            }
        }
    }
}

fn escaped(c: char) -> String {
    match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        '\0' => "\\0".to_owned(),
        '\u{7}' => "\\a".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\u{1b}' => "\\e".to_owned(),
        c if is_printable(c) => c.to_string(),
        c if u32::from(c) <= 0xff => format!("\\x{:02X}", u32::from(c)),
        c if u32::from(c) <= 0xffff => format!("\\u{:04X}", u32::from(c)),
        c => format!("\\U{:08X}", u32::from(c)),
    }
}

fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// The style that Psych asks for, corrected by what libyaml finds possible.
fn style(text: &str) -> Style {
    static NEEDS_DOUBLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?m)^[^\w][^"]*$"#).ok());
    static LOOKS_OCTAL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\A0[0-7]*[89]").ok());
    let fits = |pattern: &LazyLock<Option<Regex>>| {
        pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    };
    let inner_break = text.match_indices('\n').any(|(at, _)| !matches!(&text[at + 1..], "" | "\n"));
    let analysis = Analysis::of(text);
    let wanted = if inner_break {
        Style::Literal
    } else if text == "<<" {
        Style::Single
    } else if text == "y" || text == "n" || fits(&NEEDS_DOUBLE) {
        Style::Double
    } else if !matches!(scalar::resolve(text), Value::Text(_)) || fits(&LOOKS_OCTAL) {
        Style::Single
    } else {
        Style::Plain
    };
    match wanted {
        Style::Literal if !analysis.block_allowed => Style::Double,
        Style::Plain if analysis.plain_allowed => Style::Plain,
        Style::Plain | Style::Single if analysis.single_allowed => Style::Single,
        Style::Plain | Style::Single => Style::Double,
        other => other,
    }
}

/// What libyaml's emitter allows for a scalar in block context.
struct Analysis {
    plain_allowed: bool,
    single_allowed: bool,
    block_allowed: bool,
}

impl Analysis {
    fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let (first, last) = (chars.first().copied(), chars.last().copied());
        let is_space = |c: Option<char>| c == Some(' ');
        let is_break =
            |c: Option<char>| matches!(c, Some('\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}'));
        let pairs = |a: &dyn Fn(Option<char>) -> bool, b: &dyn Fn(Option<char>) -> bool| {
            chars.windows(2).any(|w| a(w.first().copied()) && b(w.get(1).copied()))
        };
        let space_break = pairs(&is_space, &is_break);
        let special = chars.iter().any(|c| !is_printable(*c) && *c != '\n');
        let has_break = chars.iter().any(|c| is_break(Some(*c)));
        let edges = [first, last];
        let edge_blank = edges.iter().any(|c| is_space(*c) || is_break(*c));
        let unsafe_text = space_break || special;
        Analysis {
            plain_allowed: !edge_blank && !unsafe_text && !has_break && !block_indicators(&chars),
            // libyaml would fold a final break in; double quotes say the same on one line.
            single_allowed: !has_break && !unsafe_text,
            block_allowed: !is_space(last) && !unsafe_text,
        }
    }
}

/// Whether a plain scalar would be read as something else in block context.
fn block_indicators(chars: &[char]) -> bool {
    let starts = |word: &str| chars.iter().copied().take(3).eq(word.chars());
    if starts("---") || starts("...") {
        return true;
    }
    let is_blank = |c: Option<&char>| c.is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    chars.iter().enumerate().any(|(at, c)| {
        let followed_by_blank = is_blank(chars.get(at + 1));
        if at == 0 {
            "#,[]{}&*!|>'\"%@`".contains(*c) || ("?:-".contains(*c) && followed_by_blank)
        } else {
            (*c == ':' && followed_by_blank) || (*c == '#' && is_blank(chars.get(at - 1)))
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::lines_of;
    use crate::value::Node;
    use crate::yaml;

    fn value_line(text: &str) -> String {
        let mut map = Map::default();
        map.set("k", Node::text(text));
        document(&map)["---\nk:".len()..].trim_end_matches('\n').to_owned()
    }

    #[test]
    fn quoting_is_the_least_that_is_safe() {
        for (text, line) in [
            ("plain words", " plain words"),
            ("100%", " 100%"),
            ("/dev/sda", " \"/dev/sda\""),
            ("$((nr_cpu/2))", " \"$((nr_cpu/2))\""),
            ("16", " '16'"),
            ("yes", " 'yes'"),
            ("n", " \"n\""),
            ("", " ''"),
            ("a: b", " 'a: b'"),
            ("a #b", " 'a #b'"),
            ("it's", " it's"),
            ("tab\there", " \"tab\\there\""),
            ("two\nlines", " |-\n  two\n  lines"),
            ("x ", " 'x '"),
            ("-x", " \"-x\""),
            ("0x8", " '0x8'"),
        ] {
            assert_eq!(value_line(text), line, "{text:?}");
        }
    }

    #[test]
    fn long_plain_text_is_folded_behind_column_80() {
        let text = "vmalloc=256M initramfs_async=0 page_owner=on carrier_timeout=60 \
                    rcupdate.rcu_self_test=0 more=1";
        assert_eq!(
            value_line(text),
            " vmalloc=256M initramfs_async=0 page_owner=on carrier_timeout=60 \
             rcupdate.rcu_self_test=0\n  more=1"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(text in "[a-zA-Z0-9 :#'\"%./,_\\[\\]{}&*!|>?@`~\\-\n\t]{0,100}") {
            let mut map = Map::default();
            map.set("k", Node::text(text.as_str()));
            let written = document(&map);
            let root = yaml::parse(&lines_of(0, &written)).map_err(|f| {
                TestCaseError::fail(format!("{}: {written:?}", f.message))
            })?.roots.remove(0);
            let read = root.as_map().unwrap().get("k").unwrap().value.clone();
            prop_assert_eq!(read, Value::Text(text), "{}", written);
        }
    }
}
