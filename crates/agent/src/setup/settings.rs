//! Which files a setup's parameters stand for: setups that are nothing but values in /proc and
//! /sys.

use patchmark_model::Setup;

use super::Refusal;
use super::knob::{Knob, Restore};
use crate::Place;

const CPUS: &str = "/sys/devices/system/cpu";
const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const SCHED_DEBUG: &str = "/sys/kernel/debug/sched";

/// The files and values of a setup.
pub(super) fn knobs(setup: &Setup, place: &Place) -> Result<Vec<Knob>, Refusal> {
    match setup.program.as_str() {
        "cpufreq_governor" => Ok(scalar(setup).map(|value| governor(&value)).into_iter().collect()),
        "acpi_cpufreq" => {
            Ok(vec![governor(option(setup, "scaling_governor").unwrap_or("performance"))])
        }
        "cpufreq" => each(setup, |key, value| {
            matches!(key, "scaling_max_freq" | "scaling_min_freq")
                .then(|| Knob::new(format!("{CPUS}/cpu*/cpufreq/{key}"), value))
        }),
        "intel_pstate" => each(setup, |key, value| {
            matches!(key, "max_perf_pct" | "min_perf_pct" | "no_turbo" | "status")
                .then(|| Knob::new(format!("{CPUS}/intel_pstate/{key}"), value))
        }),
        "transparent_hugepage" => transparent_hugepage(setup),
        "sysctl" => setup.options.iter().map(|(key, value)| sysctl(key, value, place)).collect(),
        "numabalance" => each(setup, |key, value| {
            (key == "enable").then(|| Knob::new("/proc/sys/kernel/numa_balancing", value))
        }),
        "dirty_thresh" => each(setup, |key, value| {
            key.starts_with("dirty_").then(|| Knob::new(format!("/proc/sys/vm/{key}"), value))
        }),
        "pipe_user_pages_soft" => {
            let value = scalar(setup).unwrap_or_else(|| "0".to_owned());
            Ok(vec![Knob::new("/proc/sys/fs/pipe-user-pages-soft", value)])
        }
        "drop_caches" => Ok(vec![Knob {
            pattern: "/proc/sys/vm/drop_caches".to_owned(),
            value: "3".to_owned(),
            restore: Restore::Nothing,
        }]),
        "aspm" => each(setup, |key, value| {
            (key == "policy").then(|| Knob::new("/sys/module/pcie_aspm/parameters/policy", value))
        }),
        "sched_feature" => {
            let list = option(setup, "feature").unwrap_or_default();
            Ok(features(list, place))
        }
        "block_queue" => block_queue(setup),
        "cpuidle_cstate" => Ok(idle_states(setup, place)),
        "sysfs" => setup.options.iter().map(|(path, value)| any_file(path, value)).collect(),
        other => Err(Refusal::Failed(format!("the agent has no setup `{other}`"))),
    }
}

/// The value of a setup written `name: value`, or of its option that is named like it.
fn scalar(setup: &Setup) -> Option<String> {
    setup.value.clone().or_else(|| setup.options.get(&setup.program).cloned())
}

fn option<'a>(setup: &'a Setup, key: &str) -> Option<&'a str> {
    setup.options.get(key).map(String::as_str)
}

/// A knob for each option; an option that has none fails the setup.
fn each(setup: &Setup, knob: impl Fn(&str, &str) -> Option<Knob>) -> Result<Vec<Knob>, Refusal> {
    let knobs = setup.options.iter().map(|(key, value)| {
        knob(key, value).ok_or_else(|| {
            Refusal::Failed(format!("setup `{}` has no parameter `{key}`", setup.program))
        })
    });
    knobs.collect()
}

fn governor(value: &str) -> Knob {
    Knob::new(format!("{CPUS}/cpu*/cpufreq/scaling_governor"), value)
}

fn transparent_hugepage(setup: &Setup) -> Result<Vec<Knob>, Refusal> {
    let mut knobs = each(setup, |key, value| {
        let file = match key {
            "thp_enabled" => format!("{THP}/enabled"),
            "thp_defrag" => format!("{THP}/defrag"),
            "shmem_enabled" => format!("{THP}/shmem_enabled"),
            // `enabled_64kB`
            size => format!("{THP}/hugepages-{}/enabled", size.strip_prefix("enabled_")?),
        };
        Some(Knob::new(file, value))
    })?;
    knobs.extend(setup.value.as_ref().map(|value| Knob::new(format!("{THP}/enabled"), value)));
    Ok(knobs)
}

/// `kernel.numa_balancing`, or `sc_numa_balancing`, which stands for the file of that name in
/// whatever folder it is, with `-` for `_` where the kernel writes so.
fn sysctl(key: &str, value: &str, place: &Place) -> Result<Knob, Refusal> {
    const FOLDERS: [&str; 11] = [
        "kernel",
        "vm",
        "fs",
        "net/core",
        "net/ipv4",
        "abi",
        "debug",
        "user",
        "sunrpc",
        "dev",
        "kernel/seccomp",
    ];
    if key.split(['.', '/']).any(|part| part.is_empty()) {
        return Err(Refusal::Failed(format!("`{key}` is not the name of a sysctl")));
    }
    let Some(name) = key.strip_prefix("sc_") else {
        return Ok(Knob::new(format!("/proc/sys/{}", key.replace('.', "/")), value));
    };
    let names = [name.to_owned(), name.replace('_', "-")];
    let paths = FOLDERS
        .iter()
        .flat_map(|folder| names.iter().map(move |name| format!("/proc/sys/{folder}/{name}")));
    let mut existing = paths.filter(|path| place.path(path).is_file());
    let path = existing.next();
    path.map(|path| Knob::new(path, value))
        .ok_or_else(|| Refusal::LeftOut(format!("this kernel has no sysctl `{name}`")))
}

