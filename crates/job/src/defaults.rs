//! What an lkp-tests folder adds to a job: the include files of its keys and values.
//!
//! For a key that has include files, the file of a referenced program or of one of its options is
//! taken, and for a text value `a-b` the files `a` and `a-b` (else `OTHERS`) and `ALL`. A file whose
//! template needs a value that the job does not have yet is tried again for each atom job.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::programs::Referenced;
use crate::revise::{Precedence, revise};
use crate::source::{Sources, lines_of};
use crate::template::{self, TemplateError};
use crate::value::{Key, Map, Node, Value};
use crate::{Diagnostic, ExpandOptions, Files, LkpSource, Severity, matrix, yaml};

type Loaded = BTreeSet<(String, String)>;

/// Include files and which of them a document has already.
pub(crate) struct Defaults<'a> {
    lkp: Option<(&'a LkpSource, &'a dyn Files)>,
    overrides: Map,
    loaded: Loaded,
    /// File -> why it was left out.
    left_out: BTreeMap<String, String>,
}

impl<'a> Defaults<'a> {
    pub(crate) fn new(options: &ExpandOptions<'a>, overrides: &Map) -> Self {
        Defaults {
            lkp: options.lkp.filter(|_| !options.no_defaults),
            overrides: overrides.clone(),
            loaded: Loaded::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// A further document loads anew.
    pub(crate) fn begin_document(&mut self) {
        self.loaded.clear();
    }

    /// What the include files add to a job that may hold lists still.
    pub(crate) fn collect(&mut self, job: &Map, document: &Map, referenced: &Referenced) -> Map {
        let mut loaded = std::mem::take(&mut self.loaded);
        let added = self.collect_into(&mut loaded, job, document, referenced);
        self.loaded = loaded;
        added
    }

    /// What the files add that could not be read before; the next atom job tries them again.
    pub(crate) fn collect_for_atom(
        &mut self,
        job: &Map,
        document: &Map,
        referenced: &Referenced,
    ) -> Map {
        let mut loaded = self.loaded.clone();
        // The document is laid over once more. Its maps have the values of this point of the
        // matrix by now; its lists at the top are lists still.
        let mut document = document.clone();
        for (key, node) in document.iter_mut() {
            let fixed = job.find(key).filter(|fixed| fixed.value.is_map());
            if let Some(fixed) = fixed.filter(|_| node.value.is_map()) {
                *node = fixed.clone();
            }
        }
        self.collect_into(&mut loaded, job, &document, referenced)
    }

    /// Warnings for files that were left out.
    pub(crate) fn warnings(&self, sources: &Sources) -> Vec<Diagnostic> {
        let warning = |(file, why): (&String, &String)| {
            let message = format!("include file {file} was left out: {why}");
            Diagnostic::new(Severity::Warning, sources, Default::default(), message, None)
        };
        self.left_out.iter().map(warning).collect()
    }

    fn collect_into(
        &mut self,
        loaded: &mut Loaded,
        job: &Map,
        document: &Map,
        referenced: &Referenced,
    ) -> Map {
        let mut added = Map::default();
        let Some((lkp, files)) = self.lkp else { return added };
        let mut context = job.clone();
        revise(&mut context, document, Precedence::Revision);
        revise(&mut context, &self.overrides, Precedence::Revision);
        context.set(template::THIS, Node::null());
        let mut context = matrix::without_lists(&context, referenced);
        map_parameters(&mut context);

        let mut visits = Vec::new();
        context.for_each(&mut |_, key, node| {
            if lkp.includes.contains_key(key) {
                visits.push((key.to_owned(), node.clone()));
            }
        });
        let mut loader = Loader { defaults: self, lkp, files, loaded, added: &mut added, context };
        for (key, node) in visits {
            loader.visit(&key, &node, referenced);
        }
        added
    }
}

struct Loader<'l, 'a> {
    defaults: &'l mut Defaults<'a>,
    lkp: &'a LkpSource,
    files: &'a dyn Files,
    loaded: &'l mut Loaded,
    added: &'l mut Map,
    context: Map,
}

impl Loader<'_, '_> {
    fn visit(&mut self, key: &str, node: &Node, referenced: &Referenced) {
        self.context.set(template::THIS, node.clone());
        if referenced.has_program(key) {
            if self.load(key, key) {
                return;
            }
            if let Value::Map(options) = &node.value {
                for (option, value) in options.iter() {
                    let Some(option) = option.text() else { continue };
                    if referenced.has_parameter(key, option) {
                        self.context.set(template::THIS, value.clone());
                        self.load(key, option);
                    }
                }
            }
        }
        let Value::Text(text) = &node.value else { return };
        let mut last_hit = false;
        for end in prefix_ends(text) {
            last_hit = text.get(..end).is_some_and(|prefix| self.load(key, prefix));
        }
        if !last_hit {
            self.load(key, "OTHERS");
        }
        self.load(key, "ALL");
    }

    /// Loads an include file once; whether it was loaded now.
    fn load(&mut self, key: &str, name: &str) -> bool {
        let Some(path) = self.lkp.includes.get(key).and_then(|files| files.get(name)) else {
            return false;
        };
        let id = (key.to_owned(), name.to_owned());
        if self.loaded.contains(&id) || !self.load_file(path) {
            return false;
        }
        self.loaded.insert(id);
        true
    }

    fn load_file(&mut self, path: &Path) -> bool {
        let shown = self.lkp.relative(&path.display().to_string()).to_owned();
        let outcome = self.files.read(path).map_err(|error| Some(error.to_string()));
        match outcome.and_then(|text| self.evaluate(&text)) {
            Ok(map) => {
                if !map.is_empty() {
                    self.added.insert(Key::Comment(format!("#! {shown}")), Node::null());
                    revise(self.added, &map, Precedence::Revision);
                }
                true
            }
            // A value is missing: perhaps the atom job has it.
            Err(None) => false,
            Err(Some(why)) => {
                self.defaults.left_out.insert(shown, why);
                false
            }
        }
    }

    fn evaluate(&self, text: &str) -> Result<Map, Option<String>> {
        let mut context = self.added.clone();
        revise(&mut context, &self.context, Precedence::Revision);
        revise(&mut context, &self.defaults.overrides, Precedence::Revision);
        let text = template::render(text, &context).map_err(|error| match error {
            TemplateError::MissingKey(_) => None,
            TemplateError::Unsupported(what) => {
                Some(format!("its template is more than is understood here: {what}"))
            }
        })?;
        let documents = yaml::parse(&lines_of(0, &text)).map_err(|fault| Some(fault.message))?;
        match documents.roots.into_iter().next().map(|root| root.value) {
            Some(Value::Map(map)) => Ok(map),
            _ => Ok(Map::default()),
        }
    }
}

/// Where the prefixes of `vm-lkp:4G` end: before each `-` or `:`, and at the end.
fn prefix_ends(text: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = text.match_indices([':', '-']).map(|(at, _)| at).collect();
    if !text.ends_with([':', '-']) || text.is_empty() {
        ends.push(text.len());
    }
    ends
}

/// Values that stand for several facts become maps, as the templates of include files expect
/// them: `disk: 1HDD` is `{nr_hdd: 1}`, `fs: xfs` is `{fs: xfs}`.
fn map_parameters(map: &mut Map) {
    for (key, node) in map.iter_mut() {
        let Some(key) = key.text().map(str::to_owned) else { continue };
        match &mut node.value {
            Value::Map(inner) => map_parameters(inner),
            Value::Text(text) => {
                if let Some(mapped) = mapped(&key, text) {
                    node.value = Value::Map(mapped);
                }
            }
            _ => {}
        }
    }
}

fn mapped(key: &str, text: &str) -> Option<Map> {
    let mut map = Map::default();
    match key {
        "fs" | "fs1" | "fs2" => map.set("fs", Node::text(text)),
        "iosched" | "mytest" => map.set(key, Node::text(text)),
        "md" => map.set("raid_level", Node::text(text.to_lowercase())),
        "disk" => {
            for (unit, name) in [
                ("HDD", "nr_hdd"),
                ("SSD", "nr_ssd"),
                ("BRD", "nr_brd"),
                ("SRD", "nr_srd"),
                ("G", "ramdisk_size"),
                ("pmem", "nr_pmem"),
            ] {
                if let Some(number) = number_before(text, unit) {
                    let number = if unit == "G" { number.saturating_mul(1 << 30) } else { number };
                    map.set(name, Node::new(Value::Integer(number)));
                }
            }
            if text.contains("SCSI_RAM") {
                map.set("scsi_ram", Node::new(Value::Integer(1)));
            }
        }
        _ => return None,
    }
    (!map.is_empty()).then_some(map)
}

fn number_before(text: &str, unit: &str) -> Option<i128> {
    text.match_indices(unit).find_map(|(at, _)| {
        let head = text.get(..at)?;
        let digits = head.len() - head.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        head.get(head.len() - digits..)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_read_apart() {
        let disk = |text: &str| {
            let map = mapped("disk", text).unwrap();
            map.iter()
                .map(|(k, n)| format!("{}={}", k.text().unwrap(), n.value.to_text()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(disk("1BRD_48G"), "nr_brd=1 ramdisk_size=51539607552");
        assert_eq!(disk("4HDD"), "nr_hdd=4");
        assert!(mapped("nr_threads", "4").is_none());
    }

    #[test]
    fn prefixes_end_at_dashes_and_colons() {
        assert_eq!(prefix_ends("vm-snb:4G"), [2, 6, 9]);
        assert_eq!(prefix_ends("vm"), [2]);
    }
}
