//! How one map changes another: a further document the first one, defaults a job, settings both.
//!
//! Beside plain keys, which replace whole values, there are `key+` (append), `key-` (take out) and
//! `a.b.c` (set in depth); `need_*` and a few more keys accumulate instead of being replaced.

use crate::value::{Key, Map, Node, Value};

/// Who wins when both maps have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precedence {
    /// The revision.
    Revision,
    /// The map that is revised.
    Original,
}

/// Applies a revision.
pub(crate) fn revise(original: &mut Map, revision: &Map, precedence: Precedence) {
    for (key, new) in revision.iter() {
        match original.find_mut(key) {
            None => original.insert(key.clone(), new.clone()),
            Some(old) if key.text().is_some_and(accumulates) => accumulate(old, new),
            Some(old) if precedence == Precedence::Revision => *old = new.clone(),
            Some(_) => {}
        }
    }
    let keys: Vec<String> =
        original.iter().filter_map(|(key, _)| key.text().map(str::to_owned)).collect();
    let mut done = Vec::new();
    for key in keys {
        if apply_key_form(original, &key, precedence) {
            done.push(key);
        }
    }
    for key in done {
        original.remove(&Key::Text(key));
    }
}

/// Keys that two maps share in their values.
fn accumulates(key: &str) -> bool {
    if key.ends_with(['+', '-']) || matches!(key, "mail_to" | "mail_cc" | "constraints") {
        return true;
    }
    key.starts_with("need_") && !matches!(key, "need_memory" | "need_cpu" | "need_modules")
}

/// Puts `new` to `old`.
fn accumulate(old: &mut Node, new: &Node) {
    if new.value == Value::Null {
        return;
    }
    let as_key = |node: &Node| match &node.value {
        Value::Text(text) => Key::Text(text.clone()),
        other => Key::Scalar(other.to_text()),
    };
    let value = std::mem::replace(&mut old.value, Value::Null);
    old.value = match (value, &new.value) {
        (Value::Null, value) => value.clone(),
        (Value::List(mut items), Value::List(more)) => {
            items.extend(more.iter().cloned());
            Value::List(items)
        }
        (Value::List(mut items), _) => {
            items.push(new.clone());
            Value::List(items)
        }
        (Value::Map(mut map), Value::Map(more)) => {
            for (key, node) in more.iter() {
                map.insert(key.clone(), node.clone());
            }
            Value::Map(map)
        }
        (Value::Map(mut map), _) => {
            map.insert(as_key(new), Node::null());
            Value::Map(map)
        }
        (scalar, Value::List(more)) => {
            let first = Node { value: scalar, place: old.place };
            Value::List(std::iter::once(first).chain(more.iter().cloned()).collect())
        }
        (scalar, Value::Map(more)) => {
            let key = as_key(&Node { value: scalar, place: old.place });
            let mut map = more.clone();
            if map.find(&key).is_none() {
                map.insert(key, Node::null());
            }
            Value::Map(map)
        }
        (scalar, _) => Value::List(vec![Node { value: scalar, place: old.place }, new.clone()]),
    };
}

/// Carries a `key+`, `key-` or `a.b` out; whether the key itself is to go.
fn apply_key_form(original: &mut Map, key: &str, precedence: Precedence) -> bool {
    if let Some(name) = key.strip_suffix('-') {
        let value = original.get(key).map(|node| node.value.clone()).unwrap_or(Value::Null);
        take_out(original, &path(name), &value);
        return true;
    }
    if let Some(name) = key.strip_suffix('+') {
        let Some(added) = original.get(key).cloned() else { return true };
        if let Some(target) = lookup(original, &path(name)) {
            accumulate(target, &added);
            if let Value::List(items) = &mut target.value {
                drop_repeated(items);
            }
        }
        return true;
    }
    if !key.contains('.') {
        return false;
    }
    let Some(value) = original.get(key).cloned() else { return false };
    let path = path(key);
    // A path whose head is no map ends there: the head itself gets the value and the key stays.
    let stays_at_top = path.len() < 2
        || original.get(path[0]).is_some_and(|n| !n.value.is_map() && n.value != Value::Null);
    if let Some(target) = lookup(original, &path) {
        let may_set = precedence == Precedence::Revision || !stays_at_top;
        if may_set || target.value == Value::Null {
            *target = value;
        }
    }
    !stays_at_top
}

fn path(key: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = key.split('.').collect();
    while parts.len() > 1 && parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    parts
}

