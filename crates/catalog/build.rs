//! Embeds `catalog/` in the binary: every file of it becomes an `include_str!`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?);
    let data = root.join("../../catalog").canonicalize()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    println!("cargo::rerun-if-changed={}", data.display());

    let mut list = String::from("pub(crate) const FILES: &[(&str, &str)] = &[\n");
    for file in sorted_files(&data)? {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _ = writeln!(list, "    ({name:?}, include_str!({:?})),", file.display().to_string());
    }
    list.push_str("];\n");
    fs::write(out.join("embedded.rs"), list)
}

fn sorted_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let kind = path.extension().and_then(|extension| extension.to_str());
        if matches!(kind, Some("yaml" | "txt")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
