//! Job values: YAML nodes in the order of the file, each with its place.

use std::fmt::Write as _;

/// Where a node stands: file number of its load, line and column from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the file among those of the load; 0 is the job file itself.
    pub file: usize,
    /// Line, from 0.
    pub line: usize,
    /// Column in characters, from 0.
    pub column: usize,
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Text.
    Text(String),
    /// A comment that is kept: `#! hosts/vm`, without the line break before it.
    Comment(String),
    /// A scalar that is no text (`8`, `true`), as it is written out.
    Scalar(String),
}

impl Key {
    /// The key as text, when it is text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Key::Text(text) => Some(text),
            Key::Comment(_) | Key::Scalar(_) => None,
        }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing: `vmstat:`.
    Null,
    /// `true`, `yes`, `on`, and their opposites.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a point.
    Float(f64),
    /// Text.
    Text(String),
    /// A symbol (`:name`), without its colon.
    Symbol(String),
    /// A date or time, as written.
    Date(String),
    /// A list.
    List(Vec<Node>),
    /// A map.
    Map(Map),
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub place: Place,
}

impl PartialEq for Node {
    /// Equal values are equal wherever they stand.
    fn eq(&self, other: &Node) -> bool {
        self.value == other.value
    }
}

impl Node {
    /// A node without a place of its own.
    pub fn new(value: Value) -> Self {
        Node { value, place: Place::default() }
    }

    /// A node of text.
    pub fn text(text: impl Into<String>) -> Self {
        Node::new(Value::Text(text.into()))
    }

    /// Nothing.
    pub fn null() -> Self {
        Node::new(Value::Null)
    }

    /// The map, when it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }
}

impl Value {
    /// Whether it is a map.
    pub fn is_map(&self) -> bool {
        matches!(self, Value::Map(_))
    }

    /// The text of a scalar as it stands in names and on command lines; `None` for nothing, lists
    /// and maps.
    pub fn scalar_text(&self) -> Option<String> {
        match self {
            Value::Null | Value::List(_) | Value::Map(_) => None,
            other => Some(other.to_text()),
        }
    }

    /// The value as one word; a list or a map as it would be inspected.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Bool(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => float_text(*value),
            Value::Text(text) | Value::Symbol(text) | Value::Date(text) => text.clone(),
            Value::List(_) | Value::Map(_) => self.inspect(),
        }
    }

    fn inspect(&self) -> String {
        match self {
            Value::Null => "nil".to_owned(),
            Value::Text(text) => format!("{text:?}"),
            Value::Symbol(text) => format!(":{text}"),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.value.inspect()).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Map(map) => {
                let mut text = String::from("{");
                for (at, (key, node)) in map.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    let key = match key {
                        Key::Text(text) => format!("{text:?}"),
                        Key::Comment(text) => format!(":{text:?}"),
                        Key::Scalar(text) => text.clone(),
                    };
                    let _ = write!(text, "{comma}{key}=>{}", node.value.inspect());
                }
                text.push('}');
                text
            }
            other => other.to_text(),
        }
    }
}

/// A float as Ruby writes it: `1.0`, `1.0e+20`, `1.0e-05`.
pub(crate) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let point = if digits.contains('.') { "" } else { ".0" };
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(rest) => ('-', rest),
            None => ('+', exponent),
        };
        return format!("{digits}{point}e{sign}{exponent:0>2}");
    }
    let text = format!("{value}");
    if text.contains('.') { text } else { format!("{text}.0") }
}

/// A map that keeps its order. A value set again keeps its place in the order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    entries: Vec<(Key, Node)>,
}

impl Map {
    /// Entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Key, &Node)> {
        self.entries.iter().map(|(key, node)| (key, node))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&Key, &mut Node)> {
        self.entries.iter_mut().map(|(key, node)| (&*key, node))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The node of a text key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|(k, _)| k.text() == Some(key)).map(|(_, node)| node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|(k, _)| k.text() == Some(key)).map(|(_, node)| node)
    }

    /// Whether a text key exists, be its value nothing.
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn find(&self, key: &Key) -> Option<&Node> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, node)| node)
    }

    pub(crate) fn find_mut(&mut self, key: &Key) -> Option<&mut Node> {
        self.entries.iter_mut().find(|(k, _)| k == key).map(|(_, node)| node)
    }

    /// Sets a key: in place when it exists, else at the end.
    pub fn insert(&mut self, key: Key, node: Node) {
        match self.find_mut(&key) {
            Some(old) => *old = node,
            None => self.entries.push((key, node)),
        }
    }

    /// Sets a text key.
    pub fn set(&mut self, key: &str, node: Node) {
        self.insert(Key::Text(key.to_owned()), node);
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &Key) -> Option<Node> {
        let at = self.entries.iter().position(|(k, _)| k == key)?;
        Some(self.entries.remove(at).1)
    }

    pub(crate) fn remove_text(&mut self, key: &str) -> Option<Node> {
        self.remove(&Key::Text(key.to_owned()))
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Key, &Node) -> bool) {
        self.entries.retain(|(key, node)| keep(key, node));
    }

    /// The text of a scalar under a key; `None` when it is absent, nothing, a list or a map.
    pub fn text_of(&self, key: &str) -> Option<String> {
        self.get(key).and_then(|node| node.value.scalar_text())
    }

    /// Calls `visit` for each entry whose key is text, here and in maps below, with the key of
    /// the map it stands in (`None` at the top).
    pub(crate) fn for_each<'a>(
        &'a self,
        visit: &mut impl FnMut(Option<&'a str>, &'a str, &'a Node),
    ) {
        self.visit_below(None, visit);
    }

    fn visit_below<'a>(
        &'a self,
        parent: Option<&'a str>,
        visit: &mut impl FnMut(Option<&'a str>, &'a str, &'a Node),
    ) {
        for (key, node) in self.iter() {
            if let Some(text) = key.text() {
                visit(parent, text, node);
            }
            if let Value::Map(inner) = &node.value {
                inner.visit_below(key.text(), visit);
            }
        }
    }
}

impl FromIterator<(Key, Node)> for Map {
    fn from_iter<T: IntoIterator<Item = (Key, Node)>>(entries: T) -> Self {
        let mut map = Map::default();
        for (key, node) in entries {
            map.insert(key, node);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_in_ruby() {
        for (value, text) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e20, "1.0e+20"),
            (1.5e-5, "1.5e-05"),
            (0.0, "0.0"),
            (123456.75, "123456.75"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }

    #[test]
    fn a_value_set_again_keeps_its_place() {
        let mut map = Map::default();
        for (key, value) in [("a", "1"), ("b", "2"), ("a", "3")] {
            map.set(key, Node::text(value));
        }
        let order: Vec<_> = map.iter().filter_map(|(key, _)| key.text()).collect();
        assert_eq!(order, ["a", "b"]);
        assert_eq!(map.text_of("a").as_deref(), Some("3"));
    }
}
