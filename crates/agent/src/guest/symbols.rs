//! The kernel's symbols for perf, thinned out.
//!
//! perf reads /proc/kallsyms from start to end several times before it records and again for
//! its report, and the kernel unpacks and prints each of some 200,000 lines anew each time. In an
//! emulated guest that takes longer than most workloads run. A profile needs the code's symbols
//! only, a third of them: they are written to a file once, which then hides the original.

use std::fs;
use std::path::Path;

const KALLSYMS: &str = "/proc/kallsyms";
const COPY: &str = "/run/kallsyms";

/// Puts the thinned copy in the original's place.
pub(super) fn thin_out() -> Result<(), String> {
    // Addresses show only when they are not restricted.
    let _ = fs::write("/proc/sys/kernel/kptr_restrict", "0");
    let all = fs::read(KALLSYMS).map_err(|error| format!("{KALLSYMS}: {error}"))?;
    let code = code_symbols(&all);
    if code.is_empty() {
        return Err(format!("{KALLSYMS} shows no code"));
    }
    fs::write(COPY, code).map_err(|error| format!("{COPY}: {error}"))?;
    rustix::mount::mount_bind(Path::new(COPY), Path::new(KALLSYMS))
        .map_err(|error| format!("{COPY} could not be mounted on {KALLSYMS}: {error}"))
}

/// The lines `address type name [module]` whose type is code, and the marks by which perf finds
/// the kernel's start and end.
fn code_symbols(all: &[u8]) -> Vec<u8> {
    let mut code = Vec::with_capacity(all.len() / 2);
    for line in all.split_inclusive(|byte| *byte == b'\n') {
        let mut fields = line.split(|byte| *byte == b' ');
        let kind = fields.nth(1).unwrap_or_default();
        let name = fields.next().unwrap_or_default().trim_ascii_end();
        if matches!(kind, b"t" | b"T" | b"w" | b"W") || name == b"_edata" {
            code.extend_from_slice(line);
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_and_data_goes() {
        let all = b"0000000000000000 A fixed_percpu_data\n\
ffffffff81000000 T _stext\n\
ffffffff81000010 t do_one\n\
ffffffff82000000 r __ksymtab_x\n\
ffffffff82000000 D _edata\n\
ffffffffc0000000 t unix_x\t[unix]\n";
        let code = String::from_utf8(code_symbols(all)).unwrap();
        assert_eq!(
            code,
            "ffffffff81000000 T _stext\nffffffff81000010 t do_one\nffffffff82000000 D _edata\n\
             ffffffffc0000000 t unix_x\t[unix]\n"
        );
    }
}
