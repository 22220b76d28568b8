//! Textual includes: `<<: file` takes the lines of a file in, before the YAML is read.
//!
//! The value is a file name, or a flow map `{file: f.yaml, ignore: [key], key: value}`: `ignore`
//! drops top-level lines, every other key replaces such a line or is appended to each document.
//! `<<: *anchor` and `<<: [...]` are YAML's own and left alone. An included file may include
//! further files; a circle is an error.

use std::path::{Path, PathBuf};

use crate::source::{Line, Sources, lines_of};
use crate::value::{Map, Node, Value};
use crate::{Diagnostic, Files, Place, Severity, emit, yaml};

/// Folders looked through for an include file by its bare name.
const MOST_FOLDERS: usize = 20_000;

/// Includes within includes.
const DEEPEST: usize = 16;

/// What an include line asks for.
struct Request {
    file: String,
    ignore: Vec<String>,
    replace: Vec<(String, String)>,
}

/// Takes includes in.
pub(crate) struct Includer<'a> {
    pub(crate) files: &'a dyn Files,
    /// An lkp-tests folder to look in as well.
    pub(crate) lkp_root: Option<&'a Path>,
    pub(crate) sources: &'a mut Sources,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Includer<'_> {
    /// The lines with every include taken in. `path` is the file the lines are of.
    pub(crate) fn expand(&mut self, lines: Vec<Line>, path: &Path) -> Vec<Line> {
        self.expand_below(lines, &mut vec![path.to_owned()])
    }

    fn expand_below(&mut self, lines: Vec<Line>, chain: &mut Vec<PathBuf>) -> Vec<Line> {
        let mut expanded = Vec::with_capacity(lines.len());
        for line in lines {
            let Some((prefix, content)) = split(&line.text) else {
                expanded.push(line);
                continue;
            };
            let (prefix, content) = (prefix.to_owned(), content.to_owned());
            let column =
                (line.text.chars().count() - content.chars().count()).saturating_sub(line.shift);
            let place = Place { file: line.file, line: line.line, column };
            if let Some(included) = self.include(&content, place, chain) {
                let indent = prefix.chars().count();
                expanded.push(Line { text: prefix, ..line });
                expanded.extend(included.into_iter().map(|inner| Line {
                    text: format!("{}{}", " ".repeat(indent), inner.text),
                    shift: inner.shift + indent,
                    ..inner
                }));
            }
        }
        expanded
    }

    fn include(
        &mut self,
        content: &str,
        place: Place,
        chain: &mut Vec<PathBuf>,
    ) -> Option<Vec<Line>> {
        let request = read_request(content);
        let folder = chain.first().and_then(|job| job.parent()).unwrap_or(Path::new(""));
        let Some(path) = self.find(&request.file, folder) else {
            let help = self.help_for_missing(&request.file, folder);
            self.report(place, format!("included file `{}` not found", request.file), Some(help));
            return None;
        };
        // A circle may go by other spellings of the same path, so depth bounds it as well.
        if chain.contains(&path) || chain.len() > DEEPEST {
            let circle: Vec<String> = chain.iter().map(|p| p.display().to_string()).collect();
            self.report(
                place,
                format!("`{}` includes itself", path.display()),
                Some(format!("the way there: {}", circle.join(" -> "))),
            );
            return None;
        }
        let text = match self.files.read(&path) {
            Ok(text) => text,
            Err(error) => {
                self.report(place, format!("`{}` cannot be read: {error}", path.display()), None);
                return None;
            }
        };
        let file = self.sources.add(&path.display().to_string(), &text);
        let mut lines = lines_of(file, text.trim_end_matches('\n'));
        lines.retain(|line| !request.ignore.iter().any(|key| is_key_line(&line.text, key)));
        for (key, value) in &request.replace {
            lines = replace_key(lines, key, value, place);
        }
        chain.push(path);
        let lines = self.expand_below(lines, chain);
        chain.pop();
        Some(lines)
    }

    fn report(&mut self, place: Place, message: String, help: Option<String>) {
        let diagnostic = Diagnostic::new(Severity::Error, self.sources, place, message, help);
        self.diagnostics.push(diagnostic);
    }

    /// An absolute path; a path relative to the job; else beside the job, in the lkp-tests
    /// folder, and anywhere below the nearest `jobs` folder, the job's folder or lkp-tests.
    fn find(&self, file: &str, folder: &Path) -> Option<PathBuf> {
        let is_file = |path: PathBuf| self.files.is_file(&path).then_some(path);
        if Path::new(file).is_absolute() {
            return is_file(PathBuf::from(file));
        }
        if file.starts_with("./") || file.starts_with("../") {
            return is_file(folder.join(file));
        }
        let roots: Vec<PathBuf> =
            [Some(folder), self.lkp_root].into_iter().flatten().map(Path::to_owned).collect();
        if let Some(found) = roots.iter().find_map(|root| is_file(root.join(file))) {
            return Some(found);
        }
        let jobs_folder = jobs_ancestor(folder).filter(|_| !file.starts_with("jobs/"));
        let mut budget = MOST_FOLDERS;
        jobs_folder
            .into_iter()
            .chain(roots)
            .find_map(|root| find_below(self.files, &root, file, &mut budget))
    }

    fn help_for_missing(&self, file: &str, folder: &Path) -> String {
        let root = jobs_ancestor(folder).unwrap_or_else(|| folder.to_owned());
        let mut names = Vec::new();
        let mut budget = 200;
        collect_names(self.files, &root, &mut names, &mut budget);
        match patchmark_catalog::nearest(file, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if file.contains(" #") => "a comment cannot follow on the line".to_owned(),
            None => format!("looked beside the job and below {}", root.display()),
        }
    }
}

