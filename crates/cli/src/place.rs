//! The places a command works with: the store's folder, the kernels' cache.

use std::path::{Path, PathBuf};
use std::time::Duration;

use patchmark_kernel::{FetchEvent, KernelCache, KernelError, KernelSpec, distinct_labels};
use patchmark_lab::now;
use patchmark_model::{Clock, KernelArtefacts};
use patchmark_store::{Store, StoreError};
use patchmark_testbox::{
    Cancel, LocalTestbox, Testbox, TestboxError, VmOptions, VmTestbox, probe_kvm, remembered_kvm,
};

use crate::args::{ClockArg, Global, TestboxArgs, TestboxName};
use crate::exit::Trouble;
use crate::progress::Display;

/// Memory of a VM when nothing is said.
const DEFAULT_MEMORY: u64 = 1 << 30;

/// The folder of results, kernels and caches.
pub fn store_folder(global: &Global) -> Result<PathBuf, Trouble> {
    if let Some(folder) = &global.store {
        return Ok(folder.clone());
    }
    let from =
        |variable: &str| std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
    from("XDG_DATA_HOME")
        .or_else(|| from("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("patchmark"))
        .ok_or_else(|| {
            Trouble::usage(anyhow::anyhow!("neither HOME nor XDG_DATA_HOME is set"))
                .hint("name a folder for results: --store DIR")
        })
}

/// The store, to write.
pub fn open_store(global: &Global) -> Result<Store, Trouble> {
    Store::open(&store_folder(global)?, now()).map_err(store_trouble)
}

/// The store, to read. A store that is not there yet is made, so that reading an empty one is no
/// error.
pub fn open_store_read_only(global: &Global) -> Result<Store, Trouble> {
    let folder = store_folder(global)?;
    if folder.join("patchmark.sqlite").exists() {
        Store::open_read_only(&folder).map_err(store_trouble)
    } else {
        open_store(global)
    }
}

/// Fetches or finds kernels; their labels tell them apart.
pub fn kernels(
    specs: &[String],
    global: &Global,
    display: &Display,
) -> Result<Vec<KernelArtefacts>, Trouble> {
    let cache = KernelCache::new(store_folder(global)?.join("kernels"));
    let mut kernels = Vec::new();
    for text in specs {
        let spec = match KernelSpec::parse(text) {
            Ok(spec) => spec,
            Err(error) => match known_kernel(text, global)? {
                Some(kernel) => {
                    kernels.push(kernel);
                    continue;
                }
                None => return Err(kernel_trouble(error)),
            },
        };
        let mut hear = |event| tell_fetch(text, event, display);
        kernels.push(cache.resolve(&spec, &mut hear).map_err(kernel_trouble)?);
    }
    distinct_labels(&mut kernels);
    display.fetch_done();
    Ok(kernels)
}

/// A kernel that the store has results of, by its label: how a kernel that ran on the local
/// testbox is named after another one was booted.
fn known_kernel(label: &str, global: &Global) -> Result<Option<KernelArtefacts>, Trouble> {
    let kernels = open_store_read_only(global)?.kernels().map_err(store_trouble)?;
    Ok(kernels.into_iter().find(|kernel| kernel.id.label == label))
}

fn tell_fetch(spec: &str, event: FetchEvent, display: &Display) {
    match event {
        FetchEvent::Waiting => {
            display.note(&format!("{spec}: waiting for another process that fetches"))
        }
        FetchEvent::RefreshingLists => display.fetching(&format!("{spec}: fetch: package lists")),
        FetchEvent::Downloading { package, version, done, total } => display.fetching(&format!(
            "{spec}: fetch: {package} {version}, {} of {} MB",
            done / 1_000_000,
            total / 1_000_000
        )),
        FetchEvent::Unpacking { package } => {
            display.fetching(&format!("{spec}: unpack: {package}"))
        }
        FetchEvent::Hashing => display.fetching(&format!("{spec}: hash")),
        FetchEvent::Note(text) => display.note(&format!("{spec}: {text}")),
        FetchEvent::Ready { release, cached } => {
            let how = if cached { "is here" } else { "fetched" };
            display.note(&format!("{spec}: {release} {how}"));
        }
    }
}

/// How an error of the store ends the program.
pub fn store_trouble(error: StoreError) -> Trouble {
    match error {
        StoreError::NoRun(_) | StoreError::NoComparison(_) | StoreError::Misuse(_) => {
            Trouble::usage(error)
        }
        other => Trouble::infrastructure(other),
    }
}

/// How an error of a kernel ends the program.
pub fn kernel_trouble(error: KernelError) -> Trouble {
    match error {
        KernelError::Spec { .. }
        | KernelError::UnknownPackage { .. }
        | KernelError::UnknownVersion { .. }
        | KernelError::NoKernel { .. }
        | KernelError::Image { .. } => Trouble::usage(error),
        other => Trouble::infrastructure(other),
    }
}

/// The testbox that the options ask for. `kernels` serve to find out whether KVM works.
pub fn testbox(
    args: &TestboxArgs,
    kernels: &[KernelArtefacts],
    global: &Global,
    display: &Display,
) -> Result<Box<dyn Testbox>, Trouble> {
    if args.testbox == TestboxName::Local {
        if let Some(option) = vm_only(args) {
            return Err(Trouble::usage(anyhow::anyhow!(
                "{option} is for VMs; the local testbox is this machine as it is"
            )));
        }
        return Ok(Box::new(LocalTestbox::new().map_err(testbox_trouble)?));
    }
    let cache = store_folder(global)?.join("cache");
    let clock = match args.clock {
        ClockArg::Kvm => Clock::Kvm,
        ClockArg::Tcg => Clock::Tcg,
        ClockArg::Icount => Clock::Icount,
        ClockArg::Auto => choose_clock(kernels, &cache, display)?,
    };
    let mut options = VmOptions::new(clock, cache);
    options.cpus = args.cpus.unwrap_or(if clock == Clock::Icount { 1 } else { 2 });
    options.memory = args.memory.unwrap_or(DEFAULT_MEMORY);
    options.numa_nodes = args.numa_nodes;
    options.pin = args.pin.iter().flat_map(|list| &list.0).map(|cpu| *cpu as usize).collect();
    options.limits.boot = Duration::from_secs(args.boot_timeout);
    options.limits.total = args.run_timeout.map(Duration::from_secs);
    Ok(Box::new(VmTestbox::new(options).map_err(testbox_trouble)?))
}

/// An option that was given and that means nothing on the local testbox.
fn vm_only(args: &TestboxArgs) -> Option<&'static str> {
    let given = [
        ("--clock", args.clock != ClockArg::Auto),
        ("--cpus", args.cpus.is_some()),
        ("--memory", args.memory.is_some()),
        ("--numa-nodes", args.numa_nodes != 1),
        ("--pin", args.pin.is_some()),
        ("--run-timeout", args.run_timeout.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
}

/// kvm where a kernel really boots under it, else icount.
fn choose_clock(
    kernels: &[KernelArtefacts],
    cache: &Path,
    display: &Display,
) -> Result<Clock, Trouble> {
    let Some(image) = kernels.iter().find_map(|kernel| kernel.image.as_ref()) else {
        return Ok(Clock::Icount);
    };
    display.fetching("does a kernel boot under KVM here? (20 s at most, asked once)");
    let probe = probe_kvm(&VmOptions::new(Clock::Kvm, cache).qemu, image, cache, &Cancel::new())
        .map_err(testbox_trouble)?;
    display.fetch_done();
    if probe.usable {
        return Ok(Clock::Kvm);
    }
    display.note(&format!("icount clock, because KVM does not work here: {}", probe.why));
    Ok(Clock::Icount)
}

/// Boots a kernel under KVM, for `doctor`.
pub fn probe(kernel: &str, global: &Global) -> Result<Result<(), String>, Trouble> {
    let display = Display::new(global.quiet);
    let kernels = kernels(&[kernel.to_owned()], global, &display)?;
    let Some(image) = kernels.iter().find_map(|kernel| kernel.image.as_ref()) else {
        return Err(Trouble::usage(anyhow::anyhow!("{kernel} has no image to boot")));
    };
    let cache = store_folder(global)?.join("cache");
    let qemu = VmOptions::new(Clock::Kvm, &cache).qemu;
    let probe = probe_kvm(&qemu, image, &cache, &Cancel::new()).map_err(testbox_trouble)?;
    Ok(if probe.usable { Ok(()) } else { Err(probe.why) })
}

/// The answer of an earlier probe, if it still holds.
pub fn remembered_probe(global: &Global) -> Result<Option<Result<(), String>>, Trouble> {
    let cache = store_folder(global)?.join("cache");
    let qemu = VmOptions::new(Clock::Kvm, &cache).qemu;
    let probe = remembered_kvm(&qemu, &cache);
    Ok(probe.map(|probe| if probe.usable { Ok(()) } else { Err(probe.why) }))
}

/// How an error of a testbox ends the program.
pub fn testbox_trouble(error: TestboxError) -> Trouble {
    match error {
        TestboxError::Options(_)
        | TestboxError::NoImage { .. }
        | TestboxError::NotRunning { .. }
        | TestboxError::MemoryTooSmall { .. } => Trouble::usage(error),
        other => Trouble::infrastructure(other),
    }
}
