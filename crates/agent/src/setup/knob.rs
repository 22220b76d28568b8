//! A file below /proc or /sys that takes a value and gives it back.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Applied, Refusal, Undo};

/// A value for the files that a pattern names: each part of the path may end in `*` or be it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Knob {
    /// `/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor`
    pub(crate) pattern: String,
    /// What to write.
    pub(crate) value: String,
    /// What restores it.
    pub(crate) restore: Restore,
}

/// How the old value is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Restore {
    /// It is the file's content; of a list like `always [madvise] never` the word in brackets.
    Content,
    /// It is the word of the file's list that is this one or its opposite `NO_...`.
    Feature(String),
    /// There is none: writing the file is an act, not a state.
    Nothing,
}

impl Knob {
    /// A value for a pattern, restored from the files' content.
    pub(crate) fn new(pattern: impl Into<String>, value: impl Into<String>) -> Knob {
        Knob { pattern: pattern.into(), value: value.into(), restore: Restore::Content }
    }
}

impl Applied<'_> {
    /// Writes a knob's value to its files and remembers the old ones.
    pub(super) fn turn(&mut self, program: &str, knob: &Knob) -> Result<(), Refusal> {
        let files = matches(&self.place.path("/"), &knob.pattern);
        if files.is_empty() {
            return Err(Refusal::LeftOut(format!("this machine has no {}", knob.pattern)));
        }
        for path in files {
            let content = fs::read_to_string(&path).unwrap_or_default();
            let old = old_value(&content, &knob.restore);
            if old.as_deref() == Some(knob.value.as_str()) {
                continue;
            }
            write(&path, &knob.value).map_err(|error| explain(&path, knob, &error))?;
            if let Some(value) = old {
                self.undo.push((program.to_owned(), Undo::Write { path, value }));
            }
        }
        Ok(())
    }
}

/// Writes a value as `echo` into the file does, in one write.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}

fn old_value(content: &str, restore: &Restore) -> Option<String> {
    let content = content.trim();
    match restore {
        Restore::Nothing => None,
        Restore::Feature(feature) => {
            let plain = feature.strip_prefix("NO_").unwrap_or(feature);
            let opposite = format!("NO_{plain}");
            let mut words = content.split_ascii_whitespace();
            words.find(|word| *word == plain || *word == opposite).map(str::to_owned)
        }
        Restore::Content => match (content.find('['), content.find(']')) {
            (Some(start), Some(end)) if start < end => {
                content.get(start + 1..end).map(str::to_owned)
            }
            _ => Some(content.to_owned()),
        },
    }
}

fn explain(path: &Path, knob: &Knob, error: &io::Error) -> Refusal {
    let what = format!("`{}` to {}", knob.value, path.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Refusal::LeftOut(format!("writing {what} needs root: run as root"))
        }
        io::ErrorKind::NotFound => Refusal::LeftOut(format!("{what}: the file is gone")),
        _ => Refusal::Failed(format!("the kernel refuses {what}: {error}")),
    }
}

/// The files that a pattern names, in order of their numbers.
pub(super) fn matches(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    if parts.iter().any(|part| matches!(*part, "." | "..")) {
        return Vec::new();
    }
    let mut found = vec![root.to_owned()];
    for part in parts {
        found = match part.strip_suffix('*') {
            None => found.into_iter().map(|folder| folder.join(part)).collect(),
            Some(prefix) => found.iter().flat_map(|folder| entries(folder, prefix)).collect(),
        };
    }
    found.retain(|path| path.is_file());
    found
}

/// Entries `<prefix><digits>`, or any when there is no prefix.
fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| {
                prefix.is_empty() || (!rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
            })
        })
        .collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.into_iter().map(|name| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;

    #[test]
    fn old_values_are_found_in_each_form() {
        let old = |content, restore| old_value(content, &restore);
        assert_eq!(old("60\n", Restore::Content).as_deref(), Some("60"));
        assert_eq!(old("always [madvise] never\n", Restore::Content).as_deref(), Some("madvise"));
        assert_eq!(old("1\t2\t3\n", Restore::Content).as_deref(), Some("1\t2\t3"));
        let features = "GENTLE_FAIR_SLEEPERS NO_TTWU_QUEUE\n";
        let feature = |name: &str| Restore::Feature(name.to_owned());
        assert_eq!(old(features, feature("TTWU_QUEUE")).as_deref(), Some("NO_TTWU_QUEUE"));
        assert_eq!(
            old(features, feature("NO_GENTLE_FAIR_SLEEPERS")).as_deref(),
            Some("GENTLE_FAIR_SLEEPERS")
        );
        assert_eq!(old("x", Restore::Nothing), None);
    }

    #[test]
    fn a_pattern_names_numbered_files_only() {
        let (root, _) = machine(&[
            ("sys/cpu/cpu0/f", ""),
            ("sys/cpu/cpu10/f", ""),
            ("sys/cpu/cpu2/f", ""),
            ("sys/cpu/cpufreq/f", ""),
        ]);
        let found = matches(root.path(), "/sys/cpu/cpu*/f");
        let names: Vec<_> = found.iter().map(|p| p.strip_prefix(root.path()).unwrap()).collect();
        assert_eq!(names, ["sys/cpu/cpu0/f", "sys/cpu/cpu2/f", "sys/cpu/cpu10/f"].map(Path::new));
        assert!(matches(root.path(), "/sys/../sys/cpu/cpu0/f").is_empty());
    }
}
