//! `env.json`: what a run ran on. A fact that cannot be had is absent.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::Place;
use crate::complaint::printable;

/// Kernel settings that move benchmarks.
const SETTINGS: [&str; 12] = [
    "kernel/numa_balancing",
    "kernel/sched_autogroup_enabled",
    "kernel/sched_schedstats",
    "kernel/randomize_va_space",
    "kernel/nmi_watchdog",
    "kernel/perf_event_paranoid",
    "kernel/kptr_restrict",
    "kernel/unprivileged_bpf_disabled",
    "vm/swappiness",
    "vm/overcommit_memory",
    "vm/nr_hugepages",
    "vm/zone_reclaim_mode",
];

/// Everything known about the machine now: after the setups, before the workload.
pub(crate) fn describe(place: &Place, programs: &[String]) -> Value {
    let mut facts = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            facts.insert(key.to_owned(), value);
        }
    };
    let text = |path: &str| place.text(path).map(|text| json!(printable(&text)));
    put("agent_version", Some(json!(env!("CARGO_PKG_VERSION"))));
    put("uname", Some(uname()));
    put("cmdline", place.text("/proc/cmdline").map(Value::from));
    put("kernel_config_blake3", config_hash(&place.path("/proc/config.gz")).map(Value::from));
    put("cpu", Some(cpu(place)));
    put("memory_kb", memory(place));
    put("numa", numa(place));
    put("cpufreq", cpufreq(place));
    put("smt", smt(place));
    put("transparent_hugepage", text("/sys/kernel/mm/transparent_hugepage/enabled"));
    put("mitigations", vulnerabilities(place));
    put("clocksource", text("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    put("virtualised", Some(virtualised(place)));
    put("load_before", load(place));
    put("uptime_s", first_number(place.text("/proc/uptime")));
    put("settings", settings(place));
    put("swap", swaps(place));
    put("programs", Some(program_files(place, programs)));
    Value::Object(facts)
}

fn uname() -> Value {
    let uname = rustix::system::uname();
    json!({
        "sysname": uname.sysname().to_string_lossy(),
        "nodename": uname.nodename().to_string_lossy(),
        "release": uname.release().to_string_lossy(),
        "version": uname.version().to_string_lossy(),
        "machine": uname.machine().to_string_lossy(),
    })
}

/// BLAKE3 of the kernel's configuration as text, so that it compares with the file of a build.
fn config_hash(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    let mut hasher = blake3::Hasher::new();
    // A configuration has 300 KB; what is longer is none.
    let config = std::io::Read::take(flate2::read::GzDecoder::new(file), 16 << 20);
    hasher.update_reader(config).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}

fn cpu(place: &Place) -> Value {
    let cpuinfo = place.text("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| json!(printable(value)))
        })
    };
    let mut facts = Map::new();
    for (key, name) in [
        ("model", "model name"),
        ("vendor", "vendor_id"),
        ("family", "cpu family"),
        ("model_number", "model"),
        ("stepping", "stepping"),
        ("microcode", "microcode"),
        ("mhz", "cpu MHz"),
        ("cache", "cache size"),
    ] {
        if let Some(value) = field(name) {
            facts.insert(key.to_owned(), value);
        }
    }
    if let Some(online) = place.text("/sys/devices/system/cpu/online") {
        facts.insert("online".to_owned(), json!(online));
    }
    let (mut packages, mut cores, mut threads) = (Vec::new(), Vec::new(), 0);
    for folder in cpu_folders(place) {
        let topology = |file: &str| place.text(&format!("{folder}/topology/{file}"));
        let Some(package) = topology("physical_package_id") else { continue };
        threads += 1;
        cores.push((package.clone(), topology("core_id")));
        packages.push(package);
    }
    packages.sort();
    packages.dedup();
    cores.sort();
    cores.dedup();
    if threads > 0 {
        facts.insert("packages".to_owned(), json!(packages.len()));
        facts.insert("cores".to_owned(), json!(cores.len()));
        facts.insert("threads".to_owned(), json!(threads));
    }
    Value::Object(facts)
}

fn cpu_folders(place: &Place) -> Vec<String> {
    const CPUS: &str = "/sys/devices/system/cpu";
    let numbers = crate::sampler::numbered(place, CPUS, "cpu");
    numbers.into_iter().map(|number| format!("{CPUS}/cpu{number}")).collect()
}

fn memory(place: &Place) -> Option<Value> {
    let meminfo = place.text("/proc/meminfo")?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(Value::from)
}

fn numa(place: &Place) -> Option<Value> {
    const NODES: &str = "/sys/devices/system/node";
    let nodes = crate::sampler::numbered(place, NODES, "node");
    let cpus = |node: &u32| {
        let list = place.text(&format!("{NODES}/node{node}/cpulist"));
        (format!("node{node}"), json!({ "cpus": list }))
    };
    (!nodes.is_empty()).then(|| Value::Object(nodes.iter().map(cpus).collect()))
}

