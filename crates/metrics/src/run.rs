//! A whole run directory: every raw file that is understood, reduced to the metrics of the run.

use std::collections::BTreeMap;
use std::io;

use patchmark_model::{MetricName, Metrics};
use serde::Serialize;
use serde_json::Value;

use crate::compressed;
use crate::notes::{Note, Notes};
use crate::options::ParseOptions;
use crate::parsed::parse_with;
use crate::program;
use crate::reduce::{add_derived, reduce};

/// The files of a run directory, however they are kept.
pub trait RunFiles {
    /// File names, without folders.
    fn names(&self) -> io::Result<Vec<String>>;

    /// The content of one file, as stored.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
}

impl RunFiles for BTreeMap<String, Vec<u8>> {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A note on a raw file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunNote {
    /// The file's name.
    pub file: String,
    /// The note.
    pub note: Note,
    /// How many notes there are on this file in all, those left out included.
    pub of: usize,
}

/// What a run measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunMetrics {
    /// One number per metric.
    pub metrics: Metrics,
    /// What was left out of the raw files, and why.
    pub notes: Vec<RunNote>,
    /// Files that no parser is registered for, by name.
    pub unread: Vec<String>,
}

/// Reads every raw file of a run: `<program>`, `<program>.zst`, `.gz` or `.xz`, `<test>.time`.
/// When both a plain and a compressed file exist, the plain one counts. Without a `dmesg` the
/// `kmsg` is searched for oopses too. What the agent itself used (`agent_cpu_seconds` of
/// `run.json`) becomes `agent.cpu_seconds`.
///
/// Fails only when the list of files cannot be had; a file that cannot be read makes a note.
pub fn run_metrics(files: &dyn RunFiles, options: &ParseOptions) -> io::Result<RunMetrics> {
    let mut run = RunMetrics::default();
    let raw_files = raw_files(files.names()?, &mut run.unread);
    let kmsg_alone = raw_files.contains_key("kmsg") && !raw_files.contains_key("dmesg");
    for (raw, file) in &raw_files {
        let Some(bytes) = run.read(files, file) else { continue };
        run.add(raw, file, &bytes, options);
        if kmsg_alone && raw == "kmsg" {
            run.add("dmesg", file, &bytes, options);
        }
    }
    run.add_agent(files);
    add_derived(&mut run.metrics);
    Ok(run)
}

/// Raw file -> the file it is stored as. Sorted, so that a run always reads the same.
fn raw_files(names: Vec<String>, unread: &mut Vec<String>) -> BTreeMap<String, String> {
    let mut raw_files: BTreeMap<String, String> = BTreeMap::new();
    let mut names: Vec<String> = names.into_iter().filter(|name| !name.contains('/')).collect();
    names.sort_unstable();
    for name in names {
        let (raw, _) = compressed::split_name(&name);
        if program::find(raw).is_some() {
            // The plain name sorts before those of its compressed forms.
            raw_files.entry(raw.to_owned()).or_insert(name);
        } else {
            unread.push(name);
        }
    }
    raw_files
}

impl RunMetrics {
    fn read(&mut self, files: &dyn RunFiles, file: &str) -> Option<Vec<u8>> {
        let mut notes = Notes::default();
        let bytes = match files.read(file) {
            Ok(bytes) => match compressed::split_name(file).1 {
                Some(compression) => {
                    let (content, trouble) = compressed::content(&bytes, compression);
                    if let Some(trouble) = trouble {
                        notes.add(0, || trouble);
                    }
                    Some(content)
                }
                None => Some(bytes),
            },
            Err(error) => {
                notes.add(0, || format!("cannot be read: {error}"));
                None
            }
        };
        self.note(file, &notes);
        bytes
    }

    fn add(&mut self, raw: &str, file: &str, bytes: &[u8], options: &ParseOptions) {
        let Some(program) = program::find(raw).filter(|_| !bytes.is_empty()) else { return };
        let parsed = parse_with(program, bytes, options);
        self.metrics.extend(reduce(raw, &parsed.samples, options));
        self.note(file, &parsed.notes);
    }

    fn add_agent(&mut self, files: &dyn RunFiles) {
        let Ok(bytes) = files.read("run.json") else { return };
        let record: Option<Value> = serde_json::from_slice(&bytes).ok();
        let seconds = record.and_then(|record| record.get("agent_cpu_seconds")?.as_f64());
        if let Some(seconds) = seconds {
            self.metrics.insert(MetricName::from("agent.cpu_seconds"), seconds);
        }
    }

    fn note(&mut self, file: &str, notes: &Notes) {
        let notes = notes.kept().iter().map(|note| RunNote {
            file: file.to_owned(),
            note: note.clone(),
            of: notes.total(),
        });
        self.notes.extend(notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(files: &[(&str, &[u8])]) -> RunMetrics {
        let files: BTreeMap<String, Vec<u8>> =
            files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
        run_metrics(&files, &ParseOptions::default()).unwrap()
    }

    #[test]
    fn each_raw_file_adds_its_metrics() {
        let vmstat = zstd::encode_all(&b"time: 1\npgfault 5\ntime: 2\npgfault 9\n"[..], 1).unwrap();
        let run = run(&[
            ("proc-vmstat.zst", &vmstat),
            ("stress-ng.time", b"\tUser time (seconds): 1.5\n"),
            ("run.json", br#"{"agent_cpu_seconds": 0.25}"#),
            ("env.json", b"{}"),
        ]);
        assert_eq!(run.metrics.get("proc-vmstat.pgfault"), Some(&4.0));
        assert_eq!(run.metrics.get("stress-ng.time.user_time"), Some(&1.5));
        assert_eq!(run.metrics.get("agent.cpu_seconds"), Some(&0.25));
        assert_eq!(run.unread, ["env.json", "run.json"]);
    }

    #[test]
    fn a_compressed_file_that_was_cut_off_is_read_as_far_as_it_goes() {
        let run =
            run(&[("vmstat.gz", b"\x1f\x8b\x08\0\0"), ("meminfo", b"time: 1\n\0MemFree: 1\n")]);
        assert!(run.metrics.is_empty());
        assert_eq!(run.notes.len(), 2);
        assert_eq!(run.notes[0].file, "meminfo");
    }

    #[test]
    fn the_kernel_log_inside_stands_in_for_the_console() {
        let log = b"<4>[    1.000000] WARNING: CPU: 0 PID: 1 at kernel/x.c:1 f+0x1/0x2\n";
        let run = run(&[("kmsg", log)]);
        assert_eq!(run.metrics.get("dmesg.boot_failures"), Some(&1.0));
        assert_eq!(run.metrics.get("dmesg.WARNING:at_kernel/x.c:#f"), Some(&1.0));
    }
}
