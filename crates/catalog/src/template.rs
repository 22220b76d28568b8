//! Command lines with holes.
//!
//! A template is a line of words: `stress-ng --timeout {testtime} [method: --{test}-method {method}]`.
//! `{name}` is a parameter's value, `{=a * b}` the value of an [`Expression`], and
//! `[condition: words]` stands only when the [`Condition`] holds. No shell reads the result: each
//! word is one argument, whatever its value contains.

use patchmark_model::Command;

use crate::{Condition, Expression, RenderError, Values};

/// A command of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTemplate {
    /// When the command is part of the workload.
    pub when: Condition,
    /// How often it runs in a row; once when absent.
    pub repeat: Option<Expression>,
    words: WordsTemplate,
}

/// Words with holes: a whole command line, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordsTemplate {
    items: Vec<Item>,
}

impl WordsTemplate {
    /// Reads a line; the error is a sentence.
    pub fn parse(line: &str) -> Result<Self, String> {
        let mut rest = line;
        Ok(WordsTemplate { items: items(&mut rest, false)? })
    }

    /// The parameters it refers to.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        collect_names(&self.items, &mut names);
        names
    }

    /// The words for these values. `program` is for messages.
    pub fn render(&self, program: &str, values: &Values) -> Result<Vec<String>, RenderError> {
        let mut words = Vec::new();
        render_items(&self.items, program, values, &mut words)?;
        Ok(words)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Word(Vec<Piece>),
    When(Condition, Vec<Item>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(String),
    Expression(Expression),
}

/// More repetitions than this are a mistake in a job, not a wish.
const MOST_REPETITIONS: i64 = 10_000;

impl CommandTemplate {
    /// Reads a line; the error is a sentence.
    pub fn parse(line: &str, when: Condition, repeat: Option<Expression>) -> Result<Self, String> {
        let words = WordsTemplate::parse(line)?;
        if !matches!(words.items.first(), Some(Item::Word(_))) {
            return Err("a command begins with the name of an executable".to_owned());
        }
        Ok(CommandTemplate { when, repeat, words })
    }

    /// The parameters the template refers to.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.when.names().collect();
        names.extend(self.repeat.iter().flat_map(Expression::names));
        names.extend(self.words.names());
        names
    }

    /// The commands, `repeat` times the same. `program` is for messages.
    pub fn render(&self, program: &str, values: &Values) -> Result<Vec<Command>, RenderError> {
        let argv = self.words.render(program, values)?;
        let times = match &self.repeat {
            None => 1,
            Some(repeat) => calculate(repeat, program, values)?,
        };
        if !(1..=MOST_REPETITIONS).contains(&times) {
            return Err(RenderError::Calculation {
                program: program.to_owned(),
                expression: self.repeat.as_ref().map(|r| r.text().to_owned()).unwrap_or_default(),
                why: format!("{times} repetitions are not between 1 and {MOST_REPETITIONS}"),
            });
        }
        let command = Command { argv, env: Default::default() };
        Ok((0..times).map(|_| command.clone()).collect())
    }
}

fn calculate(expression: &Expression, program: &str, values: &Values) -> Result<i64, RenderError> {
    expression.evaluate(values).map_err(|why| RenderError::Calculation {
        program: program.to_owned(),
        expression: expression.text().to_owned(),
        why,
    })
}

fn render_items(
    items: &[Item],
    program: &str,
    values: &Values,
    argv: &mut Vec<String>,
) -> Result<(), RenderError> {
    for item in items {
        match item {
            Item::When(condition, inner) if condition.holds(values) => {
                render_items(inner, program, values, argv)?;
            }
            Item::When(..) => {}
            Item::Word(pieces) => argv.push(render_word(pieces, program, values)?),
        }
    }
    Ok(())
}

fn render_word(pieces: &[Piece], program: &str, values: &Values) -> Result<String, RenderError> {
    let mut word = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => word.push_str(text),
            Piece::Expression(expression) => {
                word.push_str(&calculate(expression, program, values)?.to_string());
            }
            Piece::Value(name) => match values.get(name) {
                Some(value) if !value.is_empty() => word.push_str(value),
                _ => {
                    return Err(RenderError::Missing {
                        program: program.to_owned(),
                        parameter: name.clone(),
                    });
                }
            },
        }
    }
    Ok(word)
}

