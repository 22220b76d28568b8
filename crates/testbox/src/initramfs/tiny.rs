//! An `/init` of a few instructions, to see whether a kernel reaches user space at all.

const LOAD_ADDRESS: u64 = 0x40_0000;
const HEADERS: u64 = 64 + 56;
const TEXT: &[u8] = b"patchmark: init 0\n";

/// A static x86-64 program that prints the agent's marker and exits, whereupon the kernel
/// panics for want of an init: elf(5) and the x86-64 System V ABI.
pub(crate) fn tiny_init() -> Vec<u8> {
    let code = code();
    let length = HEADERS + code.len() as u64;
    let mut program = Vec::new();
    program.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // Executable, x86-64, version, entry, program headers at 64, no sections.
    program.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    program.extend((LOAD_ADDRESS + HEADERS).to_le_bytes());
    program.extend(64_u64.to_le_bytes());
    program.extend([0; 12]);
    for half in [64_u16, 56, 1, 64, 0, 0] {
        program.extend(half.to_le_bytes());
    }
    // One segment: the whole file, readable and executable.
    program.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for word in [0, LOAD_ADDRESS, LOAD_ADDRESS, length, length, 0x1000] {
        program.extend(word.to_le_bytes());
    }
    program.extend(code);
    program
}

fn code() -> Vec<u8> {
    let mut code = Vec::new();
    code.extend([0xb8, 1, 0, 0, 0]); // mov eax, write
    code.extend([0xbf, 1, 0, 0, 0]); // mov edi, 1
    code.extend([0x48, 0x8d, 0x35, 16, 0, 0, 0]); // lea rsi, [rip + 16]: TEXT
    code.extend([0xba, TEXT.len() as u8, 0, 0, 0]); // mov edx, length
    code.extend([0x0f, 0x05]); // syscall
    code.extend([0xb8, 60, 0, 0, 0]); // mov eax, exit
    code.extend([0x31, 0xff]); // xor edi, edi
    code.extend([0x0f, 0x05]); // syscall
    code.extend(TEXT);
    code
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn it_prints_the_marker_and_exits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("init");
        fs_err::write(&path, tiny_init()).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new(&path).output().unwrap();
        assert_eq!(output.stdout, TEXT);
        assert!(output.status.success());
    }
}
