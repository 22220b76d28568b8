//! Templates of include files in an lkp-tests folder: the small part of ERB they use.
//!
//! `% if ...`, `% unless`, `% elsif`, `% else` and `% end` lines choose lines; `<%= case X when ...
//! end %>` and `<%= expression %>` put a value in. What goes beyond is [`TemplateError::Unsupported`]
//! and the file is left out with a warning. Nothing of this applies to job files themselves.

use crate::template_expr::{self, Expression};
use crate::value::{Map, Value};

/// The name of the value a template is made for.
pub(crate) const THIS: &str = "___";

/// Why a template yields nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TemplateError {
    /// It asks for a key that the job does not have.
    MissingKey(String),
    /// It is more than is understood.
    Unsupported(String),
}

/// Nesting of `if` beyond this is no include file.
const DEEPEST: usize = 16;

/// The text with its template parts carried out.
pub(crate) fn render(text: &str, context: &Map) -> Result<String, TemplateError> {
    let is_template = text.contains("<%") || text.lines().any(|line| line.starts_with('%'));
    if !is_template {
        return Ok(text.to_owned());
    }
    let chosen = choose_lines(text, context)?;
    put_values_in(&chosen, context)
}

/// One open `if`.
struct Branch {
    /// Whether the lines stand now.
    is_taken: bool,
    /// Whether an earlier branch stood already.
    is_decided: bool,
}

fn choose_lines(text: &str, context: &Map) -> Result<String, TemplateError> {
    let unsupported = |line: &str| TemplateError::Unsupported(format!("`{}`", line.trim()));
    let mut open: Vec<Branch> = Vec::new();
    let mut chosen = String::new();
    let mut is_in_tag = false;
    for line in text.lines() {
        let directive = line.strip_prefix('%').filter(|_| !is_in_tag);
        let Some(code) = directive else {
            is_in_tag = match (line.rfind("<%"), line.rfind("%>")) {
                (Some(opened), closed) => closed.is_none_or(|closed| closed < opened),
                (None, Some(_)) => false,
                (None, None) => is_in_tag,
            };
            if open.iter().all(|branch| branch.is_taken) {
                chosen.push_str(line);
                chosen.push('\n');
            }
            continue;
        };
        let code = code.trim();
        let (word, rest) = code.split_once(char::is_whitespace).unwrap_or((code, ""));
        let outer = open.len().saturating_sub(usize::from(word == "elsif" || word == "else"));
        let is_live = open.iter().take(outer).all(|branch| branch.is_taken);
        // A condition on a dead branch is not looked at: it may ask for what is not there.
        let holds = |is_wanted: bool| -> Result<bool, TemplateError> {
            Ok(is_wanted && Expression::parse(rest)?.is_true(context)?)
        };
        match word {
            "if" | "unless" => {
                if open.len() >= DEEPEST {
                    return Err(unsupported(line));
                }
                let is_taken = is_live && holds(is_live)? == (word == "if");
                open.push(Branch { is_taken, is_decided: is_taken || !is_live });
            }
            "elsif" | "else" => {
                let branch = open.last_mut().ok_or_else(|| unsupported(line))?;
                let is_open = is_live && !branch.is_decided;
                branch.is_taken = is_open && (word == "else" || holds(is_open)?);
                branch.is_decided |= branch.is_taken;
            }
            "end" => {
                open.pop().ok_or_else(|| unsupported(line))?;
            }
            _ => return Err(unsupported(line)),
        }
    }
    match open.is_empty() {
        true => Ok(chosen),
        false => Err(TemplateError::Unsupported("an `if` without `end`".to_owned())),
    }
}

fn put_values_in(text: &str, context: &Map) -> Result<String, TemplateError> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once("<%") {
        result.push_str(before);
        let (code, after) = tail
            .split_once("%>")
            .ok_or_else(|| TemplateError::Unsupported("`<%` without `%>`".to_owned()))?;
        let code = code
            .strip_prefix('=')
            .ok_or_else(|| TemplateError::Unsupported(format!("`<%{}%>`", code.trim())))?;
        result.push_str(&value_of(code, context)?.to_text());
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

/// The value of an expression or of a `case`.
fn value_of(code: &str, context: &Map) -> Result<Value, TemplateError> {
    let mut lines = code.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let Some(subject) = first.strip_prefix("case ") else {
        return Expression::parse(code.trim())?.value(context);
    };
    let subject = Expression::parse(subject)?.value(context)?;
    let mut is_decided = false;
    let mut is_taken = false;
    let mut value = Value::Null;
    for line in lines {
        if let Some(patterns) = line.strip_prefix("when ") {
            is_taken = !is_decided && template_expr::any_matches(patterns, &subject, context)?;
            is_decided |= is_taken;
        } else if line == "else" {
            is_taken = !is_decided;
            is_decided = true;
        } else if line == "end" {
            return Ok(value);
        } else if is_taken {
            value = Expression::parse(line)?.value(context)?;
        }
    }
    Err(TemplateError::Unsupported("a `case` without `end`".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lines_of;
    use crate::yaml;

    fn rendered(text: &str, context: &str) -> Result<String, TemplateError> {
        let root = yaml::parse(&lines_of(0, context)).unwrap().roots.remove(0);
        render(text, root.as_map().unwrap())
    }

    #[test]
    fn lines_are_chosen_by_conditions() {
        let text = "a:\n% if job['x'] == \"1\" && !job['z']\nb:\n% elsif ___.t =~ /^fs(-\\w+)?$/\n\
                    c:\n% else\nd:\n% end\ne:\n";
        assert_eq!(rendered(text, "x: '1'").unwrap(), "a:\nb:\ne:\n");
        assert_eq!(rendered(text, "___: {t: fs-x}").unwrap(), "a:\nc:\ne:\n");
        assert_eq!(rendered(text, "___: {t: q}").unwrap(), "a:\nd:\ne:\n");
        assert_eq!(rendered(text, "___: {}"), Err(TemplateError::MissingKey("t".to_owned())));
    }

    #[test]
    fn unless_and_numbers() {
        let text = "% unless job['n'] and job['n'] > 1\na\n% end\n";
        assert_eq!(rendered(text, "m: 1").unwrap(), "a\n");
        assert_eq!(rendered(text, "n: 1").unwrap(), "a\n");
        assert_eq!(rendered(text, "n: 2").unwrap(), "");
    }

    #[test]
    fn a_case_puts_a_value_in() {
        let text = "<%=\n\tcase ___\n\twhen 'none'\n\twhen /nfs|cifs/\n\t\t\"N: #{___.upcase}\"\n\
                    \telse\n\t\t\"F: #{___.upcase}_FS\"\n\tend\n%>\n";
        assert_eq!(rendered(text, "___: nfsv4").unwrap(), "N: NFSV4\n");
        assert_eq!(rendered(text, "___: xfs").unwrap(), "F: XFS_FS\n");
        assert_eq!(rendered(text, "___: none").unwrap(), "\n");
    }

    #[test]
    fn what_goes_beyond_is_told() {
        for text in ["% foo.each do |x|\n% end\n", "<% x %>", "<%= `ls` %>", "% if a\n", "% end\n"]
        {
            assert!(matches!(rendered(text, "a: 1"), Err(TemplateError::Unsupported(_))), "{text}");
        }
    }
}