fn cpufreq(place: &Place) -> Option<Value> {
    const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cpufreq";
    let governor = place.text(&format!("{FOLDER}/scaling_governor"))?;
    let driver = place.text(&format!("{FOLDER}/scaling_driver"));
    let no_turbo = place.text("/sys/devices/system/cpu/intel_pstate/no_turbo");
    Some(json!({ "governor": governor, "driver": driver, "no_turbo": no_turbo }))
}

fn smt(place: &Place) -> Option<Value> {
    let control = place.text("/sys/devices/system/cpu/smt/control")?;
    let active = place.text("/sys/devices/system/cpu/smt/active").map(|text| text == "1");
    Some(json!({ "control": control, "active": active }))
}

fn vulnerabilities(place: &Place) -> Option<Value> {
    let folder = place.path("/sys/devices/system/cpu/vulnerabilities");
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut known: Vec<(String, Value)> = entries
        .filter_map(|entry| {
            let state = crate::place::read_text(&entry.path())?;
            Some((entry.file_name().into_string().ok()?, json!(printable(&state))))
        })
        .collect();
    known.sort_by(|a, b| a.0.cmp(&b.0));
    Some(Value::Object(known.into_iter().collect()))
}

/// Whether a hypervisor says that it is there, and which machine it shows.
fn virtualised(place: &Place) -> Value {
    let cpuinfo = place.text("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    let by_cpu =
        flags.is_some_and(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    let machine = place.text("/sys/class/dmi/id/product_name");
    let vendor = place.text("/sys/class/dmi/id/sys_vendor");
    let emulated = [&machine, &vendor].into_iter().flatten().any(|text| {
        ["QEMU", "KVM", "Virtual", "VMware", "Bochs"].iter().any(|mark| text.contains(mark))
    });
    json!({ "guest": by_cpu || emulated, "machine": machine, "vendor": vendor })
}

fn load(place: &Place) -> Option<Value> {
    let text = place.text("/proc/loadavg")?;
    let numbers: Vec<f64> =
        text.split_ascii_whitespace().take(3).filter_map(|word| word.parse().ok()).collect();
    (numbers.len() == 3).then(|| json!(numbers))
}

fn first_number(text: Option<String>) -> Option<Value> {
    text?.split_ascii_whitespace().next()?.parse::<f64>().ok().map(Value::from)
}

fn settings(place: &Place) -> Option<Value> {
    let known = SETTINGS.iter().filter_map(|name| {
        let value = place.text(&format!("/proc/sys/{name}"))?;
        Some((name.replace('/', "."), json!(printable(&value))))
    });
    let map: Map<String, Value> = known.collect();
    (!map.is_empty()).then_some(Value::Object(map))
}

fn swaps(place: &Place) -> Option<Value> {
    let text = place.text("/proc/swaps")?;
    let devices = text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next());
    Some(json!(devices.collect::<Vec<_>>()))
}

/// Where the workload's executables lie and how long they are: enough to notice another build,
/// without running it.
fn program_files(place: &Place, programs: &[String]) -> Value {
    let mut files = Map::new();
    for program in programs {
        let Some(path) = place.find_executable(program) else { continue };
        let bytes = std::fs::metadata(&path).map(|metadata| metadata.len()).ok();
        files.insert(program.clone(), json!({ "path": path, "bytes": bytes }));
    }
    Value::Object(files)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn this_machine_is_described() {
        let facts = describe(&Place::local(), &["sh".to_owned(), "no-such".to_owned()]);
        assert!(facts["uname"]["release"].is_string());
        assert!(facts["cpu"]["threads"].as_u64().unwrap() > 0);
        assert!(facts["memory_kb"].as_u64().unwrap() > 1000);
        assert_eq!(facts["load_before"].as_array().unwrap().len(), 3);
        assert!(facts["programs"]["sh"]["bytes"].as_u64().unwrap() > 0);
        assert!(facts["programs"].get("no-such").is_none());
    }

    #[test]
    fn what_is_unknown_is_absent() {
        let dir = tempfile::tempdir().unwrap();
        let facts = describe(&Place::local().with_root(dir.path()), &[]);
        for key in ["memory_kb", "numa", "mitigations", "cmdline", "cpufreq", "load_before"] {
            assert!(facts.get(key).is_none(), "{key}");
        }
    }

    #[test]
    fn the_configuration_is_hashed_as_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.gz");
        let file = std::fs::File::create(&path).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        encoder.write_all(b"CONFIG_NUMA=y\n").unwrap();
        encoder.finish().unwrap();
        let hash = config_hash(&path).unwrap();
        assert_eq!(hash, blake3::hash(b"CONFIG_NUMA=y\n").to_hex().to_string());
        assert_eq!(config_hash(Path::new("/not/there")), None);
    }
}
