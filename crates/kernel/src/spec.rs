//! What a person writes to name a kernel.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::KernelError;

/// A kernel as named on a command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KernelSpec {
    /// `deb:...`: a distribution's kernel package.
    Deb(DebSelector),
    /// `image:PATH[,modules=DIR][,config=FILE][,label=NAME]`: files of one's own.
    Image {
        /// The bzImage, or the top folder of a build tree.
        path: PathBuf,
        /// The folder with `modules.dep`, or one that has `lib/modules/RELEASE` in it.
        modules: Option<PathBuf>,
        /// The `.config` it was built from.
        config: Option<PathBuf>,
        /// What to call it in tables instead of its release.
        label: Option<String>,
    },
    /// `running`: the kernel this machine runs.
    Running,
}

/// Which package.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DebSelector {
    /// `deb:PACKAGE[=VERSION]`; without a version the newest one of all suites.
    Package {
        /// The package's name.
        name: String,
        /// The version, whole: `6.1.192-3`.
        version: Option<String>,
    },
    /// `deb:6.1`, `deb:6.1-amd64`, `deb:6.1.0-57`: the newest `linux-image` package whose release
    /// begins so.
    Series {
        /// The beginning of the release: `6.1`, `6.12.117+deb13`.
        prefix: String,
        /// `cloud-amd64` unless told otherwise: `amd64`, `rt-amd64`.
        flavour: String,
    },
}

/// The flavour of a series when none is named: small, boots fast, has the virtio drivers.
const DEFAULT_FLAVOUR: &str = "cloud-amd64";
const FLAVOURS: [(&str, &str); 5] = [
    ("-cloud-amd64", "cloud-amd64"),
    ("-rt-amd64", "rt-amd64"),
    ("-amd64", "amd64"),
    ("-cloud", "cloud-amd64"),
    ("-rt", "rt-amd64"),
];
const POSSIBLE: &str = "possible are deb:6.1 (the newest cloud kernel of a series), \
     deb:PACKAGE[=VERSION], image:PATH[,modules=DIR][,config=FILE], running";

impl KernelSpec {
    /// Reads a spec. Errors say what is possible.
    pub fn parse(text: &str) -> Result<Self, KernelError> {
        let error = |why: String| KernelError::Spec { spec: text.escape_debug().to_string(), why };
        if text.chars().any(char::is_control) {
            return Err(error("it has control characters in it".to_owned()));
        }
        if text == "running" {
            return Ok(KernelSpec::Running);
        }
        match text.split_once(':') {
            Some(("deb", rest)) => DebSelector::parse(rest).map(KernelSpec::Deb).map_err(error),
            Some(("image", rest)) => parse_image(rest).map_err(error),
            _ => Err(error(explain_unknown(text))),
        }
    }
}

impl DebSelector {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err(format!("a package or a series is missing; {POSSIBLE}"));
        }
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return Self::parse_series(text);
        }
        let (name, version) = match text.split_once('=') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let name_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
        let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !starts_well || !name.chars().all(name_char) {
            return Err(format!(
                "`{name}` is no package name: lower-case letters, digits and + - . only"
            ));
        }
        let version_char = |c: char| c.is_ascii_alphanumeric() || "+-.~:".contains(c);
        if version.is_some_and(|v| {
            !v.starts_with(|c: char| c.is_ascii_digit()) || !v.chars().all(version_char)
        }) {
            return Err("behind `=` stands a whole version as apt shows it: 6.1.192-3".to_owned());
        }
        Ok(DebSelector::Package { name: name.to_owned(), version: version.map(str::to_owned) })
    }

    fn parse_series(text: &str) -> Result<Self, String> {
        let (prefix, flavour) = FLAVOURS
            .iter()
            .find_map(|(suffix, flavour)| Some((text.strip_suffix(suffix)?, *flavour)))
            .unwrap_or((text, DEFAULT_FLAVOUR));
        let release_char = |c: char| c.is_ascii_alphanumeric() || "+-.~".contains(c);
        let whole_number = prefix.split(['.', '-', '+']).next().unwrap_or_default();
        if !prefix.chars().all(release_char)
            || !whole_number.chars().all(|c| c.is_ascii_digit())
            || prefix.ends_with(['.', '-', '+'])
        {
            return Err(format!(
                "`{text}` is no series: 6.1, 6.12-cloud, 6.1-amd64, 6.1-rt or a release such as \
                 6.1.0-57-cloud-amd64"
            ));
        }
        Ok(DebSelector::Series { prefix: prefix.to_owned(), flavour: flavour.to_owned() })
    }
}

fn parse_image(text: &str) -> Result<KernelSpec, String> {
    let mut parts = text.split(',');
    let path = parts.next().unwrap_or_default();
    if path.is_empty() {
        return Err("a path is missing: image:PATH[,modules=DIR][,config=FILE]".to_owned());
    }
    let (mut modules, mut config, mut label) = (None, None, None);
    for part in parts {
        match part.split_once('=') {
            Some((_, "")) => return Err(format!("`{part}` has no value")),
            Some(("modules", dir)) => modules = Some(PathBuf::from(dir)),
            Some(("config", file)) => config = Some(PathBuf::from(file)),
            Some(("label", name)) => label = Some(name.to_owned()),
            _ => {
                return Err(format!(
                    "`{part}` is no option of an image: modules=DIR, config=FILE, label=NAME"
                ));
            }
        }
    }
    Ok(KernelSpec::Image { path: PathBuf::from(path), modules, config, label })
}

