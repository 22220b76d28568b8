//! Settings from outside the job file: `--set key=value`.

use crate::source::lines_of;
use crate::value::{Map, Value};
use crate::{JobError, yaml};

/// Keys and values that are laid over a job last. `key+`, `key-` and `a.b.c` work as in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    map: Map,
}

impl Overrides {
    /// Settings from `key=value` or `key: value` texts; the values are YAML.
    pub fn parse<T: AsRef<str>>(settings: impl IntoIterator<Item = T>) -> Result<Self, JobError> {
        let mut overrides = Overrides::default();
        for setting in settings {
            overrides.add(setting.as_ref())?;
        }
        Ok(overrides)
    }

    /// Adds one setting.
    pub fn add(&mut self, given: &str) -> Result<(), JobError> {
        let fault = |why: &str| JobError::Setting { given: given.to_owned(), why: why.to_owned() };
        let text = match (given.find('='), given.find(": ")) {
            (Some(sign), colon) if colon.is_none_or(|colon| sign < colon) => {
                format!("{}: {}", &given[..sign], &given[sign + 1..])
            }
            _ => given.to_owned(),
        };
        let documents = yaml::parse(&lines_of(0, &text)).map_err(|error| fault(&error.message))?;
        let mut roots = documents.roots.into_iter();
        match (roots.next().map(|root| root.value), roots.next()) {
            (Some(Value::Map(map)), None) => {
                for (key, node) in map.iter() {
                    self.map.insert(key.clone(), node.clone());
                }
                Ok(())
            }
            _ => Err(fault("it has no key")),
        }
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The settings as a map.
    pub fn map(&self) -> &Map {
        &self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let set = Overrides::parse(["nr_threads=50%", "stress-ng: {test: [a, b]}", "x.y=1"]);
        let map = set.unwrap().map().clone();
        assert_eq!(map.text_of("nr_threads").as_deref(), Some("50%"));
        assert!(map.get("stress-ng").unwrap().as_map().is_some());
        assert_eq!(map.text_of("x.y").as_deref(), Some("1"));
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        assert!(Overrides::parse(["nr_threads"]).is_err());
        let error = Overrides::parse(["a: [b"]).unwrap_err().to_string();
        assert!(error.contains("write `key=value`"), "{error}");
    }
}
