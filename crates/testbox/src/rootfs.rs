//! The name of the host's user space.

/// `debian-12` from `/etc/os-release` (os-release(5)); `linux` when that says nothing.
pub(crate) fn host_rootfs() -> String {
    let text = ["/etc/os-release", "/usr/lib/os-release"]
        .iter()
        .find_map(|path| fs_err::read_to_string(path).ok())
        .unwrap_or_default();
    name(&text)
}

fn name(os_release: &str) -> String {
    let field = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let value = line.unwrap_or_default().trim().trim_matches(['"', '\'']);
        let plain = |c: &char| c.is_ascii_alphanumeric() || ".-_".contains(*c);
        value.chars().filter(plain).collect::<String>()
    };
    let (id, version) = (field("ID"), field("VERSION_ID"));
    match (id.as_str(), version.as_str()) {
        ("", _) => "linux".to_owned(),
        (id, "") => id.to_owned(),
        (id, version) => format!("{id}-{version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_id_and_version() {
        assert_eq!(name("NAME=\"Debian\"\nVERSION_ID=\"12\"\nID=debian\n"), "debian-12");
        assert_eq!(name("ID=arch\n"), "arch");
        assert_eq!(name(""), "linux");
        assert_eq!(name("ID=\"a/b c\"\n"), "abc");
    }
}
