//! Where packages come from: the machine's own apt sources, and the further suites of the same
//! mirrors that hold other kernels.

use std::path::Path;

use crate::KernelError;
use crate::deb822::{self, Stanza};
use crate::error::AtPath;

/// Debian releases whose suites are tried on a Debian mirror, oldest first.
const RELEASES: [&str; 3] = ["bullseye", "bookworm", "trixie"];
const UNSTABLE: &str = "sid";

/// apt sources in two parts, both in deb822 format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AptSources {
    /// The machine's own suites and the small ones (security, backports) of every release: the
    /// newest kernel of most series is here, and they are fetched in a few seconds.
    pub near: String,
    /// The main suites of the other releases: fetched only when `near` hasn't got a package.
    pub far: String,
}

impl AptSources {
    /// Derives the sources from an apt settings folder (`/etc/apt`): `sources.list` and
    /// `sources.list.d/*.{list,sources}`, keyrings kept.
    pub fn of_machine(etc_apt: &Path) -> Result<Self, KernelError> {
        let mut own = Vec::new();
        let list = etc_apt.join("sources.list");
        if list.is_file() {
            own.extend(parse_list(&read(&list)?));
        }
        for path in parts(&etc_apt.join("sources.list.d"))? {
            let text = read(&path)?;
            match path.extension().and_then(|e| e.to_str()) {
                Some("list") => own.extend(parse_list(&text)),
                Some("sources") => own.extend(parse_sources(&text)),
                _ => {}
            }
        }
        if own.is_empty() {
            let detail = format!("{} names no package sources", etc_apt.display());
            return Err(KernelError::NoLists { detail });
        }
        Ok(Self::derive(own))
    }

    /// Sources from stanzas of the machine.
    fn derive(own: Vec<Stanza>) -> Self {
        let known: Vec<(String, String)> = own.iter().flat_map(uri_suites).collect();
        let (mut near, mut far) = (Vec::new(), Vec::new());
        let mut seen = Vec::new();
        for source in own.iter().filter(|s| holds_debian(s)) {
            for uri in source.words("URIs") {
                if seen.contains(&uri) {
                    continue;
                }
                seen.push(uri.clone());
                let is_security = source.words("Suites").iter().any(|s| is_security_suite(s));
                let new = |suites: Vec<String>| {
                    let suites = suites
                        .into_iter()
                        .filter(|suite| !known.contains(&(uri.clone(), suite.clone())));
                    further(source, &uri, &suites.collect::<Vec<_>>())
                };
                if is_security {
                    let suites = RELEASES.iter().map(|release| format!("{release}-security"));
                    near.extend(new(suites.collect()));
                } else {
                    let backports = RELEASES.iter().map(|release| format!("{release}-backports"));
                    near.extend(new(backports.collect()));
                    let main = RELEASES.iter().chain([&UNSTABLE]).map(|s| (*s).to_owned());
                    far.extend(new(main.collect()));
                }
            }
        }
        let own = own.iter().map(only_main);
        AptSources { near: write(own.chain(near)), far: write(far.into_iter()) }
    }

    /// The suites of both parts, for messages.
    pub(crate) fn suites(&self) -> Vec<String> {
        let stanzas = deb822::parse(&format!("{}\n\n{}", self.near, self.far));
        let mut suites: Vec<String> = Vec::new();
        for suite in stanzas.iter().flat_map(|stanza| stanza.words("Suites")) {
            if !suites.contains(&suite) {
                suites.push(suite);
            }
        }
        suites
    }
}

fn read(path: &Path) -> Result<String, KernelError> {
    Ok(String::from_utf8_lossy(&fs_err::read(path).at(path)?).into_owned())
}

/// The files of a folder in the order apt reads them; none when there is no folder.
fn parts(folder: &Path) -> Result<Vec<std::path::PathBuf>, KernelError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn parse_sources(text: &str) -> Vec<Stanza> {
    let disabled = |s: &Stanza| {
        let value = s.get("Enabled").unwrap_or("yes").to_ascii_lowercase();
        ["no", "false", "without", "off", "disable", "0"].contains(&value.as_str())
    };
    deb822::parse(text)
        .into_iter()
        .filter(|s| !disabled(s) && s.words("Types").iter().any(|t| t == "deb"))
        .filter(|s| !s.words("URIs").is_empty() && !s.words("Suites").is_empty())
        .collect()
}

/// Reads one-line sources: `deb [signed-by=KEYRING arch=amd64] URI SUITE COMPONENT...`.
fn parse_list(text: &str) -> Vec<Stanza> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Stanza> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?;
    let rest = rest.starts_with(char::is_whitespace).then(|| rest.trim_start())?;
    let (options, rest) = match rest.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let mut fields = vec![
        ("Types".to_owned(), "deb".to_owned()),
        ("URIs".to_owned(), words.next()?.to_owned()),
        ("Suites".to_owned(), words.next()?.to_owned()),
    ];
    let components: Vec<&str> = words.collect();
    if !components.is_empty() {
        fields.push(("Components".to_owned(), components.join(" ")));
    }
    for option in options.split_whitespace() {
        let (name, value) = option.split_once('=')?;
        fields.push((option_field(name), value.replace(',', " ")));
    }
    Some(Stanza(fields))
}

