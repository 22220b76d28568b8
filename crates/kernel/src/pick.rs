//! Which of the packages that exist is meant. Pure.

use std::cmp::Ordering;

use crate::package::Package;
use crate::version::compare_versions;

/// How many names an error suggests.
const SUGGESTIONS: usize = 4;

/// The packages of a series, newest first: `linux-image-RELEASE-FLAVOUR` whose release begins
/// with `prefix`. The packages that stand for a whole series (`linux-image-6.1-cloud-amd64`),
/// unsigned twins and debug symbols are left out.
pub(crate) fn of_series(names: &[String], prefix: &str, flavour: &str) -> Vec<String> {
    let tail = format!("-{flavour}");
    let mut found: Vec<(&str, &String)> = names
        .iter()
        .filter_map(|name| {
            let release = name.strip_prefix("linux-image-")?.strip_suffix(&tail)?;
            let rest = release.strip_prefix(prefix)?;
            let is_whole = rest.is_empty() || rest.starts_with(['.', '+', '-']);
            (is_whole && is_one_build(release)).then_some((release, name))
        })
        .collect();
    found.sort_by(|a, b| compare_versions(b.0, a.0));
    found.into_iter().map(|(_, name)| name.clone()).collect()
}

/// `6.1.0-57`, `6.12.117+deb13`: not `6.1`, not `6.1.0-57-cloud`, not `6.1.0-57-rt`.
fn is_one_build(release: &str) -> bool {
    let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    release.split('-').all(is_number) && release.split(['.', '-', '+']).count() > 2
}

/// The version asked for, or the newest one.
pub(crate) fn version<'p>(packages: &'p [Package], wanted: Option<&str>) -> Option<&'p Package> {
    let fits = |package: &&Package| wanted.is_none_or(|version| package.version == version);
    packages.iter().filter(fits).max_by(|a, b| compare_versions(&a.version, &b.version))
}

/// The versions at hand, newest first, each once.
pub(crate) fn versions(packages: &[Package]) -> Vec<String> {
    let mut versions: Vec<String> = packages.iter().map(|p| p.version.clone()).collect();
    versions.sort_by(|a, b| compare_versions(b, a));
    versions.dedup();
    versions
}

/// Names that a person may have meant, nearest first.
pub(crate) fn nearest(names: &[String], wanted: &str) -> Vec<String> {
    let bootable = |name: &&String| {
        name.starts_with("linux-image-")
            && name.ends_with("amd64")
            && name.contains(|c: char| c.is_ascii_digit())
    };
    let core = |name: &str| -> String {
        let name = name.strip_prefix("linux-image-").unwrap_or(name);
        name.strip_suffix("-amd64").unwrap_or(name).to_owned()
    };
    let wanted = core(wanted);
    let mut scored: Vec<(f64, &String)> = names
        .iter()
        .filter(bootable)
        .map(|name| (strsim::normalized_damerau_levenshtein(&wanted, &core(name)), name))
        .filter(|(score, _)| *score > 0.5)
        .collect();
    scored.sort_by(|a, b| {
        b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal).then_with(|| compare_versions(b.1, a.1))
    });
    scored.into_iter().take(SUGGESTIONS).map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        [
            "linux-image-5.10.0-46-cloud-amd64",
            "linux-image-6.1-cloud-amd64",
            "linux-image-6.1.0-0.deb11.52-cloud-amd64",
            "linux-image-6.1.0-57-cloud-amd64",
            "linux-image-6.1.0-57-cloud-amd64-dbg",
            "linux-image-6.1.0-57-cloud-amd64-unsigned",
            "linux-image-6.1.0-9-cloud-amd64",
            "linux-image-6.1.0-57-amd64",
            "linux-image-6.1.0-57-rt-amd64",
            "linux-image-6.12.90+deb12.1-cloud-amd64",
            "linux-image-6.12.90+deb13-cloud-amd64",
            "linux-image-amd64",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[test]
    fn a_series_is_its_builds_newest_first() {
        assert_eq!(
            of_series(&names(), "6.1", "cloud-amd64"),
            [
                "linux-image-6.1.0-57-cloud-amd64",
                "linux-image-6.1.0-9-cloud-amd64",
                "linux-image-6.1.0-0.deb11.52-cloud-amd64"
            ]
        );
        assert_eq!(of_series(&names(), "6.1", "amd64"), ["linux-image-6.1.0-57-amd64"]);
        assert_eq!(
            of_series(&names(), "6.12", "cloud-amd64")[0],
            "linux-image-6.12.90+deb13-cloud-amd64"
        );
        assert_eq!(
            of_series(&names(), "6.1.0-57", "cloud-amd64"),
            ["linux-image-6.1.0-57-cloud-amd64"]
        );
        assert!(of_series(&names(), "6.3", "cloud-amd64").is_empty());
    }

    #[test]
    fn suggestions_come_nearest_first() {
        let found = nearest(&names(), "linux-image-6.1.0-58-cloud-amd64");
        assert_eq!(found[0], "linux-image-6.1.0-57-cloud-amd64");
        assert!(found.iter().all(|name| !name.ends_with("-dbg")));
        assert!(nearest(&names(), "zzz").is_empty());
    }
}
