//! Names of atom jobs, made of the values of their parameters.

use patchmark_catalog::Show;

use crate::programs::{Programs, Referenced, commit_dimensions};
use crate::value::Map;

/// Values in names are cut to so many characters.
const LONGEST_VALUE: usize = 31;

/// The part of a job's name that its parameters make; `defaults` when it has none.
pub(crate) fn path_params(job: &Map, programs: &Programs) -> String {
    let mut parts = Vec::new();
    for (key, value, show) in Referenced::axes(job, programs) {
        let cut = |value: &str| value.chars().take(LONGEST_VALUE).collect::<String>();
        match (show, value) {
            (Show::KeyValue, Some(value)) if !value.is_empty() => {
                parts.push(format!("{key}={}", cut(&value)));
            }
            (Show::KeyValue, _) => parts.push(key),
            (Show::Value, Some(value)) => parts.push(cut(&value)),
            (Show::Value, None) => {}
        }
    }
    if parts.is_empty() {
        return "defaults".to_owned();
    }
    let joined = parts.join("-");
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "-+=:.%".contains(c);
    joined.chars().map(|c| if is_kept(c) { c } else { '_' }).collect()
}

/// The name of an atom job: the job file's stem, its parameters, commits and root file system.
pub(crate) fn job_name(stem: &str, job: &Map, programs: &Programs) -> String {
    let mut name = format!("{stem}-{}", path_params(job, programs));
    for key in commit_dimensions() {
        if let Some(commit) = job.text_of(key) {
            name.push('-');
            name.push_str(&commit);
        }
    }
    if let Some(rootfs) = job.text_of("rootfs") {
        name.push('-');
        name.push_str(rootfs_name(&rootfs));
    }
    // The name becomes a file name: no separator gets in, whatever a commit is called.
    name.replace('/', "_")
}

/// The last component of a root file system's path.
pub(crate) fn rootfs_name(rootfs: &str) -> &str {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    rootfs.rsplit(|c| !is_kept(c)).find(|part| !part.is_empty()).unwrap_or(rootfs)
}

#[cfg(test)]
mod tests {
    use patchmark_catalog::Catalog;

    use super::*;
    use crate::source::lines_of;
    use crate::yaml;

    fn name(text: &str) -> String {
        let root = yaml::parse(&lines_of(0, text)).unwrap().roots.remove(0);
        let programs = Programs::from_catalog(Catalog::builtin());
        job_name("job", root.as_map().unwrap(), &programs)
    }

    #[test]
    fn values_stand_in_the_order_of_their_keys() {
        let text = "nr_threads: 100%\nstress-ng: {testtime: 60s, test: sockfd}\n\
                    cpufreq_governor: performance\nvmstat: {interval: 5}\n";
        assert_eq!(name(text), "job-performance-100%-sockfd-60s");
    }

    #[test]
    fn odd_characters_become_underscores_and_long_values_are_cut() {
        let text = format!("stress-ng: {{test: 'a b/c', method: {}}}", "x".repeat(40));
        assert_eq!(name(&text), format!("job-{}-a_b_c", "x".repeat(31)));
        assert_eq!(name("kbuild:\n"), "job-defaults");
    }

    #[test]
    fn commit_and_root_file_system_end_the_name() {
        let text = "sleep: {runtime: 1}\nrootfs: a/debian-12.cgz\ncommit: v6.1\n";
        assert_eq!(name(text), "job-1-v6.1-debian-12.cgz");
    }
}
