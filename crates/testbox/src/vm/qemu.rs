//! QEMU's command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use patchmark_model::Clock;

use super::options::VmOptions;

/// The name of the virtio port that the agent writes frames to.
const PORT: &str = "patchmark.0";
/// The serial line for the same frames, when the kernel has no virtio console.
const PORT_FALLBACK: &str = "ttyS1";

/// Where a guest's three ways out end on the host: named pipes in a private folder.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    /// The console, `ttyS0`.
    pub(super) console: PathBuf,
    /// The virtio port.
    pub(super) port: PathBuf,
    /// The second serial line.
    pub(super) serial: PathBuf,
}

impl Channels {
    pub(super) fn in_folder(folder: &Path) -> Channels {
        Channels {
            console: folder.join("console"),
            port: folder.join("port"),
            serial: folder.join("serial"),
        }
    }
}

/// All arguments behind the program's name.
pub(super) fn arguments(
    options: &VmOptions,
    kernel: &Path,
    initrd: &Path,
    job_cmdline: Option<&str>,
    channels: &Channels,
) -> Vec<OsString> {
    let mut line = CommandLine::default();
    line.words("-nodefaults -no-user-config -no-reboot -display none -vga none -monitor none");
    match options.clock {
        // No CPU of the host is emulated here: the guest sees what there is.
        Clock::Kvm | Clock::Real => line.words("-machine q35 -accel kvm -cpu host"),
        Clock::Tcg => line.words("-machine q35 -accel tcg -cpu max"),
        // One instruction is 2^3 ns. `sleep=on`: an idle guest waits for real, so that its
        // clock does not leap while the host writes what it sent. A string instruction counts
        // once per iteration, and whether a kernel uses `rep stosb` for a page depends on its
        // version; without these two features it never does, and clearing memory weighs about
        // what it does on hardware.
        Clock::Icount => {
            line.words("-machine q35 -accel tcg -cpu max,-erms,-fsrm");
            line.words("-icount shift=3,align=off,sleep=on");
        }
    }
    line.words(&format!("-smp {} -m {}M", options.cpus, options.memory >> 20));
    numa_topology(options, &mut line);
    for (id, path) in
        [("console", &channels.console), ("serial", &channels.serial), ("port", &channels.port)]
    {
        line.option("-chardev", &format!("file,id={id},path="), path);
    }
    line.words("-serial chardev:console -serial chardev:serial");
    line.words(&format!(
        "-device virtio-serial-pci -device virtserialport,chardev=port,name={PORT}"
    ));
    line.option("-kernel", "", kernel);
    line.option("-initrd", "", initrd);
    line.0.push("-append".into());
    line.0.push(kernel_cmdline(options, job_cmdline).into());
    line.0
}

/// The kernel's command line: ours, the testbox's, the job's; the kernel lets the last win.
pub(super) fn kernel_cmdline(options: &VmOptions, job: Option<&str>) -> String {
    // panic=-1 with -no-reboot ends QEMU at once. Console lines cost emulated port writes.
    // The kernel's own tests of ciphers go on long after user space has begun: on one CPU they
    // would share it with the workload, and newer kernels have more of them.
    let mut line =
        format!("console=ttyS0 panic=-1 quiet patchmark.port={PORT_FALLBACK} cryptomgr.notests");
    if options.clock != Clock::Kvm {
        // Emulated timers and counters pass the checks that these skip.
        line.push_str(" no_timer_check tsc=reliable");
    }
    for more in [options.cmdline.as_str(), job.unwrap_or_default()] {
        if !more.trim().is_empty() {
            line.push(' ');
            line.push_str(more.trim());
        }
    }
    line
}

/// Splits CPUs and memory evenly; the first nodes get what is over.
fn numa_topology(options: &VmOptions, line: &mut CommandLine) {
    let nodes = options.numa_nodes;
    if nodes < 2 {
        return;
    }
    let memory = (options.memory >> 20) / u64::from(nodes);
    let mut first = 0;
    for node in 0..nodes {
        let count = options.cpus / nodes + u32::from(node < options.cpus % nodes);
        let last = first + count.max(1) - 1;
        line.words(&format!("-object memory-backend-ram,id=node{node},size={memory}M"));
        line.words(&format!("-numa node,nodeid={node},cpus={first}-{last},memdev=node{node}"));
        first = last + 1;
    }
}

#[derive(Debug, Default)]
struct CommandLine(Vec<OsString>);

impl CommandLine {
    fn words(&mut self, words: &str) {
        self.0.extend(words.split(' ').map(OsString::from));
    }

    /// An option whose value ends in a path; QEMU reads a doubled comma as a comma.
    fn option(&mut self, name: &str, head: &str, path: &Path) {
        self.0.push(name.into());
        let mut value = OsString::from(head);
        if head.is_empty() {
            value.push(path);
        } else {
            value.push(path.to_string_lossy().replace(',', ",,"));
        }
        self.0.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(change: impl Fn(&mut VmOptions)) -> String {
        let mut options = VmOptions::new(Clock::Icount, "/cache");
        change(&mut options);
        let channels = Channels::in_folder(Path::new("/tmp/a,b"));
        let arguments =
            arguments(&options, Path::new("/k/vmlinuz"), Path::new("/i"), Some("job=1"), &channels);
        let words: Vec<String> =
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ").replace(" -", "\n-")
    }

    #[test]
    fn icount() {
        insta::assert_snapshot!(line(|_| ()));
    }

    #[test]
    fn kvm_with_nodes() {
        insta::assert_snapshot!(line(|options| {
            options.clock = Clock::Kvm;
            (options.cpus, options.numa_nodes) = (5, 2);
            options.cmdline = "init_on_alloc=0".to_owned();
        }));
    }

    #[test]
    fn tcg() {
        insta::assert_snapshot!(line(|options| {
            options.clock = Clock::Tcg;
            options.cpus = 2;
        }));
    }
}
