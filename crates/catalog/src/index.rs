//! Reads `index.txt` and `keys.txt`: a program or a key on each line.

use crate::{CatalogError, Kind, Parameter, Program};

/// A program a line: kinds joined by commas, name, parameters. `#` begins a comment.
pub(crate) fn programs(file: &str, text: &str) -> Result<Vec<Program>, CatalogError> {
    content_lines(text)
        .map(|(line, content)| {
            let mut words = content.split_whitespace();
            let kinds = words.next().unwrap_or_default();
            let kinds = kinds.split(',').map(kind).collect::<Option<Vec<Kind>>>();
            match (kinds, words.next()) {
                (Some(kinds), Some(name)) => {
                    Ok(Program::from_index(name, kinds, words.map(Parameter::from_index).collect()))
                }
                _ => Err(CatalogError::Invalid {
                    file: file.to_owned(),
                    line,
                    column: 1,
                    message: "expected: kinds (workload, setup, monitor, daemon, joined by \
                              commas), a name, parameters"
                        .to_owned(),
                }),
            }
        })
        .collect()
}

/// A key a line; a `*` at the end stands for any text.
pub(crate) fn keys(text: &str) -> Vec<String> {
    content_lines(text).map(|(_, content)| content.to_owned()).collect()
}

fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines
        .map(|(at, line)| (at + 1, line.split('#').next().unwrap_or_default().trim()))
        .filter(|(_, content)| !content.is_empty())
}

fn kind(word: &str) -> Option<Kind> {
    [Kind::Workload, Kind::Setup, Kind::Monitor, Kind::Daemon]
        .into_iter()
        .find(|kind| kind.name() == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Show;

    #[test]
    fn a_line_is_a_program() {
        let text = "# comment\n\nsetup,workload kbuild nr_task =target # more\n";
        let programs = programs("index.txt", text).unwrap();
        assert_eq!(programs.len(), 1);
        assert_eq!(programs[0].kinds, [Kind::Setup, Kind::Workload]);
        assert_eq!(programs[0].parameters[1].name, "target");
        assert_eq!(programs[0].parameters[1].show, Show::KeyValue);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = programs("index.txt", "workload a\nwrokload b\n").unwrap_err();
        assert!(error.to_string().starts_with("index.txt:2:1: expected"), "{error}");
    }
}