/// `prefix<<: content`; the last `<<` of the line that is followed by a name counts.
fn split(text: &str) -> Option<(&str, &str)> {
    text.rmatch_indices("<<").find_map(|(at, _)| {
        let (prefix, rest) = text.split_at(at);
        let rest = rest.strip_prefix("<<")?.trim_start_matches(' ').strip_prefix(':')?;
        let content = rest.trim_start_matches(' ');
        let is_include = rest.starts_with(' ') && !content.starts_with(['*', '[']);
        (is_include && !content.trim().is_empty()).then_some((prefix, content))
    })
}

fn read_request(content: &str) -> Request {
    let content = content.trim();
    if let Some((file, map)) = flow_map(content) {
        let mut request = Request { file, ignore: Vec::new(), replace: Vec::new() };
        for (key, node) in map.iter() {
            let Some(key) = key.text() else { continue };
            match (key, &node.value) {
                ("file", _) => {}
                ("ignore", Value::List(items)) => {
                    request.ignore = items.iter().map(|item| item.value.to_text()).collect();
                }
                ("ignore", value) => request.ignore = vec![value.to_text()],
                _ => request.replace.push((key.to_owned(), emit::inline(&node.value))),
            }
        }
        return request;
    }
    let unquoted = ['"', '\'']
        .into_iter()
        .find_map(|quote| content.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)));
    let file = unquoted.unwrap_or(content).to_owned();
    Request { file, ignore: Vec::new(), replace: Vec::new() }
}

fn flow_map(content: &str) -> Option<(String, Map)> {
    if !content.starts_with('{') {
        return None;
    }
    let mut documents = yaml::parse(&lines_of(0, content)).ok()?;
    let Node { value: Value::Map(map), .. } = documents.roots.pop()? else { return None };
    let file = map.text_of("file")?;
    Some((file, map))
}

fn is_key_line(text: &str, key: &str) -> bool {
    text.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
}

/// In each document: replaces the line of a top-level key (with the line below it, when its value
/// begins there), or appends the key.
fn replace_key(lines: Vec<Line>, key: &str, value: &str, place: Place) -> Vec<Line> {
    let new =
        |line: usize, file: usize| Line { text: format!("{key}: {value}"), file, line, shift: 0 };
    let mut result = Vec::new();
    for document in split_documents(lines) {
        let is_blank = document.iter().all(|line| line.text.trim().is_empty());
        let has_key = document.iter().any(|line| is_value_line(&line.text, key));
        let mut skip_value = false;
        for line in document {
            if skip_value {
                skip_value = line.text.trim().is_empty();
            } else if is_value_line(&line.text, key) {
                skip_value = line.text.trim_end().ends_with(':');
                result.push(new(line.line, line.file));
            } else {
                result.push(line);
            }
        }
        if !is_blank && !has_key {
            result.push(new(place.line, place.file));
        }
    }
    result
}

