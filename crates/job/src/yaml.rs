//! YAML documents as ordered values with places.

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::scalar;
use crate::source::{self, Line};
use crate::value::{Key, Map, Node, Place, Value};

/// The documents of a text and what is doubtful about them.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    pub(crate) roots: Vec<Node>,
    /// Keys that stand twice in one map: place of the second, and the key. A key over one that was
    /// included replaces it on purpose and is none.
    pub(crate) duplicates: Vec<(Place, String)>,
}

/// A text that is no YAML.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) message: String,
}

/// Job files are flat; what is deeper is an attack on the stack, or a mistake.
const DEEPEST: usize = 64;
/// Bound for what aliases can blow up.
const MOST_NODES: usize = 200_000;

/// Reads every document of an expanded text.
pub(crate) fn parse(lines: &[Line]) -> Result<Documents, Fault> {
    let text = source::join(lines);
    let place =
        |span: Span| source::place(lines, span.start.line().saturating_sub(1), span.start.col());
    let mut builder = Builder::default();
    for event in Parser::new_from_str(&text) {
        let (event, span) = event.map_err(|error| Fault {
            place: source::place(
                lines,
                error.marker().line().saturating_sub(1),
                error.marker().col(),
            ),
            message: error.info().to_owned(),
        })?;
        let place = place(span);
        builder
            .take(event, place)
            .map_err(|message| Fault { place, message: message.to_owned() })?;
    }
    Ok(builder.documents)
}

#[derive(Default)]
struct Builder {
    documents: Documents,
    open: Vec<Open>,
    anchors: Vec<(usize, Node)>,
    nodes: usize,
    has_root: bool,
}

struct Open {
    anchor: usize,
    place: Place,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    Map(Map, Option<PendingKey>),
}

struct PendingKey {
    key: Key,
    place: Place,
    is_merge: bool,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), &'static str> {
        match event {
            Event::DocumentStart(_) => self.has_root = false,
            Event::DocumentEnd => {
                if !self.has_root {
                    self.documents.roots.push(Node { value: Value::Null, place });
                }
            }
            Event::SequenceStart(anchor, _) => {
                self.open(Open { anchor, place, kind: OpenKind::List(Vec::new()) })?;
            }
            Event::MappingStart(anchor, _) => {
                self.open(Open { anchor, place, kind: OpenKind::Map(Map::default(), None) })?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { anchor, place, kind }) = self.open.pop() {
                    let value = match kind {
                        OpenKind::List(items) => Value::List(items),
                        OpenKind::Map(map, _) => Value::Map(map),
                    };
                    self.add(Node { value, place }, anchor, false)?;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain && !is_text_tag(tag.as_deref());
                let value =
                    if is_plain { scalar::resolve(&text) } else { Value::Text(text.into_owned()) };
                self.add(Node { value, place }, anchor, is_plain)?;
            }
            Event::Alias(anchor) => {
                let found = self.anchors.iter().rev().find(|(id, _)| *id == anchor);
                let node = found.map(|(_, node)| node.clone()).ok_or("an unknown alias")?;
                self.nodes += count(&node);
                self.add(Node { place, ..node }, 0, false)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd => {}
        }
        Ok(())
    }

    fn open(&mut self, open: Open) -> Result<(), &'static str> {
        if self.open.len() >= DEEPEST {
            return Err("nested too deep: more than 64 levels");
        }
        self.open.push(open);
        Ok(())
    }

    fn add(&mut self, node: Node, anchor: usize, is_plain: bool) -> Result<(), &'static str> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err("too many nodes: more than 200000");
        }
        if anchor != 0 {
            self.anchors.push((anchor, node.clone()));
        }
        match self.open.last_mut() {
            None => {
                self.has_root = true;
                self.documents.roots.push(node);
            }
            Some(Open { kind: OpenKind::List(items), .. }) => items.push(node),
            Some(Open { kind: OpenKind::Map(map, pending), .. }) => match pending.take() {
                None => {
                    let is_merge = is_plain && node.value == Value::Text("<<".to_owned());
                    *pending = Some(PendingKey { key: key(&node), place: node.place, is_merge });
                }
                Some(pending) => {
                    if let Some(duplicate) = insert(map, pending, node) {
                        self.documents.duplicates.push(duplicate);
                    }
                }
            },
        }
        Ok(())
    }
}

