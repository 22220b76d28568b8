//! The matrix: every list under a dimension's key is one of its axes.

use crate::programs::Referenced;
use crate::value::{Map, Value};

/// Where a list stands: keys from the top.
type Path = Vec<String>;

/// Calls `yield_atom` for each point of the matrix. The list met first is the outermost loop.
/// `false` from `yield_atom` ends the walk.
pub(crate) fn walk(
    job: &Map,
    referenced: &Referenced,
    yield_atom: &mut dyn FnMut(&Map) -> bool,
) -> bool {
    let Some(path) = first_list(job, referenced) else { return yield_atom(job) };
    let mut point = job.clone();
    let Some(Value::List(items)) = node_at(job, &path).cloned() else { return yield_atom(job) };
    for item in items {
        if let Some(slot) = node_at_mut(&mut point, &path) {
            *slot = item.value;
        }
        if !walk(&point, referenced, yield_atom) {
            return false;
        }
    }
    true
}

/// Takes every list of the matrix out.
pub(crate) fn without_lists(job: &Map, referenced: &Referenced) -> Map {
    let mut rest = job.clone();
    drop_lists(&mut rest, referenced);
    rest
}

fn drop_lists(map: &mut Map, referenced: &Referenced) {
    map.retain(|key, node| {
        !matches!(node.value, Value::List(_))
            || !key.text().is_some_and(|key| referenced.is_dimension(key))
    });
    for (_, node) in map.iter_mut() {
        if let Value::Map(inner) = &mut node.value {
            drop_lists(inner, referenced);
        }
    }
}

fn first_list(map: &Map, referenced: &Referenced) -> Option<Path> {
    for (key, node) in map.iter() {
        let Some(key) = key.text() else { continue };
        match &node.value {
            Value::List(_) if referenced.is_dimension(key) => return Some(vec![key.to_owned()]),
            Value::Map(inner) => {
                if let Some(mut path) = first_list(inner, referenced) {
                    path.insert(0, key.to_owned());
                    return Some(path);
                }
            }
            _ => {}
        }
    }
    None
}

fn node_at<'a>(map: &'a Map, path: &[String]) -> Option<&'a Value> {
    let (head, rest) = path.split_first()?;
    let value = &map.get(head)?.value;
    match value {
        Value::Map(inner) if !rest.is_empty() => node_at(inner, rest),
        _ => Some(value),
    }
}

fn node_at_mut<'a>(map: &'a mut Map, path: &[String]) -> Option<&'a mut Value> {
    let (head, rest) = path.split_first()?;
    let value = &mut map.get_mut(head)?.value;
    if rest.is_empty() {
        return Some(value);
    }
    match value {
        Value::Map(inner) => node_at_mut(inner, rest),
        _ => None,
    }
}