/// `key:` with a blank or the end of the line behind it.
fn is_value_line(text: &str, key: &str) -> bool {
    let rest = text.strip_prefix(key).and_then(|rest| rest.trim_start().strip_prefix(':'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// The documents of a file; a `---` line begins the document behind it.
fn split_documents(lines: Vec<Line>) -> Vec<Vec<Line>> {
    let mut documents = vec![Vec::new()];
    for line in lines {
        if line.text.trim_end() == "---" {
            documents.push(Vec::new());
        }
        if let Some(document) = documents.last_mut() {
            document.push(line);
        }
    }
    documents
}

/// The nearest folder named `jobs` on the way up.
fn jobs_ancestor(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|f| f.file_name().is_some_and(|n| n == "jobs")).map(Path::to_owned)
}

fn find_below(files: &dyn Files, folder: &Path, file: &str, budget: &mut usize) -> Option<PathBuf> {
    *budget = budget.checked_sub(1)?;
    let here = folder.join(file);
    if files.is_file(&here) {
        return Some(here);
    }
    visible_folders(files, folder).into_iter().find_map(|f| find_below(files, &f, file, budget))
}

fn collect_names(files: &dyn Files, folder: &Path, names: &mut Vec<String>, budget: &mut usize) {
    let Some(left) = budget.checked_sub(1) else { return };
    *budget = left;
    for path in files.list(folder) {
        if path.extension().is_some_and(|kind| kind == "yaml") {
            names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    for below in visible_folders(files, folder) {
        collect_names(files, &below, names, budget);
    }
}

fn visible_folders(files: &dyn Files, folder: &Path) -> Vec<PathBuf> {
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
    files.list(folder).into_iter().filter(|p| !is_hidden(p) && files.is_folder(p)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFiles;
    use crate::source::join;

    fn expand(files: &[(&str, &str)]) -> (String, Vec<Diagnostic>) {
        let memory = MemoryFiles::new(files.iter().copied());
        let mut sources = Sources::default();
        let (path, text) = files[0];
        let file = sources.add(path, text);
        let mut includer = Includer {
            files: &memory,
            lkp_root: None,
            sources: &mut sources,
            diagnostics: Vec::new(),
        };
        let lines = includer.expand(lines_of(file, text), Path::new(path));
        (join(&lines), includer.diagnostics)
    }

    #[test]
    fn lines_are_taken_in_at_the_depth_of_the_include() {
        let (text, diagnostics) =
            expand(&[("j/a.yaml", "x:\n  <<: b.yaml\ny: 1\n"), ("j/b.yaml", "p: 1\nq: 2\n")]);
        assert_eq!(text, "x:\n  \n  p: 1\n  q: 2\ny: 1\n");
        assert!(diagnostics.is_empty());
    }

    #[test]
    fn options_drop_and_replace_keys_in_each_document() {
        let (text, _) = expand(&[
            ("j/a.yaml", "<<: {file: b.yaml, disk: '1SSD', ignore: [z]}\n"),
            ("j/b.yaml", "disk:\n  - 1HDD\nz: 1\n---\ny: 2\n"),
        ]);
        assert_eq!(text, "\ndisk: 1SSD\n---\ny: 2\ndisk: 1SSD\n");
    }

    #[test]
    fn files_are_found_below_the_jobs_folder() {
        let (text, _) = expand(&[("jobs/x/a.yaml", "<<: b.yaml\n"), ("jobs/y/z/b.yaml", "p: 1\n")]);
        assert_eq!(text, "\np: 1\n");
    }

    #[test]
    fn missing_files_and_circles_are_named() {
        let (_, diagnostics) = expand(&[("j/a.yaml", "a: 1\n<<: bb.yaml\n"), ("j/b.yaml", "")]);
        assert_eq!(
            diagnostics[0].to_string(),
            "j/a.yaml:2:5: error: included file `bb.yaml` not found; did you mean `b.yaml`?"
        );
        let (_, diagnostics) =
            expand(&[("j/a.yaml", "<<: b.yaml\n"), ("j/b.yaml", "x: 1\n<<: a.yaml\n")]);
        assert_eq!(diagnostics.len(), 1);
        assert_eq!((diagnostics[0].file.as_str(), diagnostics[0].line), ("j/b.yaml", 2));
        assert!(diagnostics[0].message.contains("includes itself"));
    }

    #[test]
    fn yaml_merges_are_left_alone() {
        let (text, _) = expand(&[("a.yaml", "a: &x {b: 1}\nc:\n  <<: *x\n")]);
        assert_eq!(text, "a: &x {b: 1}\nc:\n  <<: *x\n");
    }
}