/// The node at a path; what is missing is made. A scalar on the way ends the path.
fn lookup<'a>(map: &'a mut Map, path: &[&str]) -> Option<&'a mut Node> {
    let (head, rest) = path.split_first()?;
    if map.get(head).is_none_or(|node| node.value == Value::Null) {
        let value = if rest.is_empty() { Value::Null } else { Value::Map(Map::default()) };
        map.set(head, Node::new(value));
    }
    let node = map.get_mut(head)?;
    if rest.is_empty() || !node.value.is_map() {
        return Some(node);
    }
    match &mut node.value {
        Value::Map(inner) => lookup(inner, rest),
        _ => None,
    }
}

/// Takes sub-keys or items out of what stands at a path, or the path itself when `what` is null.
/// A map that is emptied by it becomes null.
fn take_out(map: &mut Map, path: &[&str], what: &Value) {
    let Some((head, rest)) = path.split_first() else { return };
    if !rest.is_empty() && map.get(head).is_some_and(|node| node.value.is_map()) {
        let Some(node) = map.get_mut(head) else { return };
        let Value::Map(inner) = &mut node.value else { return };
        take_out(inner, rest, what);
        if inner.is_empty() && *what == Value::Null {
            node.value = Value::Null;
        }
        return;
    }
    let Some(node) = map.get_mut(head) else { return };
    let names: Vec<Value> = match what {
        Value::Null => {
            map.remove_text(head);
            return;
        }
        Value::List(items) => items.iter().map(|item| item.value.clone()).collect(),
        Value::Map(keys) => keys
            .iter()
            .filter_map(|(key, _)| key.text().map(|text| Value::Text(text.to_owned())))
            .collect(),
        scalar => vec![scalar.clone()],
    };
    let is_empty = match &mut node.value {
        Value::List(items) => {
            items.retain(|item| !names.contains(&item.value));
            items.is_empty()
        }
        Value::Map(inner) => {
            let texts: Vec<String> = names.iter().map(Value::to_text).collect();
            inner.retain(|key, _| key.text().is_none_or(|text| !texts.iter().any(|t| t == text)));
            inner.is_empty()
        }
        _ => false,
    };
    if is_empty {
        node.value = Value::Null;
    }
}

fn drop_repeated(items: &mut Vec<Node>) {
    let mut kept: Vec<Node> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    *items = kept;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lines_of;
    use crate::{emit, yaml};

    fn map(text: &str) -> Map {
        let root = yaml::parse(&lines_of(0, text)).unwrap().roots.remove(0);
        root.as_map().unwrap().clone()
    }

    fn revised(original: &str, revision: &str, precedence: Precedence) -> String {
        let mut original = map(original);
        revise(&mut original, &map(revision), precedence);
        emit::document(&original).strip_prefix("---\n").unwrap().to_owned()
    }

    #[test]
    fn whole_values_are_replaced_and_new_keys_come_last() {
        let got = revised("e: {a: 1, b: 2}\nx: 1", "x: 2\nz: 3\ne: {a: 5}", Precedence::Revision);
        assert_eq!(got, "e:\n  a: 5\nx: 2\nz: 3\n");
        let got = revised("x: 1", "x: 2\nz: 3", Precedence::Original);
        assert_eq!(got, "x: 1\nz: 3\n");
    }

    #[test]
    fn needs_accumulate() {
        let got = revised("need_kconfig: A", "need_kconfig: [B, C: y]", Precedence::Original);
        assert_eq!(got, "need_kconfig:\n- A\n- B\n- C: \"y\"\n");
        let got = revised("need_memory: 1G", "need_memory: 2G", Precedence::Revision);
        assert_eq!(got, "need_memory: 2G\n");
    }

    #[test]
    fn plus_appends_and_minus_takes_out() {
        assert_eq!(revised("a: [x]", "a+: [x, z]", Precedence::Revision), "a:\n- x\n- z\n");
        assert_eq!(revised("a: 1", "b+: z", Precedence::Revision), "a: 1\nb: z\n");
        assert_eq!(revised("a: {x: 1, z: 2}", "a-: x", Precedence::Revision), "a:\n  z: 2\n");
        assert_eq!(revised("a: {x: 1}\nb: 1", "b-:", Precedence::Revision), "a:\n  x: 1\n");
        assert_eq!(revised("a: {x: 1}", "a.x-:", Precedence::Revision), "a:\n");
    }

    #[test]
    fn a_dotted_key_sets_in_depth() {
        let got = revised("f:\n  t: 1\n  u: 2", "f.t: 9", Precedence::Revision);
        assert_eq!(got, "f:\n  t: 9\n  u: 2\n");
        assert_eq!(revised("f:", "f.t: 9", Precedence::Revision), "f:\n  t: 9\n");
    }
}