fn collect_names<'a>(items: &'a [Item], names: &mut Vec<&'a str>) {
    for item in items {
        match item {
            Item::When(condition, inner) => {
                names.extend(condition.names());
                collect_names(inner, names);
            }
            Item::Word(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Text(_) => {}
                        Piece::Value(name) => names.push(name),
                        Piece::Expression(expression) => names.extend(expression.names()),
                    }
                }
            }
        }
    }
}

/// Words up to the end of the line, or to `]` inside brackets.
fn items(rest: &mut &str, in_brackets: bool) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    loop {
        *rest = rest.trim_start();
        if let Some(tail) = rest.strip_prefix(']') {
            *rest = tail;
            return if in_brackets { Ok(items) } else { Err("`]` without `[`".to_owned()) };
        }
        if let Some(tail) = rest.strip_prefix('[') {
            if in_brackets {
                return Err("`[` inside `[`: join the conditions with `&`".to_owned());
            }
            let (condition, tail) = tail.split_once(": ").ok_or("`[` without `condition: `")?;
            *rest = tail;
            items.push(Item::When(Condition::parse(condition)?, self::items(rest, true)?));
        } else if rest.is_empty() {
            return if in_brackets { Err("a `]` is missing".to_owned()) } else { Ok(items) };
        } else {
            items.push(Item::Word(word(rest)?));
        }
    }
}

fn word(rest: &mut &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    loop {
        let end = rest.find(|c: char| c.is_whitespace() || c == '{' || c == ']');
        let (text, tail) = rest.split_at(end.unwrap_or(rest.len()));
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
        *rest = tail;
        let Some(tail) = rest.strip_prefix('{') else { return Ok(pieces) };
        let (hole, tail) = tail.split_once('}').ok_or("a `}` is missing")?;
        *rest = tail;
        pieces.push(match hole.strip_prefix('=') {
            Some(expression) => Piece::Expression(Expression::parse(expression)?),
            None => Piece::Value(hole.trim().to_owned()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(line: &str, values: &[(&str, &str)]) -> Result<Vec<String>, RenderError> {
        let values = values.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let template = CommandTemplate::parse(line, Condition::default(), None).unwrap();
        Ok(template.render("p", &values)?.remove(0).argv)
    }

    #[test]
    fn optional_words_stand_only_when_their_parameter_is_set() {
        let line = "stress-ng -t {testtime} [method: --{test}-method {method}] --{test} {n}";
        let values = [("testtime", "2"), ("test", "sock fd"), ("n", "4")];
        let argv = render(line, &values).unwrap();
        assert_eq!(argv, ["stress-ng", "-t", "2", "--sock fd", "4"]);
        let argv = render(line, &[&values[..], &[("method", "all")]].concat()).unwrap();
        assert_eq!(argv, ["stress-ng", "-t", "2", "--sock fd-method", "all", "--sock fd", "4"]);
    }

    #[test]
    fn a_missing_value_names_the_parameter() {
        assert_eq!(
            render("x {y}", &[]).unwrap_err().to_string(),
            "`p` needs `y`: set it in the job"
        );
        assert_eq!(render("x {=2 * y}s", &[("y", "3")]).unwrap(), ["x", "6s"]);
        assert!(render("x {=2 / y}", &[("y", "0")]).is_err());
    }

    #[test]
    fn wrong_templates_are_refused() {
        for line in ["", "[a: b]", "x [a b]", "x [a: b", "x ]", "x {y", "x [a: [b: c]]"] {
            assert!(CommandTemplate::parse(line, Condition::default(), None).is_err(), "{line}");
        }
    }

    #[test]
    fn repetitions_are_bounded() {
        let repeat = Some(Expression::parse("iterations").unwrap());
        let template = CommandTemplate::parse("x", Condition::default(), repeat).unwrap();
        let times = |n: &str| {
            template.render("p", &[("iterations".to_owned(), n.to_owned())].into()).map(|c| c.len())
        };
        assert_eq!(times("3"), Ok(3));
        assert!(times("0").is_err());
        assert!(times("99999999").is_err());
    }
}
