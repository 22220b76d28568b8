//! Expansion: a job file and a testbox's name to atom jobs.

use std::collections::BTreeMap;

use patchmark_catalog::Catalog;

use crate::defaults::Defaults;
use crate::path_params::job_name;
use crate::programs::{Programs, Referenced};
use crate::revise::{Precedence, revise};
use crate::value::{Key, Map, Node};
use crate::{
    AtomJob, Diagnostic, Files, JobError, JobFile, LkpSource, Overrides, Severity, matrix,
};

/// What to expand a job for.
#[derive(Clone, Copy, Default)]
pub struct ExpandOptions<'a> {
    /// The testbox; sets `testbox` and `tbox_group`.
    pub testbox: Option<&'a str>,
    /// The architecture, unless the job names one.
    pub arch: Option<&'a str>,
    /// A kernel configuration's name; sets `kconfig`.
    pub kconfig: Option<&'a str>,
    /// A kernel's commit; sets `commit`.
    pub commit: Option<&'a str>,
    /// Settings that are laid over last.
    pub overrides: Option<&'a Overrides>,
    /// Host and include files come from here; without it a job has its own keys only.
    pub lkp: Option<(&'a LkpSource, &'a dyn Files)>,
    /// Load no include files, not even with an lkp-tests folder.
    pub no_defaults: bool,
}

/// The jobs of a file.
#[derive(Clone, Debug, Default)]
pub struct Expansion {
    /// In the order in which lkp-tests writes them. Names are unique: of jobs with the same name
    /// the last one stands, in the place of the first, as a saved file would.
    pub jobs: Vec<AtomJob>,
    /// The name of every point of the matrix in order, repeated names included.
    pub order: Vec<String>,
    /// What is doubtful: repeated names, include files left out.
    pub warnings: Vec<Diagnostic>,
}

/// More jobs than this are a mistake in a matrix.
const MOST_JOBS: usize = 20_000;

impl JobFile {
    /// The atom jobs of the file.
    pub fn expand(
        &self,
        options: &ExpandOptions<'_>,
        catalog: &Catalog,
    ) -> Result<Expansion, JobError> {
        let from_catalog;
        let programs = match options.lkp {
            Some((lkp, _)) => &lkp.programs,
            None => {
                from_catalog = Programs::from_catalog(catalog);
                &from_catalog
            }
        };
        let overrides = options.overrides.map(Overrides::map).cloned().unwrap_or_default();
        let base = self.base(options)?;
        let mut expander = Expander {
            file: self,
            programs,
            defaults: Defaults::new(options, &overrides),
            overrides: &overrides,
            referenced: Referenced::by(&base, programs),
            found: BTreeMap::new(),
            expansion: Expansion::default(),
        };
        expander.expansion.warnings = self.duplicate_warnings(Severity::Warning);
        let documents = std::iter::once(Map::default()).chain(self.further.iter().cloned());
        for document in documents {
            expander.expand_document(&base, &document)?;
        }
        let Expander { mut expansion, defaults, .. } = expander;
        expansion.warnings.extend(defaults.warnings(&self.sources));
        Ok(expansion)
    }

    /// The first document with testbox, kernel and host facts.
    fn base(&self, options: &ExpandOptions<'_>) -> Result<Map, JobError> {
        let mut base = self.first.clone();
        let mut set = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                base.set(key, Node::text(value));
            }
        };
        set("kconfig", options.kconfig);
        set("commit", options.commit);
        set("testbox", options.testbox);
        if let Some(arch) = options.arch.filter(|_| base.text_of("arch").is_none()) {
            base.set("arch", Node::text(arch));
        }
        if let Some(testbox) = options.testbox {
            base.set("tbox_group", Node::text(tbox_group(testbox)));
        }
        if base.text_of("cluster").is_some() {
            base.set("node_roles", Node::text("server client"));
        }
        let (Some((lkp, files)), Some(testbox)) = (options.lkp, options.testbox) else {
            return Ok(base);
        };
        if options.no_defaults {
            return Ok(base);
        }
        if lkp.host(testbox, files)?.is_none() {
            return Err(JobError::UnknownHost { testbox: testbox.to_owned() });
        }
        let group = tbox_group(testbox);
        let Some(host) = lkp.host(&group, files)? else { return Ok(base) };
        base.insert(Key::Comment(format!("#! hosts/{group}")), Node::null());
        for (key, node) in host.iter() {
            if base.find(key).is_none() {
                base.insert(key.clone(), node.clone());
            }
        }
        Ok(base)
    }
}

struct Expander<'a> {
    file: &'a JobFile,
    programs: &'a Programs,
    defaults: Defaults<'a>,
    overrides: &'a Map,
    /// Of the job as it was expanded last: the next document's defaults start from these.
    referenced: Referenced,
    found: BTreeMap<String, usize>,
    expansion: Expansion,
}

