//! Expansion against jobs that lkp-tests' own `split-job` made, read in place beside the project.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use patchmark_catalog::Catalog;
use patchmark_job::{
    DiskFiles, ExpandOptions, Files, JobFile, LkpSource, LoadOptions, MemoryFiles, Overrides,
};

const TESTBOX: &str = "lkp-icl-2sp8";

/// The cases, or nothing (and a line that says so) where they are not.
fn cases() -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = shared.join("conformance/split-job");
    if !folder.is_dir() {
        println!("skipped: ../shared is not here");
        return None;
    }
    Some(folder)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The name that `split-job` was given for a job, and its results' names in order.
fn told(case: &Path) -> (String, Vec<String>) {
    let stdout = text(&case.join("stdout"));
    let lines: Vec<(&str, &str)> =
        stdout.lines().filter_map(|line| line.split_once(" => ")).collect();
    let origin = lines.first().map(|(job, _)| (*job).to_owned()).unwrap_or_default();
    let names = lines.iter().map(|(_, path)| path.rsplit('/').next().unwrap_or(path).to_owned());
    (origin, names.collect())
}

/// The files of a case as the job saw them: under the name it was given.
struct CaseFiles {
    folder: PathBuf,
    origin: PathBuf,
}

impl Files for CaseFiles {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        if path == self.origin {
            let name = path.file_name().unwrap();
            return DiskFiles.read(&self.folder.join(name));
        }
        DiskFiles.read(path)
    }
    fn is_file(&self, path: &Path) -> bool {
        path == self.origin || path.is_file()
    }
    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }
    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        DiskFiles.list(folder)
    }
}

/// The lines before the first section that another file added.
fn own_part(yaml: &str) -> Vec<&str> {
    let is_added = |line: &str| line.starts_with("#! ") && !line.ends_with(".yaml");
    let mut own: Vec<&str> = yaml.lines().take_while(|line| !is_added(line)).collect();
    while own.last() == Some(&"") {
        own.pop();
    }
    own
}

/// The entries of a saved job, as they are written, by key.
fn entries(yaml: &str) -> BTreeSet<String> {
    let mut entries = BTreeSet::new();
    let mut entry = String::new();
    for line in yaml.lines().skip(1) {
        let is_new = !line.starts_with([' ', '-']) || line.is_empty();
        if is_new && !entry.is_empty() {
            entries.insert(std::mem::take(&mut entry));
        }
        if !line.is_empty() {
            entry.push_str(line);
            entry.push('\n');
        }
    }
    entries.insert(entry);
    entries
}

#[test]
fn jobs_expand_as_split_job_expands_them() {
    let Some(cases) = cases() else { return };
    let (mut compared, mut refused) = (0, Vec::new());
    for folder in DiskFiles.list(&cases) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let source = folder.join(format!("{name}.yaml"));
        if !source.is_file() || !folder.join("expected").is_dir() {
            continue;
        }
        let (origin, expected_order) = told(&folder);
        let origin = PathBuf::from(origin);
        let files = CaseFiles { folder: folder.clone(), origin: origin.clone() };
        let job = match JobFile::load(&origin, &files, LoadOptions::default()) {
            Ok(job) => job,
            Err(error) => {
                refused.push(format!("{name}: {}", error.to_string().lines().next().unwrap()));
                continue;
            }
        };
        let options = ExpandOptions {
            testbox: Some(TESTBOX),
            arch: Some("x86_64"),
            ..ExpandOptions::default()
        };
        let expansion = job.expand(&options, Catalog::builtin()).unwrap();
        let order: Vec<_> = expansion.order.iter().map(|name| format!("{name}.yaml")).collect();
        assert_eq!(order, expected_order, "{name}");
        for atom in &expansion.jobs {
            let path = folder.join("expected").join(format!("{}.yaml", atom.name));
            let (expected, got) = (text(&path), atom.yaml());
            // A further document's keys come behind those that other files add, in lkp-tests.
            let own = own_part(&expected);
            assert_eq!(own, got.lines().take(own.len()).collect::<Vec<_>>(), "{}", path.display());
            let more: Vec<_> = entries(&got).difference(&entries(&expected)).cloned().collect();
            assert!(more.iter().all(|e| e.starts_with("need_")), "{}: {more:?}", path.display());
            compared += 1;
        }
    }
    println!("{compared} jobs equal; not expanded: {refused:#?}");
    assert!(compared > 300);
    for reason in refused {
        // Ruby is refused; an included file of lkp-tests' own that is not here cannot be read.
        assert!(reason.contains("is Ruby") || reason.contains("not found"), "{reason}");
    }
}

