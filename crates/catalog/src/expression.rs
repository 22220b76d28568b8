//! Whole-number expressions over parameters: `30000 * nr_cpu / nr_threads`.
//!
//! Four operations and parentheses on 64-bit integers; a division drops the fraction. That is all
//! that durations and loop counts of benchmarks need.

use crate::Values;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Number(i64),
    Name(String),
    Binary(Operator, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Expression {
    /// Reads an expression; the error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tokens = tokenize(text)?;
        let mut reader = Reader { tokens: &tokens, at: 0, depth: 0 };
        let root = reader.sum()?;
        if reader.at < tokens.len() {
            return Err(format!("`{text}` goes on where it should end"));
        }
        Ok(Expression { text: text.trim().to_owned(), root })
    }

    /// The expression as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names it refers to.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        collect_names(&self.root, &mut names);
        names
    }

    /// Its value; the error is a sentence.
    pub fn evaluate(&self, values: &Values) -> Result<i64, String> {
        evaluate(&self.root, values)
    }
}

fn collect_names<'a>(node: &'a Node, names: &mut Vec<&'a str>) {
    match node {
        Node::Number(_) => {}
        Node::Name(name) => names.push(name),
        Node::Binary(_, left, right) => {
            collect_names(left, names);
            collect_names(right, names);
        }
    }
}

fn evaluate(node: &Node, values: &Values) -> Result<i64, String> {
    match node {
        Node::Number(number) => Ok(*number),
        Node::Name(name) => {
            let text = values.get(name).ok_or_else(|| format!("`{name}` is not set"))?;
            text.trim().parse().map_err(|_| format!("`{name}` is `{text}`, no whole number"))
        }
        Node::Binary(operator, left, right) => {
            let (left, right) = (evaluate(left, values)?, evaluate(right, values)?);
            let result = match operator {
                Operator::Add => left.checked_add(right),
                Operator::Subtract => left.checked_sub(right),
                Operator::Multiply => left.checked_mul(right),
                Operator::Divide if right == 0 => return Err("a division by zero".to_owned()),
                Operator::Divide => left.checked_div(right),
            };
            result.ok_or_else(|| "the result is too large".to_owned())
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Number(i64),
    Name(String),
    Sign(char),
}

fn tokenize(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() {
            rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
        } else if is_name_char(first) {
            rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, tail) = rest.split_at(length);
        rest = tail;
        if first.is_ascii_digit() {
            let number = word.parse().map_err(|_| format!("`{word}` is too large"))?;
            tokens.push(Token::Number(number));
        } else if is_name_char(first) {
            tokens.push(Token::Name(word.to_owned()));
        } else if "+-*/()".contains(first) {
            tokens.push(Token::Sign(first));
        } else if !first.is_whitespace() {
            return Err(format!("`{first}` has no meaning in `{text}`"));
        }
    }
    Ok(tokens)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn take_sign(&mut self, signs: &[char]) -> Option<char> {
        match self.tokens.get(self.at) {
            Some(Token::Sign(sign)) if signs.contains(sign) => {
                self.at += 1;
                Some(*sign)
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<Node, String> {
        let mut left = self.product()?;
        while let Some(sign) = self.take_sign(&['+', '-']) {
            let operator = if sign == '+' { Operator::Add } else { Operator::Subtract };
            left = Node::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut left = self.operand()?;
        while let Some(sign) = self.take_sign(&['*', '/']) {
            let operator = if sign == '*' { Operator::Multiply } else { Operator::Divide };
            left = Node::Binary(operator, Box::new(left), Box::new(self.operand()?));
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Node, String> {
        const DEEPEST: usize = 32;
        if self.take_sign(&['(']).is_some() {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err("parentheses are nested too deep".to_owned());
            }
            let inner = self.sum()?;
            self.depth -= 1;
            self.take_sign(&[')']).ok_or("a `)` is missing")?;
            return Ok(inner);
        }
        let token = self.tokens.get(self.at).ok_or("an operand is missing at the end")?;
        self.at += 1;
        match token {
            Token::Number(number) => Ok(Node::Number(*number)),
            Token::Name(name) => Ok(Node::Name(name.clone())),
            Token::Sign(sign) => Err(format!("an operand is missing before `{sign}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, String> {
        let values = [("nr_cpu", "8"), ("nr_threads", "3"), ("bad", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        Expression::parse(text)?.evaluate(&values)
    }

    #[test]
    fn the_four_operations_bind_as_usual() {
        assert_eq!(value("30000 * nr_cpu / nr_threads"), Ok(80_000));
        assert_eq!(value("2 + 3*(nr_cpu-1)"), Ok(23));
        assert_eq!(value("10-4-3"), Ok(3));
    }

    #[test]
    fn faults_are_sentences() {
        assert_eq!(value("1 / (nr_cpu - 8)").unwrap_err(), "a division by zero");
        assert_eq!(value("bad + 1").unwrap_err(), "`bad` is `x`, no whole number");
        assert_eq!(value("other").unwrap_err(), "`other` is not set");
        assert_eq!(value("9223372036854775807 + 1").unwrap_err(), "the result is too large");
        for wrong in ["", "1 +", "(1", "1 2", "* 2", "a % b", "99999999999999999999"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
        assert!(value(&"(".repeat(10_000)).is_err());
    }
}
