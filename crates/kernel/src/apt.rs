//! apt with folders of our own: the machine's lists, cache, pins and hooks stay untouched.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::error::AtPath;
use crate::exec::{self, Ran};
use crate::package::Package;
use crate::sources::AptSources;
use crate::{FetchEvent, KernelError, deb822};

/// Lists older than this are fetched anew before they are believed.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// Before a package is called unknown, lists older than this are fetched anew.
const MIN_AGE: Duration = Duration::from_secs(600);

/// How often, and with which pause between, a locked apt folder is tried again: a minute in all.
const LOCK_TRIES: u32 = 60;
const LOCK_PAUSE: Duration = Duration::from_secs(1);

/// Which part of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Near,
    Far,
}

/// The private apt folder.
pub(crate) struct Apt {
    dir: PathBuf,
    sources: AptSources,
}

impl Apt {
    /// Prepares the folder: settings and sources are written, lists stay as they are.
    pub(crate) fn open(dir: &Path, sources: AptSources) -> Result<Self, KernelError> {
        for sub in ["lists/partial", "archives/partial", "state"] {
            let path = dir.join(sub);
            fs_err::create_dir_all(&path).at(&path)?;
        }
        let apt = Apt { dir: dir.to_owned(), sources };
        apt.write("status", "")?;
        apt.write("near.sources", &apt.sources.near)?;
        apt.write("far.sources", &apt.sources.far)?;
        apt.write("all.sources", &format!("{}\n{}", apt.sources.near, apt.sources.far))?;
        apt.write("apt.conf", &apt.settings()?)?;
        Ok(apt)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), KernelError> {
        let path = self.dir.join(name);
        // The same text again would make apt rebuild its cache.
        if fs_err::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(());
        }
        fs_err::write(&path, text).at(&path)
    }

    /// The settings: the machine's way to the network (proxies, time limits, credentials), and
    /// nothing else of it; above all none of its hooks.
    fn settings(&self) -> Result<String, KernelError> {
        let dump = exec::run(Command::new("apt-config").arg("dump"), "apt")?;
        let network: String = dump
            .stdout
            .lines()
            .filter(|line| line.starts_with("Acquire::") || line.starts_with("Dir::Etc::netrc"))
            .filter(|line| !line.starts_with("Acquire::IndexTargets"))
            .filter(|line| !line.starts_with("Acquire::Languages"))
            .flat_map(|line| [line, "\n"])
            .collect();
        let dir = self.dir.display();
        // An existing empty folder: apt complains of settings folders that do not exist.
        Ok(format!(
            "{network}Dir::Etc::Parts \"{dir}/state\";\n\
             Dir::Etc::Main \"/dev/null\";\n\
             Dir::Etc::SourceList \"{dir}/all.sources\";\n\
             Dir::Etc::SourceParts \"/dev/null\";\n\
             Dir::Etc::Preferences \"/dev/null\";\n\
             Dir::Etc::PreferencesParts \"{dir}/state\";\n\
             Dir::State \"{dir}/state\";\n\
             Dir::State::Lists \"{dir}/lists\";\n\
             Dir::State::status \"{dir}/status\";\n\
             Dir::Cache \"{dir}\";\n\
             Dir::Log \"{dir}/state\";\n\
             APT::Sandbox::User \"root\";\n\
             APT::Architecture \"amd64\";\n\
             APT::Architectures {{ \"amd64\"; }};\n\
             APT::Get::List-Cleanup \"false\";\n\
             APT::Color \"false\";\n\
             Acquire::Languages \"none\";\n\
             Acquire::PDiffs \"false\";\n\
             Acquire::GzipIndexes \"true\";\n\
             Acquire::Retries \"2\";\n\
             Acquire::http::Timeout \"20\";\n\
             Acquire::https::Timeout \"20\";\n"
        ))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", self.dir.join("apt.conf"));
        command
    }

    fn stamp(&self, part: Part) -> PathBuf {
        self.dir.join(match part {
            Part::Near => "near.updated",
            Part::Far => "far.updated",
        })
    }

    /// How old the lists of a part are; `None` if there are none for its present sources.
    fn age(&self, part: Part) -> Option<Duration> {
        let stamp = self.stamp(part);
        if fs_err::read(&stamp).ok()? != self.text(part).as_bytes() {
            return None;
        }
        let written = fs_err::metadata(&stamp).ok()?.modified().ok()?;
        // A clock that was set back makes lists as old as can be.
        Some(SystemTime::now().duration_since(written).unwrap_or(Duration::MAX))
    }

    fn text(&self, part: Part) -> &str {
        match part {
            Part::Near => &self.sources.near,
            Part::Far => &self.sources.far,
        }
    }

    /// Whether the lists of a part are too old to be believed.
    pub(crate) fn is_stale(&self, part: Part) -> bool {
        !self.text(part).is_empty() && self.age(part).is_none_or(|age| age > MAX_AGE)
    }

    /// Whether fetching the lists of a part again may bring news worth waiting for.
    pub(crate) fn may_have_news(&self, part: Part) -> bool {
        !self.text(part).is_empty() && self.age(part).is_none_or(|age| age > MIN_AGE)
    }

    /// Whether there are lists at all.
    pub(crate) fn has_lists(&self) -> bool {
        let is_list = |name: &std::ffi::OsStr| {
            name.to_string_lossy().contains("_Packages")
                || name.to_string_lossy().ends_with("Packages")
        };
        fs_err::read_dir(self.dir.join("lists"))
            .is_ok_and(|mut dir| dir.any(|e| e.is_ok_and(|e| is_list(&e.file_name()))))
    }

    /// Fetches the lists of a part. Suites that fail are told as notes; it is an error only when
    /// there are no lists at all, neither new nor old.
    pub(crate) fn update(
        &self,
        part: Part,
        events: &mut dyn FnMut(FetchEvent),
    ) -> Result<(), KernelError> {
        events(FetchEvent::RefreshingLists);
        let list = match part {
            Part::Near => "near.sources",
            Part::Far => "far.sources",
        };
        let option = format!("Dir::Etc::SourceList={}", self.dir.join(list).display());
        let update =
            || exec::run(self.command("apt-get").args(["-q", "update", "-o", &option]), "apt");
        let ran = patiently(events, update)?;
        if ran.disk_was_full() {
            return Err(KernelError::DiskFull { path: self.dir.clone() });
        }
        let failures = failures(&ran);
        if !self.has_lists() {
            let detail = failures.into_iter().next().unwrap_or_else(|| ran.complaint());
            return Err(KernelError::NoLists { detail });
        }
        if reached_any(&ran.stdout) {
            // Not every mirror has every suite; a package that is then not found says so.
            let stamp = self.stamp(part);
            return fs_err::write(&stamp, self.text(part)).at(&stamp);
        }
        // apt's exit status tells nothing: it is 0 without a network. Old lists stay old.
        let why = failures.into_iter().next().unwrap_or_else(|| ran.complaint());
        events(FetchEvent::Note(format!("older package lists are used: {why}")));
        Ok(())
    }

    /// The names of all packages that begin so.
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>, KernelError> {
        let ran = exec::run(self.command("apt-cache").args(["pkgnames", prefix]), "apt")?;
        let mut names: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }

    /// Every version of a package.
    pub(crate) fn show(&self, name: &str) -> Result<Vec<Package>, KernelError> {
        let ran = exec::run(self.command("apt-cache").args(["show", "-a", "--", name]), "apt")?;
        let packages = deb822::parse(&ran.stdout);
        Ok(packages
            .iter()
            .filter_map(Package::from_stanza)
            .filter(|package| package.name == name)
            .collect())
    }

    /// Fetches a package file into a folder; `done` gets the bytes that are there so far.
    pub(crate) fn download(
        &self,
        package: &Package,
        folder: &Path,
        scratch: &Path,
        done: &mut dyn FnMut(u64),
    ) -> Result<(), KernelError> {
        let wanted = format!("{}={}", package.name, package.version);
        let mut command = self.command("apt-get");
        command.args(["-q", "download", "--", &wanted]).current_dir(folder);
        let ran = exec::run_watched(&mut command, "apt", scratch, &mut || done(size_of(folder)))?;
        done(size_of(folder));
        if ran.status.success() {
            return Ok(());
        }
        if ran.disk_was_full() {
            return Err(KernelError::DiskFull { path: folder.to_owned() });
        }
        Err(KernelError::Download {
            package: package.name.clone(),
            version: package.version.clone(),
            detail: ran.complaint(),
        })
    }

    /// The suites that are searched, for messages.
    pub(crate) fn searched(&self) -> String {
        self.sources.suites().join(", ")
    }
}