#[test]
fn the_job_with_kernel_and_settings_has_its_name() {
    let Some(cases) = cases() else { return };
    let (origin, names) = told(&cases.join("opts"));
    // The job as its result shows it: nr_threads and iterations have one value each.
    let job = "suite: ebizzy\ntestcase: ebizzy\ncategory: benchmark\n\nnr_threads: 200%\n\
               iterations: 100x\n\nebizzy:\n  duration: 10s\n";
    let job = JobFile::parse(Path::new(&origin), job, &DiskFiles, LoadOptions::default()).unwrap();
    let rootfs = "rootfs: debian-12-x86_64-20240206.cgz";
    let overrides = Overrides::parse([rootfs, "nr_threads=50%"]).unwrap();
    let options = ExpandOptions {
        testbox: Some(TESTBOX),
        arch: Some("x86_64"),
        kconfig: Some("x86_64-rhel-9.4"),
        commit: Some("243d81103e9bb89e329408c6e03bf810fe3e2ab2"),
        overrides: Some(&overrides),
        ..ExpandOptions::default()
    };
    let expansion = job.expand(&options, Catalog::builtin()).unwrap();
    assert_eq!(format!("{}.yaml", expansion.jobs[0].name), names[0]);
    let expected = text(&cases.join("opts/expected").join(&names[0]));
    let own = own_part(&expected);
    let got = expansion.jobs[0].yaml();
    assert_eq!(own, got.lines().take(own.len()).collect::<Vec<_>>());
}

/// lkp-tests' own fixtures: names and own keys. (What their include files add is told there as no
/// recent version adds it: the checks that come with them never run.)
#[test]
fn programs_of_an_lkp_folder_make_the_matrix() {
    let Some(cases) = cases() else { return };
    let fixtures = cases.join("lkp-own-fixtures");
    let catalog = Catalog::builtin();
    let programs = text(&fixtures.join("programs/split-job/run"));
    let lkp = MemoryFiles::new([
        ("lkp/programs/split-job/run", programs.as_str()),
        ("lkp/programs/fs/setup", "#!/bin/sh\n# - fs\n\n"),
        ("lkp/programs/fs2/setup", "#!/bin/sh\n# - fs\n\n"),
        ("lkp/hosts/lkp-tbox", "model: Haswell\n"),
    ]);
    let source = LkpSource::open(Path::new("lkp"), &lkp, catalog).unwrap();
    let mut compared = 0;
    for job_name in ["1", "2", "3", "4"] {
        let path = PathBuf::from(format!("spec/fixtures/split-job/{job_name}.yaml"));
        let job = text(&fixtures.join(format!("{job_name}.yaml")));
        let job = JobFile::parse(&path, &job, &lkp, LoadOptions::default()).unwrap();
        let options = ExpandOptions {
            testbox: Some("lkp-tbox"),
            arch: Some("x86_64"),
            lkp: Some((&source, &lkp)),
            ..ExpandOptions::default()
        };
        for atom in job.expand(&options, catalog).unwrap().jobs {
            let expected = text(&fixtures.join(format!("{}.yaml", atom.name)));
            assert_eq!(own_part(&atom.yaml()), own_part(&expected), "{}", atom.name);
            compared += 1;
        }
    }
    assert_eq!(compared, 12);
}

/// A saved job is loaded as the file it came from.
#[test]
fn a_saved_job_is_loaded_without_what_other_files_added() {
    let Some(cases) = cases() else { return };
    let path = cases.join("lkp-own-fixtures/compatible.yaml");
    let options = LoadOptions { compatible: true, ..LoadOptions::default() };
    let job = JobFile::load(&path, &DiskFiles, options).unwrap();
    assert_eq!(job.first.text_of("job_origin").as_deref(), Some("split-job.yaml"));
    assert!(!job.first.contains("nr_cpu") && !job.first.contains("queue"));
    let expansion = job.expand(&ExpandOptions::default(), Catalog::builtin()).unwrap();
    let saved = expansion.jobs[0].yaml();
    assert!(saved.starts_with("---\n\n#! jobs/split-job.yaml\nsuite: split-job\n"), "{saved}");
}