/// Why a text without a known scheme is refused, with the most likely mending first.
fn explain_unknown(text: &str) -> String {
    if text.is_empty() {
        return format!("it is empty; {POSSIBLE}");
    }
    if text.starts_with("linux-image") {
        return format!("write deb:{text}");
    }
    let lower = text.to_ascii_lowercase();
    if text.contains('/') || ["bzimage", "vmlinuz", "vmlinux"].iter().any(|n| lower.contains(n)) {
        return format!("write image:{text} if it is a file");
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('.') {
        return format!("write deb:{text} for a distribution's kernel");
    }
    format!(
        "it would be a revision of a git tree, and kernels are not built from a tree yet; \
         {POSSIBLE}. Build the revision with `make bzImage modules` and name it with image:"
    )
}

impl FromStr for KernelSpec {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        KernelSpec::parse(text)
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelSpec::Running => f.write_str("running"),
            KernelSpec::Deb(selector) => write!(f, "deb:{selector}"),
            KernelSpec::Image { path, modules, config, label } => {
                write!(f, "image:{}", path.display())?;
                if let Some(dir) = modules {
                    write!(f, ",modules={}", dir.display())?;
                }
                if let Some(file) = config {
                    write!(f, ",config={}", file.display())?;
                }
                label.as_ref().map_or(Ok(()), |name| write!(f, ",label={name}"))
            }
        }
    }
}

impl fmt::Display for DebSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DebSelector::Package { name, version: None } => f.write_str(name),
            DebSelector::Package { name, version: Some(version) } => write!(f, "{name}={version}"),
            DebSelector::Series { prefix, flavour } => write!(f, "{prefix}-{flavour}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(prefix: &str, flavour: &str) -> KernelSpec {
        KernelSpec::Deb(DebSelector::Series { prefix: prefix.into(), flavour: flavour.into() })
    }

    #[test]
    fn packages_series_images_and_the_running_kernel() {
        assert_eq!(
            KernelSpec::parse("deb:linux-image-6.1.0-57-cloud-amd64=6.1.192-3").unwrap(),
            KernelSpec::Deb(DebSelector::Package {
                name: "linux-image-6.1.0-57-cloud-amd64".into(),
                version: Some("6.1.192-3".into())
            })
        );
        assert_eq!(KernelSpec::parse("deb:6.1").unwrap(), series("6.1", "cloud-amd64"));
        assert_eq!(KernelSpec::parse("deb:6.12-amd64").unwrap(), series("6.12", "amd64"));
        assert_eq!(KernelSpec::parse("deb:6.1-rt").unwrap(), series("6.1", "rt-amd64"));
        assert_eq!(
            KernelSpec::parse("deb:6.12.117+deb13-cloud-amd64").unwrap(),
            series("6.12.117+deb13", "cloud-amd64")
        );
        assert_eq!(KernelSpec::parse("running").unwrap(), KernelSpec::Running);
        assert_eq!(
            KernelSpec::parse("image:/b/bzImage,modules=/m,label=mine").unwrap(),
            KernelSpec::Image {
                path: "/b/bzImage".into(),
                modules: Some("/m".into()),
                config: None,
                label: Some("mine".into())
            }
        );
    }

    #[test]
    fn refusals_say_what_to_write() {
        for (text, hint) in [
            ("", "it is empty"),
            ("v6.12", "not built from a tree yet"),
            ("HEAD~3", "deb:PACKAGE[=VERSION]"),
            ("linux-image-6.1.0-57-amd64", "write deb:linux-image-6.1.0-57-amd64"),
            ("6.1", "write deb:6.1"),
            ("./arch/x86/boot/bzImage", "write image:./arch"),
            ("deb:", "missing"),
            ("deb:Linux_Image", "no package name"),
            ("deb:linux-image-x=", "whole version"),
            ("deb:6.1.", "no series"),
            ("deb:6x", "no series"),
            ("image:", "path is missing"),
            ("image:/x,module=/y", "no option"),
            ("image:/x,modules=", "no value"),
            ("deb:a\nb", "control characters"),
        ] {
            let message = KernelSpec::parse(text).unwrap_err().to_string();
            assert!(message.contains(hint), "{text:?}: {message}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(text in "(deb:|image:)?[a-z0-9.+=~,/-]{0,30}") {
            if let Ok(spec) = KernelSpec::parse(&text) {
                prop_assert_eq!(KernelSpec::parse(&spec.to_string()).unwrap(), spec);
            }
        }

        #[test]
        fn any_text_is_taken_without_panic(text in ".{0,40}") {
            let _ = KernelSpec::parse(&text);
            let _ = KernelSpec::parse(&format!("deb:{text}"));
            let _ = KernelSpec::parse(&format!("image:{text}"));
        }
    }
}