fn features(list: &str, place: &Place) -> Vec<Knob> {
    // Before 5.13 the file lay one folder higher.
    let paths = [format!("{SCHED_DEBUG}_features"), format!("{SCHED_DEBUG}/features")];
    let [old, new] = paths;
    let path = if place.path(&old).exists() { old } else { new };
    let words = list.split_ascii_whitespace();
    words
        .map(|word| Knob {
            pattern: path.clone(),
            value: word.to_owned(),
            restore: Restore::Feature(word.to_owned()),
        })
        .collect()
}

fn block_queue(setup: &Setup) -> Result<Vec<Knob>, Refusal> {
    let device = option(setup, "block_queue_dev").unwrap_or("*");
    let rest = setup.options.iter().filter(|(key, _)| *key != "block_queue_dev");
    let knobs = rest.map(|(key, value)| match key.as_str() {
        "max_sectors_kb" | "nr_requests" => {
            Ok(Knob::new(format!("/sys/block/{device}/queue/{key}"), value))
        }
        other => Err(Refusal::Failed(format!("setup `block_queue` has no parameter `{other}`"))),
    });
    knobs.collect()
}

/// Idle states to forbid: from `max` on, or those of `fb_list`. No machine has more than ten
/// (CPUIDLE_STATE_MAX).
fn idle_states(setup: &Setup, place: &Place) -> Vec<Knob> {
    let exists = |state: &u32| {
        *state == 0 || place.path(&format!("{CPUS}/cpu0/cpuidle/state{state}")).exists()
    };
    let states: Vec<u32> = match option(setup, "max").and_then(|max| max.parse().ok()) {
        Some(max) => (max..10).collect(),
        None => {
            let list = option(setup, "fb_list").unwrap_or_default();
            list.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
        }
    };
    let knob = |state| Knob::new(format!("{CPUS}/cpu*/cpuidle/state{state}/disable"), "1");
    states.into_iter().filter(exists).map(knob).collect()
}

/// Setup `sysfs`: any file below /sys or /proc/sys by its path.
fn any_file(path: &str, value: &str) -> Result<Knob, Refusal> {
    let allowed = path.starts_with("/sys/") || path.starts_with("/proc/sys/");
    if !allowed || path.split('/').any(|part| part == "..") {
        return Err(Refusal::Failed(format!(
            "setup `sysfs`: {path} is not below /sys or /proc/sys"
        )));
    }
    Ok(Knob::new(path, value))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, setup};
    use super::*;

    #[test]
    fn sysctls_are_found_by_either_name() {
        let (_root, place) = machine(&[
            ("proc/sys/kernel/numa_balancing", "1\n"),
            ("proc/sys/fs/pipe-max-size", "1\n"),
            ("proc/sys/net/core/somaxconn", "1\n"),
        ]);
        let path = |key: &str| sysctl(key, "0", &place).map(|knob| knob.pattern);
        assert_eq!(path("sc_numa_balancing").unwrap(), "/proc/sys/kernel/numa_balancing");
        assert_eq!(path("kernel.numa_balancing").unwrap(), "/proc/sys/kernel/numa_balancing");
        assert_eq!(path("sc_pipe_max_size").unwrap(), "/proc/sys/fs/pipe-max-size");
        assert_eq!(path("sc_somaxconn").unwrap(), "/proc/sys/net/core/somaxconn");
        assert!(matches!(path("sc_not_there"), Err(Refusal::LeftOut(_))));
        assert!(matches!(path("kernel/../../etc/passwd"), Err(Refusal::Failed(_))));
    }

    #[test]
    fn parameters_that_a_setup_does_not_have_fail() {
        let (_root, place) = machine(&[]);
        let wrong = setup("transparent_hugepage", None, &[("enabld", "never")]);
        assert!(matches!(knobs(&wrong, &place), Err(Refusal::Failed(_))));
        let outside = setup("sysfs", None, &[("/etc/passwd", "x")]);
        assert!(matches!(knobs(&outside, &place), Err(Refusal::Failed(_))));
    }

    #[test]
    fn each_setup_has_its_files() {
        let state = |n| format!("sys/devices/system/cpu/cpu0/cpuidle/state{n}/disable");
        let (_root, place) = machine(&[(&state(7), "0"), (&state(8), "0")]);
        let patterns = |setup: &Setup| -> Vec<String> {
            let knobs = knobs(setup, &place).unwrap();
            knobs.into_iter().map(|knob| format!("{}={}", knob.pattern, knob.value)).collect()
        };
        let shown: Vec<String> = [
            setup(
                "transparent_hugepage",
                None,
                &[("enabled_64kB", "always"), ("thp_defrag", "defer")],
            ),
            setup("transparent_hugepage", Some("never"), &[]),
            setup("cpufreq_governor", Some("performance"), &[]),
            setup("intel_pstate", None, &[("no_turbo", "1")]),
            setup("numabalance", None, &[("enable", "0")]),
            setup("dirty_thresh", None, &[("dirty_bytes", "4096")]),
            setup("drop_caches", None, &[]),
            setup("sched_feature", None, &[("feature", "NO_TTWU_QUEUE HRTICK")]),
            setup("block_queue", None, &[("nr_requests", "64"), ("block_queue_dev", "vda")]),
            setup("cpuidle_cstate", None, &[("max", "8")]),
            setup("sysfs", None, &[("/sys/kernel/mm/ksm/run", "1")]),
        ]
        .iter()
        .flat_map(patterns)
        .collect();
        insta::assert_snapshot!(shown.join("\n"));
    }
}
