//! Expressions in templates of include files: comparisons of a job's values with constants.

use regex::Regex;

use crate::template::TemplateError;
use crate::value::{Key, Map, Node, Value};

/// A parsed expression.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Or(Box<Expression>, Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Compare(Box<Expression>, &'static str, Box<Expression>),
    /// `job`: the whole context as a map.
    Job,
    /// A key of the context that must exist.
    Name(String),
    /// `x.name`: a key of a map that must exist, or `upcase`, `downcase` of text.
    Method(Box<Expression>, String),
    /// `x['name']`: a key of a map, nil when it does not exist.
    Index(Box<Expression>, String),
    Constant(Value),
    /// Text with `#{}` in it.
    Interpolated(Vec<Expression>),
    Pattern(String),
}

/// Longest chain of operators and parentheses.
const DEEPEST: usize = 32;

impl Expression {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let tokens = tokenize(text)?;
        let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, text };
        let expression = parser.either()?;
        if parser.at < tokens.len() {
            return Err(parser.unsupported());
        }
        Ok(expression)
    }

    pub(crate) fn is_true(&self, context: &Map) -> Result<bool, TemplateError> {
        Ok(!matches!(self.value(context)?, Value::Null | Value::Bool(false)))
    }

    pub(crate) fn value(&self, context: &Map) -> Result<Value, TemplateError> {
        match self {
            Expression::Or(left, right) => match left.value(context)? {
                Value::Null | Value::Bool(false) => right.value(context),
                value => Ok(value),
            },
            Expression::And(left, right) => match left.is_true(context)? {
                true => right.value(context),
                false => Ok(Value::Bool(false)),
            },
            Expression::Not(inner) => Ok(Value::Bool(!inner.is_true(context)?)),
            Expression::Compare(left, operator, right) => compare(left, operator, right, context),
            Expression::Job => Ok(Value::Map(context.clone())),
            Expression::Name(name) => get(context, name),
            Expression::Method(of, name) => match (of.value(context)?, name.as_str()) {
                // Every Ruby object has a class, so a key of that name is never seen.
                (Value::Map(_), "class") => Ok(Value::Symbol("Map".to_owned())),
                (Value::Map(map), name) => get(&map, name),
                (Value::Text(text), "upcase") => Ok(Value::Text(text.to_uppercase())),
                (Value::Text(text), "downcase") => Ok(Value::Text(text.to_lowercase())),
                (_, name) => Err(TemplateError::Unsupported(format!("`.{name}`"))),
            },
            Expression::Index(of, key) => match of.value(context)? {
                Value::Map(map) => Ok(map.get(key).map_or(Value::Null, |node| node.value.clone())),
                _ => Err(TemplateError::Unsupported(format!("`['{key}']` of what is no map"))),
            },
            Expression::Constant(value) => Ok(value.clone()),
            Expression::Interpolated(parts) => {
                let mut text = String::new();
                for part in parts {
                    text.push_str(&part.value(context)?.to_text());
                }
                Ok(Value::Text(text))
            }
            Expression::Pattern(pattern) => Ok(Value::Text(pattern.clone())),
        }
    }
}

fn get(map: &Map, name: &str) -> Result<Value, TemplateError> {
    let by_text = Key::Text(name.to_owned());
    let node: Option<&Node> = map.find(&by_text);
    node.map(|node| node.value.clone()).ok_or_else(|| TemplateError::MissingKey(name.to_owned()))
}

fn compare(
    left: &Expression,
    operator: &str,
    right: &Expression,
    context: &Map,
) -> Result<Value, TemplateError> {
    let subject = left.value(context)?;
    let result = match (operator, right) {
        ("=~", Expression::Pattern(pattern)) => matches_pattern(&subject, pattern)?,
        ("!~", Expression::Pattern(pattern)) => !matches_pattern(&subject, pattern)?,
        ("==", _) => subject == right.value(context)?,
        ("!=", _) => subject != right.value(context)?,
        _ => match (subject, right.value(context)?) {
            (Value::Integer(left), Value::Integer(right)) => match operator {
                ">" => left > right,
                "<" => left < right,
                ">=" => left >= right,
                _ => left <= right,
            },
            _ => return Err(TemplateError::Unsupported(format!("`{operator}` of no numbers"))),
        },
    };
    Ok(Value::Bool(result))
}

