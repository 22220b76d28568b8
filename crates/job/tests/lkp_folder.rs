//! Expansion with an lkp-tests folder: hosts and include files, with fixtures of our own.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::path::Path;

use patchmark_catalog::Catalog;
use patchmark_job::{
    ExpandOptions, Expansion, JobError, JobFile, LkpSource, LoadOptions, MemoryFiles, Overrides,
    check,
};

const JOB: &str = "testcase: bench\ncategory: benchmark\n\n# sizes of two machines\nsize: 1G\n\
                   bench:\n  mode: [fast, slow]\nfs: [xfs, nfsv4]\n---\nbench:\n  mode: odd\n";

fn folder() -> MemoryFiles {
    MemoryFiles::new([
        ("lkp/jobs/bench.yaml", JOB),
        ("lkp/hosts/box", "model: Test\nnr_cpu: 8\nsize: 9G\n"),
        ("lkp/programs/bench/run", "#!/bin/sh\n# - mode\n# = size\n\n# - not_one\n"),
        ("lkp/programs/fs/setup", "#!/bin/sh\n# - fs\n\n"),
        ("lkp/programs/watch/monitor", "#!/bin/sh\n# - interval\n\n"),
        (
            "lkp/programs/bench/include",
            "need_kconfig:\n% if ___.mode == 'fast'\n- FAST: y\n% else\n- SLOW\n% end\n",
        ),
        ("lkp/programs/fs/include/nfsv4", "need_kconfig: NFS_V4\n"),
        (
            "lkp/programs/fs/include/OTHERS",
            "<%=\n  case ___\n  when /tmpfs/\n  \"need_kconfig: TMPFS\"\n  else\n  \
             \"need_kconfig: #{___.upcase}_FS\"\n  end\n%>\n",
        ),
        ("lkp/include/category/benchmark", "watch:\n% if job['arch'] =~ /x86/\nturbo:\n% end\n"),
    ])
}

fn expand(files: &MemoryFiles, options: &ExpandOptions<'_>) -> Result<Expansion, JobError> {
    let catalog = Catalog::builtin();
    let lkp = LkpSource::open(Path::new("lkp"), files, catalog)?;
    let load = LoadOptions { lkp: Some(&lkp), compatible: false };
    let job = JobFile::load(Path::new("lkp/jobs/bench.yaml"), files, load)?;
    job.expand(&ExpandOptions { lkp: Some((&lkp, files)), ..*options }, catalog)
}

#[test]
fn hosts_and_include_files_are_taken_in() {
    let options =
        ExpandOptions { testbox: Some("box"), arch: Some("x86_64"), ..ExpandOptions::default() };
    let files = folder();
    let expansion = expand(&files, &options).unwrap();
    assert!(expansion.warnings.is_empty(), "{:?}", expansion.warnings);
    let jobs: Vec<String> =
        expansion.jobs.iter().map(|job| format!("{}\n{}", job.name, job.yaml())).collect();
    insta::assert_snapshot!(jobs.join("\n"));
}

#[test]
fn settings_are_laid_over_last_under_a_comment_of_their_own() {
    let overrides = Overrides::parse(["fs=tmpfs", "bench.mode=slow"]).unwrap();
    let options = ExpandOptions {
        testbox: Some("box"),
        commit: Some("v6.1"),
        overrides: Some(&overrides),
        ..ExpandOptions::default()
    };
    let files = folder();
    let job = expand(&files, &options).unwrap().jobs.remove(0);
    assert_eq!(job.name, "bench-tmpfs-slow-size=1G-v6.1");
    let yaml = job.yaml();
    assert!(yaml.contains("\n#! user overrides"), "{yaml}");
    assert!(yaml.contains("- TMPFS"), "{yaml}");
}

#[test]
fn a_template_beyond_understanding_is_left_out_with_a_warning() {
    let files = folder();
    let text = "% job.each do |k|\na: 1\n% end\n";
    let more = MemoryFiles::new(
        [("lkp/include/category/benchmark", text), ("lkp/jobs/bench.yaml", JOB)].into_iter().chain(
            [
                ("lkp/hosts/box", "nr_cpu: 8\n"),
                ("lkp/programs/bench/run", "# - mode\n"),
                ("lkp/programs/fs/setup", "# - fs\n"),
            ],
        ),
    );
    drop(files);
    let options = ExpandOptions { testbox: Some("box"), ..ExpandOptions::default() };
    let expansion = expand(&more, &options).unwrap();
    assert_eq!(expansion.warnings.len(), 1);
    let message = &expansion.warnings[0].message;
    assert!(message.starts_with("include file include/category/benchmark was left out"));
}

#[test]
fn an_unknown_host_and_a_wrong_folder_are_named() {
    let files = folder();
    let options = ExpandOptions { testbox: Some("elsewhere"), ..ExpandOptions::default() };
    let error = expand(&files, &options).unwrap_err().to_string();
    assert!(error.contains("no hosts/elsewhere"), "{error}");
    let error = LkpSource::open(Path::new("jobs"), &files, Catalog::builtin()).unwrap_err();
    assert!(error.to_string().contains("no lkp-tests source folder"));
}

#[test]
fn programs_of_the_folder_are_known_to_the_check() {
    let files = folder();
    let catalog = Catalog::builtin();
    let lkp = LkpSource::open(Path::new("lkp"), &files, catalog).unwrap();
    let load = LoadOptions { lkp: Some(&lkp), compatible: false };
    let path = Path::new("lkp/jobs/bench.yaml");
    assert!(check(path, JOB, &files, load, catalog).is_empty());
    assert!(!check(path, JOB, &files, LoadOptions::default(), catalog).is_empty());
}
