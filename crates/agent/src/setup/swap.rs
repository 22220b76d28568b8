//! swap: on which devices the kernel swaps.
//!
//! `swap: off` ends swapping; `swap: {partitions: /dev/vdb, priority: 10}` swaps to these
//! devices alone, which are formatted for it; `vma_swap_readahead` is a switch of its own.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use patchmark_model::Setup;

use super::knob::Knob;
use super::{Applied, Refusal, Undo};
use crate::sys;

impl Applied<'_> {
    /// Applies a setup `swap`.
    pub(super) fn apply_swap(&mut self, setup: &Setup) -> Result<(), Refusal> {
        if let Some(switch) = setup.options.get("vma_swap_readahead") {
            let knob = Knob::new("/sys/kernel/mm/swap/vma_ra_enabled", switch);
            self.turn(&setup.program, &knob)?;
        }
        let is_off =
            setup.value.as_deref().is_some_and(|value| matches!(value, "off" | "0" | "no"));
        let partitions: Vec<PathBuf> = setup
            .options
            .get("partitions")
            .map(|list| list.split_ascii_whitespace().map(PathBuf::from).collect())
            .unwrap_or_default();
        if !is_off && partitions.is_empty() {
            return Err(Refusal::LeftOut(
                "this testbox has no swap partitions: name them in `partitions`".to_owned(),
            ));
        }
        self.end_all(&setup.program)?;
        let priority = setup.options.get("priority").and_then(|text| text.parse().ok());
        for device in partitions {
            format(&device).map_err(|error| refusal("formatting", &device, &error))?;
            on(&device, priority.unwrap_or(-1)).map_err(Refusal::Failed)?;
            self.undo.push((setup.program.clone(), Undo::SwapOff(device)));
        }
        Ok(())
    }

    fn end_all(&mut self, program: &str) -> Result<(), Refusal> {
        let swaps = self.place.text("/proc/swaps").unwrap_or_default();
        for (device, priority) in parse_swaps(&swaps) {
            let path = c_path(&device);
            let ended = path.and_then(|path| sys::swap_off(&path));
            ended.map_err(|error| refusal("ending swap on", &device, &error))?;
            self.undo.push((program.to_owned(), Undo::SwapOn { device, priority }));
        }
        Ok(())
    }
}

/// Lines of /proc/swaps: path, type, size, used, priority; a head line first.
fn parse_swaps(text: &str) -> Vec<(PathBuf, i32)> {
    let lines = text.lines().skip(1).map(|line| line.split_ascii_whitespace());
    lines
        .filter_map(|mut fields| {
            let device = PathBuf::from(fields.next()?);
            Some((device, fields.nth(3)?.parse().ok()?))
        })
        .collect()
}

/// Writes the header of a swap area of version 1 (`union swap_header`, include/linux/swap.h).
fn format(device: &Path) -> io::Result<()> {
    let page = rustix::param::page_size();
    let mut file = OpenOptions::new().write(true).open(device)?;
    let pages = length(&mut file)? / page as u64;
    let last = pages.checked_sub(1).filter(|last| *last > 0);
    let last = last.ok_or_else(|| io::Error::other("too small for swap"))?;
    let last = u32::try_from(last).unwrap_or(u32::MAX);
    let mut header = vec![0; 1024];
    header.extend_from_slice(&1u32.to_ne_bytes());
    header.extend_from_slice(&last.to_ne_bytes());
    header.resize(page - 10, 0);
    header.extend_from_slice(b"SWAPSPACE2");
    file.write_all_at(&header, 0)?;
    file.sync_all()
}

/// A device's metadata has no length; seeking to its end tells it.
fn length(file: &mut File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

pub(super) fn on(device: &Path, priority: i32) -> Result<(), String> {
    let priority = u16::try_from(priority).ok();
    c_path(device)
        .and_then(|path| sys::swap_on(&path, priority))
        .map_err(|error| format!("swapping to {}: {error}", device.display()))
}

pub(super) fn off(device: &Path) -> Result<(), String> {
    c_path(device)
        .and_then(|path| sys::swap_off(&path))
        .map_err(|error| format!("ending swap on {}: {error}", device.display()))
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn refusal(act: &str, device: &Path, error: &io::Error) -> Refusal {
    let why = format!("{act} {}: {error}", device.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied => Refusal::LeftOut(format!("{why}: run as root")),
        _ => Refusal::Failed(why),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, setup};
    use super::*;

    #[test]
    fn active_swap_is_read() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/zram0                              partition\t1048572\t\t0\t\t100\n\
                    /swapfile                               file\t\t2097148\t\t12\t\t-2\n";
        assert_eq!(
            parse_swaps(text),
            [(PathBuf::from("/dev/zram0"), 100), (PathBuf::from("/swapfile"), -2)]
        );
    }

    #[test]
    fn a_formatted_file_is_a_swap_area() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("swap");
        std::fs::write(&file, vec![0; 64 << 10]).unwrap();
        format(&file).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let page = rustix::param::page_size();
        assert_eq!(&bytes[page - 10..page], b"SWAPSPACE2");
        assert_eq!(bytes[1028..1032], ((64 << 10) / page as u32 - 1).to_ne_bytes());
        std::fs::write(&file, b"x").unwrap();
        assert!(format(&file).is_err());
    }

    #[test]
    fn without_partitions_it_is_left_out_and_off_is_fine_without_swap() {
        let (_root, place) = machine(&[("proc/swaps", "Filename Type Size Used Priority\n")]);
        let mut applied = Applied::new(&place);
        assert!(matches!(applied.apply(&setup("swap", None, &[])), Err(Refusal::LeftOut(_))));
        assert_eq!(applied.apply(&setup("swap", Some("off"), &[])), Ok(()));
    }
}