/// Whether one of the patterns behind a `when` fits.
pub(crate) fn any_matches(
    patterns: &str,
    subject: &Value,
    context: &Map,
) -> Result<bool, TemplateError> {
    for pattern in patterns.split(", ") {
        let fits = match Expression::parse(pattern)? {
            Expression::Pattern(pattern) => matches_pattern(subject, &pattern)?,
            other => other.value(context)? == *subject,
        };
        if fits {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A regular expression; a negative look-ahead at its end is taken apart, for the engine has none.
fn matches_pattern(subject: &Value, pattern: &str) -> Result<bool, TemplateError> {
    let Value::Text(text) = subject else { return Ok(false) };
    let unsupported = || TemplateError::Unsupported(format!("the pattern /{pattern}/"));
    let compile = |p: &str| Regex::new(&format!("(?m){p}")).map_err(|_| unsupported());
    if let Some((head, tail)) = pattern.split_once("(?!") {
        let tail = tail.strip_suffix(')').filter(|t| !t.contains(['(', ')']));
        let refused = compile(&format!("\\A(?:{})", tail.ok_or_else(unsupported)?))?;
        return Ok(compile(head)?
            .find_iter(text)
            .any(|found| !text.get(found.end()..).is_some_and(|rest| refused.is_match(rest))));
    }
    Ok(compile(pattern)?.is_match(text))
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Sign(&'static str),
    Name(String),
    Number(i128),
    Text(String),
    Interpolated(String),
    Pattern(String),
}

const SIGNS: [&str; 15] =
    ["&&", "||", "==", "!=", "=~", "!~", ">=", "<=", ">", "<", "!", "(", ")", "[", "]"];

fn tokenize(text: &str) -> Result<Vec<Token>, TemplateError> {
    let unsupported = || TemplateError::Unsupported(format!("`{}`", text.trim()));
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else if matches!(first, '\'' | '"' | '/') {
            let (body, tail) = rest[1..].split_once(first).ok_or_else(unsupported)?;
            let body = body.to_owned();
            tokens.push(match first {
                '/' => Token::Pattern(body),
                '"' if body.contains("#{") => Token::Interpolated(body),
                _ => Token::Text(body),
            });
            rest = tail;
        } else if first == '.' {
            tokens.push(Token::Sign("."));
            rest = &rest[1..];
        } else {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            if word.is_empty() {
                return Err(unsupported());
            }
            tokens.push(match word.parse() {
                Ok(number) => Token::Number(number),
                Err(_) => Token::Name(word.to_owned()),
            });
            rest = tail;
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    text: &'a str,
}

impl Parser<'_> {
    fn unsupported(&self) -> TemplateError {
        TemplateError::Unsupported(format!("`{}`", self.text.trim()))
    }

    fn take(&mut self, sign: &str, word: &str) -> bool {
        let found = match self.tokens.get(self.at) {
            Some(Token::Sign(found)) => *found == sign,
            Some(Token::Name(found)) => found == word,
            _ => false,
        };
        self.at += usize::from(found);
        found
    }

    fn either(&mut self) -> Result<Expression, TemplateError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.unsupported());
        }
        let mut left = self.both()?;
        while self.take("||", "or") {
            left = Expression::Or(Box::new(left), Box::new(self.both()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression, TemplateError> {
        let mut left = self.comparison()?;
        while self.take("&&", "and") {
            left = Expression::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Expression, TemplateError> {
        let mut negations = 0;
        while self.take("!", "not") {
            negations += 1;
        }
        let mut left = self.operand()?;
        for operator in ["==", "!=", "=~", "!~", ">=", "<=", ">", "<"] {
            if self.take(operator, operator) {
                let right = self.operand()?;
                left = Expression::Compare(Box::new(left), operator, Box::new(right));
                break;
            }
        }
        Ok(if negations % 2 == 1 { Expression::Not(Box::new(left)) } else { left })
    }

    fn operand(&mut self) -> Result<Expression, TemplateError> {
        let token = self.tokens.get(self.at).cloned().ok_or_else(|| self.unsupported())?;
        self.at += 1;
        let mut operand = match token {
            Token::Sign("(") => {
                let inner = self.either()?;
                if !self.take(")", ")") {
                    return Err(self.unsupported());
                }
                inner
            }
            Token::Sign(_) => return Err(self.unsupported()),
            Token::Name(name) => match name.as_str() {
                "nil" => Expression::Constant(Value::Null),
                "true" => Expression::Constant(Value::Bool(true)),
                "false" => Expression::Constant(Value::Bool(false)),
                "job" => Expression::Job,
                _ => Expression::Name(name),
            },
            Token::Number(number) => Expression::Constant(Value::Integer(number)),
            Token::Text(text) => Expression::Constant(Value::Text(text)),
            Token::Interpolated(text) => interpolation(&text)?,
            Token::Pattern(pattern) => Expression::Pattern(pattern),
        };
        loop {
            if self.take("[", "[") {
                let Some(Token::Text(key)) = self.tokens.get(self.at).cloned() else {
                    return Err(self.unsupported());
                };
                self.at += 1;
                if !self.take("]", "]") {
                    return Err(self.unsupported());
                }
                operand = Expression::Index(Box::new(operand), key);
            } else if self.take(".", ".") {
                let Some(Token::Name(name)) = self.tokens.get(self.at).cloned() else {
                    return Err(self.unsupported());
                };
                self.at += 1;
                operand = Expression::Method(Box::new(operand), name);
            } else {
                return Ok(operand);
            }
        }
    }
}

fn interpolation(text: &str) -> Result<Expression, TemplateError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once("#{") {
        parts.push(Expression::Constant(Value::Text(before.to_owned())));
        let (code, after) =
            tail.split_once('}').ok_or_else(|| TemplateError::Unsupported(format!("`{text}`")))?;
        parts.push(Expression::parse(code)?);
        rest = after;
    }
    parts.push(Expression::Constant(Value::Text(rest.to_owned())));
    Ok(Expression::Interpolated(parts))
}