fn is_text_tag(tag: Option<&Tag>) -> bool {
    tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str" || tag.handle == "!")
}

fn count(node: &Node) -> usize {
    match &node.value {
        Value::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Map(map) => 1 + map.iter().map(|(_, node)| count(node)).sum::<usize>(),
        _ => 1,
    }
}

/// A key; `:#! text` is a comment that was kept.
fn key(node: &Node) -> Key {
    match &node.value {
        Value::Text(text) => Key::Text(text.clone()),
        Value::Symbol(text) if text.starts_with('#') => Key::Comment(text.clone()),
        Value::Symbol(text) => Key::Scalar(format!(":{text}")),
        other => Key::Scalar(other.to_text()),
    }
}

/// Puts an entry in; a plain `<<` takes over the entries of the map it is given. Yields the place
/// of a key that was there already.
fn insert(map: &mut Map, pending: PendingKey, node: Node) -> Option<(Place, String)> {
    if pending.is_merge {
        match node.value {
            Value::Map(other) => {
                take_over(map, &other);
                return None;
            }
            Value::List(ref items) if items.iter().all(|item| item.value.is_map()) => {
                for other in items.iter().rev().filter_map(Node::as_map) {
                    take_over(map, other);
                }
                return None;
            }
            _ => {}
        }
    }
    let earlier = map.find(&pending.key).map(|earlier| earlier.place.file);
    let is_repeated = earlier == Some(pending.place.file);
    let name = pending.key.text().map(str::to_owned);
    // A list item or an empty value has no place of its own worth showing: the key has.
    let place = if node.value == Value::Null { pending.place } else { node.place };
    map.insert(pending.key, Node { place, ..node });
    name.filter(|_| is_repeated).map(|name| (pending.place, name))
}

fn take_over(map: &mut Map, other: &Map) {
    for (key, node) in other.iter() {
        map.insert(key.clone(), node.clone());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::lines_of;

    fn documents(text: &str) -> Documents {
        parse(&lines_of(0, text)).unwrap()
    }

    #[test]
    fn documents_keep_order_and_places() {
        let documents = documents("b: 1\na:\n  - x\n  -\n---\nc: {d: \"60\"}\n");
        assert_eq!(documents.roots.len(), 2);
        let first = documents.roots[0].as_map().unwrap();
        let keys: Vec<_> = first.iter().filter_map(|(key, _)| key.text()).collect();
        assert_eq!(keys, ["b", "a"]);
        assert_eq!(first.get("a").unwrap().place, Place { file: 0, line: 2, column: 2 });
        let second = documents.roots[1].as_map().unwrap();
        let inner = second.get("c").unwrap().as_map().unwrap();
        assert_eq!(inner.text_of("d").as_deref(), Some("60"));
    }

    #[test]
    fn a_key_that_stands_twice_is_told_and_the_last_one_counts() {
        let documents = documents("a: 1\nb: 2\na: 3\n");
        assert_eq!(documents.duplicates, [(Place { file: 0, line: 2, column: 0 }, "a".into())]);
        let map = documents.roots[0].as_map().unwrap();
        assert_eq!(map.text_of("a").as_deref(), Some("3"));
    }

    #[test]
    fn aliases_and_merges_are_resolved() {
        let documents = documents("base: &b {x: 1, y: 2}\nmore:\n  <<: *b\n  y: 3\n");
        let more = documents.roots[0].as_map().unwrap().get("more").unwrap();
        let more = more.as_map().unwrap();
        assert_eq!(more.text_of("x").as_deref(), Some("1"));
        assert_eq!(more.text_of("y").as_deref(), Some("3"));
    }

    #[test]
    fn hostile_texts_are_bounded() {
        let deep = "[".repeat(100_000);
        assert!(parse(&lines_of(0, &deep)).is_err());
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..9 {
            let below = format!("*a{}", level - 1);
            let items = [below.as_str(); 10].join(",");
            bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
        }
        assert!(parse(&lines_of(0, &bomb)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_taken_without_panic(text in "[-a-z0-9:{}\\[\\],&*<>|'\"#%!?\n ]{0,120}") {
            let _ = parse(&lines_of(0, &text));
        }
    }
}
