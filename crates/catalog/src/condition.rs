//! Conditions on parameters: `test`, `!test`, `test=mq|aio`, `ipc!=pipe`, joined by `&`.

use crate::Values;

/// All of its clauses must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    text: String,
    clauses: Vec<Clause>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Clause {
    Set(String),
    Unset(String),
    OneOf(String, Vec<String>),
    NoneOf(String, Vec<String>),
}

impl Condition {
    /// Reads a condition; the error is a sentence. The empty text always holds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let clauses = text.split('&').map(str::trim).filter(|clause| !clause.is_empty());
        let clauses = clauses.map(Clause::parse).collect::<Result<_, _>>()?;
        Ok(Condition { text: text.trim().to_owned(), clauses })
    }

    /// The condition as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parameters it refers to.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.clauses.iter().map(Clause::name)
    }

    /// Whether it holds. A parameter with an empty value counts as unset.
    pub fn holds(&self, values: &Values) -> bool {
        self.clauses.iter().all(|clause| clause.holds(values))
    }
}

impl Clause {
    fn parse(text: &str) -> Result<Self, String> {
        let alternatives = |list: &str| list.split('|').map(|v| v.trim().to_owned()).collect();
        let clause = if let Some((name, list)) = text.split_once("!=") {
            Clause::NoneOf(name.trim().to_owned(), alternatives(list))
        } else if let Some((name, list)) = text.split_once('=') {
            Clause::OneOf(name.trim().to_owned(), alternatives(list))
        } else if let Some(name) = text.strip_prefix('!') {
            Clause::Unset(name.trim().to_owned())
        } else {
            Clause::Set(text.to_owned())
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if clause.name().is_empty() || !clause.name().chars().all(is_name) {
            return Err(format!("`{text}` is no condition: write `name`, `!name`, `name=a|b`"));
        }
        Ok(clause)
    }

    fn name(&self) -> &str {
        match self {
            Clause::Set(name)
            | Clause::Unset(name)
            | Clause::OneOf(name, _)
            | Clause::NoneOf(name, _) => name,
        }
    }

    fn holds(&self, values: &Values) -> bool {
        let value = values.get(self.name()).map(String::as_str).unwrap_or_default();
        match self {
            Clause::Set(_) => !value.is_empty(),
            Clause::Unset(_) => value.is_empty(),
            Clause::OneOf(_, list) => list.iter().any(|candidate| candidate == value),
            Clause::NoneOf(_, list) => list.iter().all(|candidate| candidate != value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_joined_by_and() {
        let values: Values = [("test", "mq"), ("fs", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let holds = |text: &str| Condition::parse(text).unwrap().holds(&values);
        assert!(holds(""));
        assert!(holds("test & !fs & !class"));
        assert!(holds("test=aio|mq"));
        assert!(holds("ipc!=pipe"));
        assert!(!holds("test!=mq"));
        assert!(!holds("fs"));
        assert!(Condition::parse("=x").is_err());
        assert!(Condition::parse("a b").is_err());
    }
}
