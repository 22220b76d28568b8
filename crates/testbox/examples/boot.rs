//! Boots a kernel, runs one command in it and prints how long each phase took:
//! `boot CLOCK IMAGE MODULES-DIR|- RUN-DIR COMMAND...`. The same program is the guest's init.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use patchmark_model::{
    Axes, Command, KernelArtefacts, KernelId, Monitor, Needs, Plan, RunSpec, Workload,
};
use patchmark_testbox::{Cancel, Testbox as _, VmOptions, VmTestbox};

fn main() -> ExitCode {
    if let Some(code) = patchmark_testbox::local_child() {
        return code;
    }
    if patchmark_agent::is_guest_init() {
        patchmark_agent::init_main();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [clock, image, modules, dir, command @ ..] = arguments.as_slice() else {
        eprintln!("usage: boot CLOCK IMAGE MODULES-DIR|- RUN-DIR COMMAND...");
        return ExitCode::from(2);
    };
    match run(clock, image, modules, Path::new(dir), command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(3)
        }
    }
}

fn run(
    clock: &str,
    image: &str,
    modules: &str,
    dir: &Path,
    command: &[String],
) -> Result<(), String> {
    let cache = std::env::temp_dir().join("patchmark-boot-example");
    let mut options = VmOptions::new(clock.parse()?, cache);
    let variable = |name: &str| std::env::var(name).ok();
    options.cmdline = variable("BOOT_CMDLINE").unwrap_or_default();
    if let Some(cpus) = variable("BOOT_CPUS") {
        options.cpus = cpus.parse().map_err(|error| format!("BOOT_CPUS: {error}"))?;
    }
    if let Some(nodes) = variable("BOOT_NODES") {
        options.numa_nodes = nodes.parse().map_err(|error| format!("BOOT_NODES: {error}"))?;
    }
    let testbox = VmTestbox::new(options).map_err(|error| error.to_string())?;
    let kernel = KernelArtefacts {
        id: KernelId { spec: image.into(), label: image.into(), digest: String::new() },
        release: String::new(),
        image: Some(PathBuf::from(image)),
        modules: (modules != "-").then(|| PathBuf::from(modules)),
        system_map: None,
        config: None,
        kconfig: String::new(),
        compiler: String::new(),
    };
    let record = testbox
        .run(&kernel, &spec(command), dir, &mut |event| eprintln!("{event:?}"), &Cancel::new())
        .map_err(|error| error.to_string())?;
    let text = serde_json::to_string_pretty(&record).map_err(|error| error.to_string())?;
    println!("{text}");
    Ok(())
}

fn spec(command: &[String]) -> RunSpec {
    let monitors = std::env::var("BOOT_MONITORS").unwrap_or_default();
    let monitor = |name: &str| Monitor {
        program: name.to_owned(),
        interval_ms: 1000,
        options: BTreeMap::new(),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RunSpec {
        id: patchmark_model::RunId::try_from("example".to_owned()).unwrap_or_else(|_| {
            // The literal above is a run id.
            std::process::exit(3)
        }),
        plan: Plan {
            job_name: "example".into(),
            axes: Axes::default(),
            job_yaml: "testcase: example\n".into(),
            setups: Vec::new(),
            monitors: monitors.split(',').filter(|name| !name.is_empty()).map(monitor).collect(),
            workloads: vec![Workload {
                program: "example".into(),
                commands: vec![Command { argv: command.to_vec(), env: BTreeMap::new() }],
                files: Vec::new(),
            }],
            time_limit_s: 120,
            kernel_cmdline: None,
            needs: Needs {
                // What a shell command names by absolute path is packed as well.
                binaries: command
                    .iter()
                    .flat_map(|word| word.split_whitespace())
                    .filter(|word| word.starts_with("/usr/bin/"))
                    .chain(command.first().map(String::as_str))
                    .map(str::to_owned)
                    .collect(),
                ..Needs::default()
            },
        },
        host_time: now.as_secs_f64(),
    }
}