/// The deb822 name of a one-line option (sources.list(5)).
fn option_field(name: &str) -> String {
    match name {
        "arch" => "Architectures".to_owned(),
        "lang" => "Languages".to_owned(),
        "target" => "Targets".to_owned(),
        other => other
            .split('-')
            .map(|word| {
                let mut letters = word.chars();
                letters.next().map_or(String::new(), |first| {
                    first.to_ascii_uppercase().to_string() + letters.as_str()
                })
            })
            .collect::<Vec<_>>()
            .join("-"),
    }
}

fn uri_suites(source: &Stanza) -> Vec<(String, String)> {
    let suites = source.words("Suites");
    let pair = |uri: &String| suites.iter().map(|s| (uri.clone(), s.clone())).collect::<Vec<_>>();
    source.words("URIs").iter().flat_map(pair).collect()
}

/// Whether a source's suites are named as Debian names its own.
fn holds_debian(source: &Stanza) -> bool {
    let archive = ["sid", "unstable", "testing", "stable", "oldstable", "forky"];
    let mut components = source.words("Components").into_iter();
    components.any(|c| c == "main")
        && source.words("Suites").iter().any(|suite| {
            let base = suite.split(['-', '/']).next().unwrap_or_default();
            RELEASES.contains(&base) || archive.contains(&base)
        })
}

fn is_security_suite(suite: &str) -> bool {
    suite.ends_with("-security") || suite.ends_with("/updates")
}

/// The same mirror with other suites: keyring and options kept, component main alone.
fn further(source: &Stanza, uri: &str, suites: &[String]) -> Option<Stanza> {
    if suites.is_empty() {
        return None;
    }
    let mut new = only_main(source);
    for (name, value) in &mut new.0 {
        match name.to_ascii_lowercase().as_str() {
            "uris" => *value = uri.to_owned(),
            "suites" => *value = suites.join(" "),
            _ => {}
        }
    }
    Some(new)
}

/// Debian keeps its kernels in component main; other components only cost time.
fn only_main(source: &Stanza) -> Stanza {
    let mut new = source.clone();
    if holds_debian(source) {
        for (name, value) in &mut new.0 {
            if name.eq_ignore_ascii_case("components") {
                "main".clone_into(value);
            }
        }
    }
    new
}

fn write(stanzas: impl Iterator<Item = Stanza>) -> String {
    let line = |(name, value): &(String, String)| {
        // Source packages are of no use here.
        let value = if name.eq_ignore_ascii_case("types") { "deb" } else { value };
        format!("{name}: {value}\n")
    };
    stanzas.map(|stanza| stanza.0.iter().map(line).collect()).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "Types: deb deb-src\n# snapshot\nURIs: http://mirror.example/debian\n\
        Suites: bookworm bookworm-updates\nComponents: main contrib\nSigned-By: /k/debian.gpg\n\n\
        Types: deb\nURIs: http://mirror.example/debian-security\nSuites: bookworm-security\n\
        Components: main\nSigned-By: /k/debian.gpg\n\n\
        Enabled: no\nTypes: deb\nURIs: http://off.example\nSuites: x\nComponents: main\n\n\
        Types: deb\nURIs: https://third.example/apt\nSuites: nodistro\nComponents: main\n";

    #[test]
    fn suites_are_added_on_the_machines_own_mirrors() {
        let sources = AptSources::derive(parse_sources(MACHINE));
        insta::assert_snapshot!(format!("{}\n== far\n{}", sources.near, sources.far));
    }

    #[test]
    fn one_line_sources_read_as_their_stanzas() {
        let stanzas = parse_list(
            "# deb http://no.example x main\n\
             deb [signed-by=/k.gpg arch=amd64,i386] http://m.example/debian trixie main non-free # c\n\
             deb-src http://m.example/debian trixie main\n\
             deb file:/repo ./\n\
             deb [broken http://x y\n",
        );
        assert_eq!(stanzas.len(), 2);
        assert_eq!(stanzas[0].get("Signed-By"), Some("/k.gpg"));
        assert_eq!(stanzas[0].get("Architectures"), Some("amd64 i386"));
        assert_eq!(stanzas[0].words("Components"), ["main", "non-free"]);
        assert_eq!(stanzas[1].words("Suites"), ["./"]);
        assert_eq!(stanzas[1].get("Components"), None);
    }

    #[test]
    fn a_machine_without_sources_is_told_so() {
        let empty = tempfile::tempdir().unwrap();
        let error = AptSources::of_machine(empty.path()).unwrap_err().to_string();
        assert!(error.contains("names no package sources"), "{error}");
    }

    #[test]
    fn a_machine_of_another_distribution_keeps_its_own_alone() {
        let own = parse_list("deb http://u.example/ubuntu noble main universe\n");
        let sources = AptSources::derive(own);
        assert_eq!(sources.suites(), ["noble"]);
        assert_eq!(sources.far, "");
    }
}
