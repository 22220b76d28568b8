//! An lkp-tests source folder: its programs, hosts and include files, read as `split-job` reads
//! them. Optional: without one, a job has its own keys only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use patchmark_catalog::{Catalog, Show};

use crate::programs::Programs;
use crate::source::lines_of;
use crate::value::{Map, Value};
use crate::{Files, JobError, yaml};

/// An lkp-tests source folder.
#[derive(Clone, Debug)]
pub struct LkpSource {
    root: PathBuf,
    pub(crate) programs: Programs,
    /// key -> (value or option) -> file; what `include/` and `programs/*/include` hold.
    pub(crate) includes: BTreeMap<String, BTreeMap<String, PathBuf>>,
}

const MONITOR_FILES: [&str; 4] =
    ["monitor", "no-stdout-monitor", "one-shot-monitor", "plain-monitor"];

impl LkpSource {
    /// Looks through a folder. Described programs of the catalogue that lkp-tests does not have
    /// are known as well.
    pub fn open(root: &Path, files: &dyn Files, catalog: &Catalog) -> Result<Self, JobError> {
        if !files.is_folder(&root.join("programs")) {
            return Err(JobError::Unreadable {
                file: root.display().to_string(),
                why: "it is no lkp-tests source folder: it has no programs/".to_owned(),
            });
        }
        let mut programs = Programs::default();
        let mut includes = BTreeMap::new();
        for path in files.list(&root.join("include")) {
            let key = base_name(&path);
            let mut of_key = BTreeMap::new();
            for file in std::iter::once(path.clone()).chain(files.list(&path)) {
                if files.is_file(&file) {
                    of_key.insert(base_name(&file), file);
                }
            }
            includes.insert(key, of_key);
        }
        for folder in files.list(&root.join("programs")) {
            let name = base_name(&folder);
            // The last of these that exists says what the parameters are.
            for kind in ["setup", "run", "daemon"] {
                let script = folder.join(kind);
                if files.is_file(&script) {
                    let text = files.read(&script).unwrap_or_default();
                    programs.add_shaping(&name, header_parameters(&text));
                }
            }
            if MONITOR_FILES.iter().any(|kind| files.is_file(&folder.join(kind))) {
                programs.add_monitor(&name);
            }
            let include = folder.join("include");
            if files.is_file(&include) {
                includes.insert(name.clone(), BTreeMap::from([(name, include)]));
            } else if files.is_folder(&include) {
                let of_key = files.list(&include).into_iter().filter(|file| files.is_file(file));
                includes.insert(name, of_key.map(|file| (base_name(&file), file)).collect());
            }
        }
        programs.complete_from(catalog);
        Ok(LkpSource { root: root.to_owned(), programs, includes })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path without the folder before it, if it lies in it.
    pub(crate) fn relative<'a>(&self, path: &'a str) -> &'a str {
        let root = self.root.display().to_string();
        path.strip_prefix(&root).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
    }

    /// The `hosts/` file of a testbox group; `None` when there is none.
    pub(crate) fn host(&self, group: &str, files: &dyn Files) -> Result<Option<Map>, JobError> {
        let path = self.root.join("hosts").join(group);
        if group.contains('/') || !files.is_file(&path) {
            return Ok(None);
        }
        let fault = |why: String| JobError::Defaults { file: path.display().to_string(), why };
        let text = files.read(&path).map_err(|error| fault(error.to_string()))?;
        let documents = yaml::parse(&lines_of(0, &text)).map_err(|error| fault(error.message))?;
        match documents.roots.into_iter().next().map(|root| root.value) {
            Some(Value::Map(map)) => Ok(Some(map)),
            _ => Err(fault("it holds no `key: value` lines".to_owned())),
        }
    }
}

fn base_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The parameters a script names in its header: `# - name` or `# = name` lines before the first
/// empty line.
fn header_parameters(script: &str) -> Vec<(String, Show)> {
    let lines = script.lines().take_while(|line| !line.is_empty());
    lines
        .filter_map(|line| {
            let (show, name) = match (line.strip_prefix("# - "), line.strip_prefix("# = ")) {
                (Some(name), _) => (Show::Value, name),
                (_, Some(name)) => (Show::KeyValue, name),
                _ => return None,
            };
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            (!name.is_empty() && name.chars().all(is_name)).then(|| (name.to_owned(), show))
        })
        .collect()
}
