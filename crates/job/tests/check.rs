//! What `check` says, word by word.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::path::Path;

use patchmark_catalog::Catalog;
use patchmark_job::{LoadOptions, MemoryFiles, check};

fn said(files: &[(&str, &str)]) -> String {
    let memory = MemoryFiles::new(files.iter().copied());
    let (path, text) = files[0];
    let found = check(Path::new(path), text, &memory, LoadOptions::default(), Catalog::builtin());
    for diagnostic in &found {
        assert!(diagnostic.source.get(diagnostic.span.clone()).is_some());
    }
    found.iter().map(|d| format!("{d}\n")).collect()
}

#[test]
fn a_good_job_is_silent() {
    let job = "suite: stress-ng\ntestcase: stress-ng\ncategory: benchmark\n\n# why\n\
               nr_threads:\n  - 1\n  - 50%\ntesttime: 60s\ncpufreq_governor: performance\n\
               stress-ng:\n  test: [sockfd, futex]\nvmstat:\n  interval: 5\nkernel_cmdline: quiet\n\
               need_memory: 1G\nsysctl:\n  kernel.numa_balancing: 0\n";
    assert_eq!(said(&[("j.yaml", job)]), "");
}

#[test]
fn every_problem_is_told_with_its_place() {
    let job = "suite: x\nstres-ng:\n  test: sockfd\nnr_threads: 100%x\nhackbench:\n  mode: proces\n  \
               ipcc: pipe\n  iterations: 4\ntesttime: 60q\nstress-ng:\n  testtime: [5s, 5z]\n\
               cpufreq_governor: performence\nvmstta:\nnr_thread: 4\nsuite: y\n";
    insta::assert_snapshot!(said(&[("jobs/j.yaml", job)]));
}

#[test]
fn problems_in_included_files_are_told_there() {
    let files = [
        ("jobs/a.yaml", "<<: b.yaml\n<<: missing.yaml\nsleep:\n  runtime: 1x\n"),
        ("jobs/b.yaml", "testcase: sleep\nvmsta:\n"),
    ];
    insta::assert_snapshot!(said(&files), @r"
    jobs/a.yaml:2:5: error: included file `missing.yaml` not found; looked beside the job and below jobs
    jobs/a.yaml:4:12: error: `runtime: 1x`: seconds, or a number with s, m, h, d or w: 300, 60s, 5m; did you mean `1`?
    jobs/b.yaml:2:1: error: unknown program `vmsta`; did you mean `vmstat`?
    ");
}

#[test]
fn an_included_key_can_be_replaced() {
    let files =
        [("jobs/a.yaml", "<<: b.yaml\nsleep:\n  runtime: 2\n"), ("jobs/b.yaml", "sleep:\n")];
    assert_eq!(said(&files), "");
}

#[test]
fn ruby_is_refused_with_words_on_what_to_write() {
    let job = "sleep:\n  runtime: {{ 60 * 2 }}\n% if x\nfs: <%= y %>\n% end\n";
    insta::assert_snapshot!(said(&[("j.yaml", job)]));
}

#[test]
fn broken_yaml_is_told_with_its_place() {
    insta::assert_snapshot!(said(&[("j.yaml", "sleep:\n  runtime: [1, 2\nfs: x\n")]), @"j.yaml:3:3: error: no YAML: illegal placement of ':' indicator");
    insta::assert_snapshot!(said(&[("j.yaml", "- a\n- b\n")]), @"j.yaml:1:1: error: this document is no map; a job file holds `key: value` lines");
    insta::assert_snapshot!(said(&[("j.yaml", "")]), @"j.yaml:1:1: error: no job in it");
}

#[test]
fn doubtful_things_are_warnings() {
    let job = "testcase: x\nrw: read\nfio:\n  verify: 1\ncoremark:\n---\nrw: write\n";
    insta::assert_snapshot!(said(&[("j.yaml", job)]));
}

proptest::proptest! {
    #[test]
    fn any_text_is_checked_without_panic(
        text in "((stress-ng|nr_threads|fs|vmstat|a\\.b|x\\+|y-|<<|# c|---|  test|need_x):?( |\n|\\[a, b\\]|\\{k: v\\}|100%|60s|\\*|&a|'|\")){0,12}"
    ) {
        said(&[("jobs/j.yaml", &text)]);
    }
}
