//! A kernel's configuration: what its `.config` and its banner say of compiler and flavour.

/// The compiler axis from a `.config`: family and major version, `gcc-12`.
/// `CONFIG_GCC_VERSION` is 10000 * major + 100 * minor + patch (scripts/cc-version.sh).
pub(crate) fn compiler(config: &str) -> Option<String> {
    let value = |key: &str| {
        config.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(str::trim)
    };
    let number = |key: &str| value(key)?.parse::<u32>().ok().filter(|n| *n > 0);
    if let Some(version) = number("CONFIG_CLANG_VERSION") {
        return Some(format!("clang-{}", version / 10_000));
    }
    if let Some(version) = number("CONFIG_GCC_VERSION") {
        return Some(format!("gcc-{}", version / 10_000));
    }
    compiler_of_banner(value("CONFIG_CC_VERSION_TEXT")?.trim_matches('"'))
}

/// The compiler axis from a compiler's own version line or from `/proc/version`:
/// `gcc-12 (Debian 12.2.0-14) 12.2.0`, `Debian clang version 14.0.6`.
pub(crate) fn compiler_of_banner(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || "(),".contains(c)).collect();
    let family = |word: &str| {
        ["clang", "gcc"].into_iter().find(|name| {
            word == *name
                || word.ends_with(&format!("-{name}"))
                || word.contains(&format!("{name}-"))
        })
    };
    let at = words.iter().position(|word| family(word).is_some())?;
    let name = family(words.get(at)?)?;
    let major = |word: &&str| {
        let (digits, rest) = word.split_at(word.find(|c: char| !c.is_ascii_digit())?);
        (!digits.is_empty() && rest.starts_with('.')).then(|| digits.to_owned())
    };
    let tail = words.get(at)?.rsplit_once(&format!("{name}-")).map(|(_, tail)| tail.to_owned());
    let from_name = tail.filter(|tail| tail.chars().all(|c| c.is_ascii_digit()));
    let number = from_name.or_else(|| words.iter().skip(at + 1).find_map(major))?;
    Some(format!("{name}-{number}"))
}

/// The part of a release behind its version and build number: `cloud-amd64` of
/// `6.1.0-57-cloud-amd64`.
pub(crate) fn flavour(release: &str) -> Option<String> {
    let parts: Vec<&str> = release
        .split('-')
        .skip_while(|part| part.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    (!parts.is_empty()).then(|| parts.join("-"))
}

/// The `kconfig` axis of a configuration that has no name: its digest, shortened.
pub(crate) fn digest_name(config: &[u8]) -> String {
    let hex = blake3::hash(config).to_hex();
    format!("config-{}", hex.get(..12).unwrap_or(&hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_of_configs_and_banners() {
        let debian = "CONFIG_CC_VERSION_TEXT=\"gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0\"\n\
                      CONFIG_GCC_VERSION=120200\nCONFIG_CLANG_VERSION=0\n";
        assert_eq!(compiler(debian).as_deref(), Some("gcc-12"));
        assert_eq!(compiler("CONFIG_CLANG_VERSION=140006\n").as_deref(), Some("clang-14"));
        assert_eq!(
            compiler("CONFIG_CC_VERSION_TEXT=\"gcc (GCC) 13.2.1 20231205\"\n").as_deref(),
            Some("gcc-13")
        );
        assert_eq!(compiler("# CONFIG_X is not set\n"), None);
        for (banner, expected) in [
            ("Linux version 6.1.0 (a@b) (gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld 2.40)", "gcc-12"),
            ("Linux version 5.4 (x@y) (x86_64-linux-gnu-gcc (GCC) 9.3.0) #1", "gcc-9"),
            ("Linux version 6.9 (x@y) (Debian clang version 14.0.6, LLD 14.0.6)", "clang-14"),
        ] {
            assert_eq!(compiler_of_banner(banner).as_deref(), Some(expected), "{banner}");
        }
        assert_eq!(compiler_of_banner("tcc 0.9"), None);
    }

    #[test]
    fn flavours_of_releases() {
        for (release, expected) in [
            ("6.1.0-57-cloud-amd64", Some("cloud-amd64")),
            ("6.12.117+deb13-amd64", Some("amd64")),
            ("6.1.0-0.deb11.52-rt-amd64", Some("rt-amd64")),
            ("6.8.0-31-generic", Some("generic")),
            ("6.12.0", None),
        ] {
            assert_eq!(flavour(release).as_deref(), expected, "{release}");
        }
    }
}
