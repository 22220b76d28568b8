//! The catalogue: every program known by name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use patchmark_model::Kpi;

use crate::{CatalogError, Kind, KpiPattern, Program, ValueType, index, read};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

static BUILTIN: LazyLock<Catalog> = LazyLock::new(|| {
    // The embedded data is read by a test of this crate; what it says is what runs.
    embedded::FILES.iter().fold(Catalog::default(), |mut catalog, (name, text)| {
        let _ = catalog.add_file(name, text);
        catalog
    })
});

/// Programs, the meaning of parameters, and headline metrics.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    programs: BTreeMap<String, Program>,
    parameter_types: BTreeMap<String, ValueType>,
    categories: BTreeMap<String, Vec<String>>,
    keys: Vec<String>,
    kpis: Vec<KpiPattern>,
}

impl Catalog {
    /// The catalogue that comes with the binary.
    pub fn builtin() -> &'static Catalog {
        &BUILTIN
    }

    /// The built-in catalogue with the files of a folder laid over it: a program of the folder
    /// replaces one of the same name. Reads every `.yaml` and `.txt` of the folder itself.
    pub fn load(folder: &Path) -> Result<Catalog, CatalogError> {
        let unreadable = |path: &Path, error: std::io::Error| CatalogError::Unreadable {
            path: path.to_owned(),
            why: error.to_string(),
        };
        let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(|error| unreadable(folder, error))?.path());
        }
        paths.sort();
        let mut catalog = Catalog::builtin().clone();
        for path in paths {
            let is_data = path.extension().is_some_and(|kind| kind == "yaml" || kind == "txt");
            if is_data && path.is_file() {
                let text =
                    std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
                catalog.add_file(&path.to_string_lossy(), &text)?;
            }
        }
        Ok(catalog)
    }

    /// Adds one file; its base name says what it holds.
    pub fn add_file(&mut self, path: &str, text: &str) -> Result<(), CatalogError> {
        match path.rsplit('/').next().unwrap_or(path) {
            "index.txt" => {
                for program in index::programs(path, text)? {
                    // A full description says more than a line of the index.
                    self.programs.entry(program.name.clone()).or_insert(program);
                }
            }
            "keys.txt" => self.keys.extend(index::keys(text)),
            "parameters.yaml" => self.parameter_types.extend(read::parameter_types(path, text)?),
            "categories.yaml" => self.categories.extend(read::categories(path, text)?),
            "kpis.yaml" => self.kpis.extend(read::kpis(path, text)?),
            _ => {
                let program = read::program(path, text)?;
                self.programs.insert(program.name.clone(), program);
            }
        }
        Ok(())
    }

    /// A program by name.
    pub fn get(&self, name: &str) -> Option<&Program> {
        self.programs.get(name)
    }

    /// Every program, sorted by name.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        self.programs.values()
    }

    /// Every name, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.keys().map(String::as_str)
    }

    /// The names of the programs of a kind, sorted.
    pub fn names_of(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.programs.values().filter(move |p| p.is(kind)).map(|p| p.name.as_str())
    }

    /// Whether a program of this name is a workload.
    pub fn is_workload(&self, name: &str) -> bool {
        self.get(name).is_some_and(|program| program.is(Kind::Workload))
    }

    /// Whether a program of this name is a monitor and nothing else.
    pub fn is_monitor(&self, name: &str) -> bool {
        self.get(name).is_some_and(|program| !program.shapes_result())
    }

    /// Whether a key of a job file is known to be neither program nor parameter: `testcase`,
    /// `need_memory`.
    pub fn is_plain_key(&self, key: &str) -> bool {
        self.keys.iter().any(|known| match known.strip_suffix('*') {
            Some(prefix) => key.starts_with(prefix),
            None => known == key,
        })
    }

    /// The plain keys known, as in `keys.txt`.
    pub fn plain_keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }

    /// The monitors that run because of a job's `category:`; `None` for a category that is
    /// not known.
    pub fn default_monitors(&self, category: &str) -> Option<&[String]> {
        self.categories.get(category).map(Vec::as_slice)
    }

    /// The known program name most like `name`, if one is close.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.names())
    }

    /// What the value of a parameter means: what its program says, else what `parameters.yaml`
    /// says of the name, else text.
    pub fn value_type(&self, program: Option<&str>, parameter: &str) -> ValueType {
        program
            .and_then(|name| self.get(name))
            .and_then(|program| program.value_type(parameter))
            .or_else(|| self.parameter_types.get(parameter).copied())
            .unwrap_or_default()
    }

    /// Direction and unit of a metric, when it is a headline metric.
    pub fn kpi(&self, metric: &str) -> Option<Kpi> {
        let program = metric.split('.').next().and_then(|name| self.get(name));
        let own = program.map(|program| program.kpis.as_slice()).unwrap_or_default();
        own.iter()
            .chain(&self.kpis)
            .find(|pattern| pattern.fits(metric))
            .map(|pattern| pattern.kpi.clone())
    }
}

/// The candidate most like `name`, if one is close: Damerau-Levenshtein distance of at most a
/// third of the length, the first of equals in order.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use patchmark_model::Direction;

    use super::*;

    #[test]
    fn every_embedded_file_is_valid() {
        let mut catalog = Catalog::default();
        for (name, text) in embedded::FILES {
            if let Err(error) = catalog.add_file(name, text) {
                panic!("{error}");
            }
        }
        assert!(catalog.programs().count() > 300);
        assert!(catalog.programs().filter(|p| p.is_described).count() > 25);
    }

    #[test]
    fn defaults_and_durations_refer_to_known_names() {
        for program in Catalog::builtin().programs() {
            for parameter in &program.parameters {
                if let Some(crate::ParameterDefault::Expression(expression)) = &parameter.default {
                    for name in expression.names() {
                        let is_fact = ["nr_cpu", "nr_node", "memory"].contains(&name);
                        assert!(
                            is_fact || program.parameter(name).is_some(),
                            "{}: {name}",
                            program.name
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn monitors_of_categories_are_described() {
        let catalog = Catalog::builtin();
        let monitors = catalog.default_monitors("benchmark").unwrap();
        assert!(monitors.len() > 15);
        for name in monitors {
            assert!(catalog.get(name).is_some_and(|m| m.is_described && m.is(Kind::Monitor)));
        }
    }

    #[test]
    fn names_near_a_misspelling_are_found() {
        let catalog = Catalog::builtin();
        assert_eq!(catalog.nearest("stres-ng"), Some("stress-ng"));
        assert_eq!(catalog.nearest("cpufreq_govenor"), Some("cpufreq_governor"));
        assert_eq!(catalog.nearest("zzzzzzzz"), None);
    }

    #[test]
    fn headline_metrics_have_direction_and_unit() {
        let kpi = Catalog::builtin().kpi("stress-ng.sockfd.ops_per_sec").unwrap();
        assert_eq!(kpi.direction, Some(Direction::Higher));
        assert_eq!(kpi.unit.as_deref(), Some("ops/s"));
        assert_eq!(Catalog::builtin().kpi("vmstat.system.cs"), None);
    }

    #[test]
    fn an_error_in_a_file_names_its_place() {
        let text = "name: x\nkinds: [workload]\ndescription: d\ncommands:\n  - run: x {y}\n";
        let error = Catalog::default().add_file("x.yaml", text).unwrap_err();
        assert_eq!(error.to_string(), "x.yaml:5:10: `y` is no parameter of the program");
        let error = Catalog::default().add_file("x.yaml", "name: x\nkind: y\n").unwrap_err();
        assert!(error.to_string().starts_with("x.yaml:2:"), "{error}");
    }
}
