//! A package as apt's lists describe it.

use crate::deb822::Stanza;

/// One version of one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) architecture: String,
    pub(crate) maintainer: String,
    /// Bytes to fetch.
    pub(crate) size: u64,
    /// What it depends on: names with the exact version if one is asked for. Alternatives
    /// (`a | b`) are left out: kernel packages name their parts without any.
    pub(crate) depends: Vec<(String, Option<String>)>,
}

impl Package {
    /// Reads a stanza of `apt-cache show`; `None` if it is not a package's.
    pub(crate) fn from_stanza(stanza: &Stanza) -> Option<Self> {
        let text = |field: &str| stanza.get(field).unwrap_or_default().to_owned();
        let depends = format!("{},{}", text("Depends"), text("Pre-Depends"));
        Some(Package {
            name: stanza.get("Package")?.to_owned(),
            version: stanza.get("Version")?.to_owned(),
            architecture: text("Architecture"),
            maintainer: text("Maintainer"),
            size: text("Size").parse().unwrap_or(0),
            depends: depends.split(',').filter_map(parse_dependency).collect(),
        })
    }

    /// The distribution whose kernel team made it, for the name of its configuration.
    pub(crate) fn vendor(&self) -> &'static str {
        let maintainer = self.maintainer.to_ascii_lowercase();
        if maintainer.contains("ubuntu") || maintainer.contains("canonical") {
            "ubuntu"
        } else if maintainer.contains("debian") {
            "debian"
        } else {
            "deb"
        }
    }

    /// Whether a dependency is a part of the same kernel: `linux-image-`, `linux-binary-`,
    /// `linux-modules-` or `linux-base-` of a release or flavour. Programs such as `linux-base`
    /// itself and `kmod` are not.
    pub(crate) fn kernel_parts(&self) -> impl Iterator<Item = &(String, Option<String>)> {
        const PARTS: [&str; 4] = ["linux-image-", "linux-binary-", "linux-modules-", "linux-base-"];
        self.depends.iter().filter(|(name, _)| PARTS.iter().any(|part| name.starts_with(part)))
    }
}

/// Reads `name:arch (= version)`.
fn parse_dependency(text: &str) -> Option<(String, Option<String>)> {
    let text = text.trim();
    if text.is_empty() || text.contains('|') {
        return None;
    }
    let name = text.split([' ', '(', ':']).next()?.to_owned();
    let version = text
        .split_once("(=")
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(version, _)| version.trim().to_owned());
    Some((name, version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deb822;

    #[test]
    fn parts_of_a_split_kernel_are_told_from_programs() {
        let text = "Package: linux-image-7.0-cloud-amd64\nVersion: 7.0-1\nArchitecture: amd64\n\
            Maintainer: Debian Kernel Team <k@x>\nSize: 19\nDepends: dracut | initramfs-tools, \
            kmod, linux-binary-7.0-cloud-amd64 (= 7.0-1), linux-modules-7.0-cloud-amd64\n\
            Pre-Depends: linux-base (>= 4.17~)\n";
        let package = Package::from_stanza(&deb822::parse(text)[0]).unwrap();
        let parts: Vec<_> = package.kernel_parts().cloned().collect();
        assert_eq!(
            parts,
            [
                ("linux-binary-7.0-cloud-amd64".to_owned(), Some("7.0-1".to_owned())),
                ("linux-modules-7.0-cloud-amd64".to_owned(), None),
            ]
        );
        assert_eq!((package.size, package.vendor()), (19, "debian"));
    }
}