/// Runs apt again for as long as another one has its folder locked. Nobody else works here, so it
/// is one whose parent was killed, and it ends by itself.
fn patiently(
    events: &mut dyn FnMut(FetchEvent),
    apt: impl Fn() -> Result<Ran, KernelError>,
) -> Result<Ran, KernelError> {
    let mut ran = apt()?;
    for _ in 0..LOCK_TRIES {
        if !ran.was_locked_out() {
            break;
        }
        events(FetchEvent::Waiting);
        std::thread::sleep(LOCK_PAUSE);
        ran = apt()?;
    }
    Ok(ran)
}

/// Whether any suite was read to its end, by the lines that apt tells its progress with:
/// `Get:N URI SUITE/COMPONENT ...` fetched, `Hit:N` unchanged, `Ign:N` and `Err:N` failed. One
/// file may be tried in several ways; the last line of a suite counts.
fn reached_any(stdout: &str) -> bool {
    let mut reached: HashMap<(&str, &str), bool> = HashMap::new();
    for line in stdout.lines() {
        let Some((mark, rest)) = line.split_once(':') else { continue };
        let mut words = rest.split_whitespace().skip(1);
        let (Some(uri), Some(suite)) = (words.next(), words.next()) else { continue };
        let suite = suite.split_once('/').map_or(suite, |(name, _)| name);
        match mark {
            "Get" | "Hit" => drop(reached.insert((uri, suite), true)),
            "Ign" | "Err" => drop(reached.insert((uri, suite), false)),
            _ => {}
        }
    }
    reached.values().any(|good| *good)
}

/// What an update complained of: errors and failed index files, each once.
fn failures(ran: &Ran) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in ran.stderr.lines() {
        let complaint = ["E: ", "W: "].iter().find_map(|mark| line.strip_prefix(mark));
        let Some(text) = complaint else { continue };
        let is_summary = text.starts_with("Some index files failed");
        if !is_summary && !found.iter().any(|old| old == text) {
            found.push(exec::printable(text));
        }
    }
    found
}

fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs_err::read_dir(folder) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_counts_when_one_suite_was_read() {
        let bad =
            "Get:1 http://m/debian sid InRelease [1 kB]\nErr:2 http://m/debian sid/main amd64\n";
        assert!(!reached_any(bad));
        assert!(!reached_any("Ign:1 http://m/debian sid InRelease\nReading package lists...\n"));
        assert!(reached_any(
            "Get:3 file:/r ./ Packages\nErr:3 file:/r ./ Packages\n  Method gave \
             a blank filename\nGet:3 file:/r ./ Packages [80 B]\n"
        ));
        assert!(reached_any(&format!("{bad}Hit:3 http://m/debian bookworm InRelease\n")));
    }
}