impl Expander<'_> {
    fn expand_document(&mut self, base: &Map, document: &Map) -> Result<(), JobError> {
        let mut job = base.clone();
        self.defaults.begin_document();
        let added = self.defaults.collect(&job, document, &self.referenced);
        revise(&mut job, &added, Precedence::Original);
        revise(&mut job, document, Precedence::Revision);
        if !self.overrides.is_empty() {
            let comment = Key::Comment("#! user overrides".to_owned());
            job.remove(&comment);
            job.insert(comment, Node::null());
            revise(&mut job, self.overrides, Precedence::Revision);
        }
        self.referenced = Referenced::by(&job, self.programs);

        let referenced = self.referenced.clone();
        let mut is_too_large = false;
        matrix::walk(&job, &referenced, &mut |point| {
            is_too_large = self.expansion.order.len() >= MOST_JOBS;
            if !is_too_large {
                self.add_atom(point, document, &referenced);
            }
            !is_too_large
        });
        if is_too_large {
            let file = self.file.path.display().to_string();
            return Err(JobError::TooLarge { file, limit: MOST_JOBS });
        }
        Ok(())
    }

    fn add_atom(&mut self, point: &Map, document: &Map, referenced: &Referenced) {
        let mut atom = point.clone();
        // Include files that depend on a value of the matrix can be read only now.
        let added = self.defaults.collect_for_atom(&atom, document, referenced);
        revise(&mut atom, &added, Precedence::Original);
        let name = job_name(&self.file.stem(), &atom, self.programs);
        self.expansion.order.push(name.clone());
        let atom = AtomJob::new(name.clone(), atom, self.programs);
        match self.found.get(&name).and_then(|at| self.expansion.jobs.get_mut(*at)) {
            Some(earlier) => {
                *earlier = atom;
                let message = format!("two points of the matrix are named `{name}`");
                let help = "only the last one is kept; their differences are in keys that are \
                            no parameters of the programs"
                    .to_owned();
                self.expansion.warnings.push(Diagnostic::new(
                    Severity::Warning,
                    &self.file.sources,
                    Default::default(),
                    message,
                    Some(help),
                ));
            }
            None => {
                self.found.insert(name, self.expansion.jobs.len());
                self.expansion.jobs.push(atom);
            }
        }
    }
}

/// The group of a testbox: `lkp-skl-d01-3` is one of `lkp-skl-d01`; an inner `-2-` goes as well.
fn tbox_group(testbox: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let Some((group, number)) = testbox.rsplit_once('-') else { return testbox.to_owned() };
    if group.is_empty() || !is_number(number) {
        return testbox.to_owned();
    }
    let parts: Vec<&str> = group.split('-').collect();
    let inner = (1..parts.len().saturating_sub(1)).find(|at| is_number(parts[*at]));
    let kept = parts.iter().enumerate().filter(|(at, _)| Some(*at) != inner);
    kept.map(|(_, part)| *part).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{LoadOptions, MemoryFiles};

    fn expand(text: &str) -> Expansion {
        let files = MemoryFiles::default();
        let job = JobFile::parse(Path::new("jobs/j.yaml"), text, &files, LoadOptions::default());
        let options = ExpandOptions { arch: Some("x86_64"), ..ExpandOptions::default() };
        job.unwrap().expand(&options, Catalog::builtin()).unwrap()
    }

    #[test]
    fn the_first_list_is_the_outermost_loop() {
        let text = "nr_threads: [1, 50%]\nstress-ng:\n  testtime: 1s\n  test: [a, b]\n";
        let names: Vec<_> = expand(text).jobs.into_iter().map(|job| job.name).collect();
        assert_eq!(names, ["j-1-a-1s", "j-1-b-1s", "j-50%-a-1s", "j-50%-b-1s"]);
    }

    #[test]
    fn each_further_document_varies_the_first() {
        let text =
            "stress-ng: {test: a, testtime: 1s}\n---\nnr_threads: 2\n---\nstress-ng.test: b\n";
        let jobs = expand(text).jobs;
        let names: Vec<_> = jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["j-a-1s", "j-2-a-1s", "j-b-1s"]);
    }

    #[test]
    fn lists_of_plain_keys_and_of_monitors_stay_lists() {
        let text = "mail_to: [a, b]\nvmstat: {interval: [1, 2]}\nsleep: {runtime: 1}\n";
        let expansion = expand(text);
        assert_eq!(expansion.jobs.len(), 1);
        assert!(expansion.jobs[0].yaml().contains("mail_to:\n- a\n- b\n"));
    }

    #[test]
    fn a_repeated_name_is_told_and_the_last_job_stands() {
        let text = "x: 1\nsleep: {runtime: 1}\n---\nx: 2\n";
        let expansion = expand(text);
        assert_eq!(expansion.order, ["j-1", "j-1"]);
        assert_eq!(expansion.jobs.len(), 1);
        assert_eq!(expansion.jobs[0].keys.text_of("x").as_deref(), Some("2"));
        assert!(expansion.warnings[0].message.contains("named `j-1`"));
    }

    #[test]
    fn a_matrix_is_bounded() {
        let list = format!("[{}]", (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
        let text = format!("stress-ng: {{test: {list}, method: {list}, mode: {list}}}\n");
        let files = MemoryFiles::default();
        let job = JobFile::parse(Path::new("j.yaml"), &text, &files, LoadOptions::default());
        let result = job.unwrap().expand(&ExpandOptions::default(), Catalog::builtin());
        assert!(matches!(result, Err(JobError::TooLarge { .. })));
    }

    #[test]
    fn groups_of_testboxes() {
        for (testbox, group) in [
            ("lkp-skl-d01", "lkp-skl-d01"),
            ("lkp-bdw-2", "lkp-bdw"),
            ("vm-snb-4G-12", "vm-snb-4G"),
            ("lkp-2-bdw-7", "lkp-bdw"),
            ("box", "box"),
            ("x-1", "x"),
        ] {
            assert_eq!(tbox_group(testbox), group, "{testbox}");
        }
    }
}
