//! Parameters of programs and what their values mean.

use serde::Deserialize;

use crate::Expression;

/// What a parameter's value means once a job is resolved for a testbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// Any text, passed on as written.
    #[default]
    Text,
    /// A whole number.
    Integer,
    /// A number of tasks: whole, or a share of the testbox's CPUs (`50%`).
    Count,
    /// Seconds: `300`, `60s`, `5m`, `2h`, `1d`, `1w`.
    Seconds,
    /// Bytes: `4096`, `8K`, `1G`; a share of the testbox's memory (`50%`).
    Bytes,
    /// How often: a whole number, or one with an `x` behind it (`3x`).
    Times,
}

impl ValueType {
    /// How a value is written, for messages.
    pub fn expected(self) -> &'static str {
        match self {
            ValueType::Text => "any text",
            ValueType::Integer => "a whole number, like 16",
            ValueType::Count => "a whole number or a share of the CPUs, like 16 or 50%",
            ValueType::Seconds => "seconds, or a number with s, m, h, d or w: 300, 60s, 5m",
            ValueType::Bytes => {
                "bytes, a number with K, M, G, T or P, or a share of the memory: \
                                 4096, 8K, 1G, 50%"
            }
            ValueType::Times => "a whole number, with or without an x: 3 or 3x",
        }
    }
}

/// How a parameter stands in the name of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// Its value: `100%`.
    #[default]
    Value,
    /// Name and value, or the bare name when the value is empty: `nr_dev=2`.
    KeyValue,
}

/// A parameter of a program. Jobs set it under the program's key or at the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name: `nr_threads`.
    pub name: String,
    /// What it does, in a few words; empty when nobody said.
    pub description: String,
    /// How it stands in the name of a job.
    pub show: Show,
    /// What its values mean; `None` leaves it to `parameters.yaml`.
    pub value_type: Option<ValueType>,
    /// The values there are; any when empty.
    pub choices: Vec<String>,
    /// Taken when a job says nothing. An expression is calculated from the other values.
    pub default: Option<Default>,
}

/// A default value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Default {
    /// A fixed text.
    Text(String),
    /// Calculated (`= runtime / 2` in the data).
    Expression(Expression),
}

impl Parameter {
    /// A parameter of which only the name is known; `=name` in the index shows as `name=value`.
    pub(crate) fn from_index(word: &str) -> Self {
        let (name, show) = match word.strip_prefix('=') {
            Some(name) => (name, Show::KeyValue),
            None => (word, Show::Value),
        };
        Parameter {
            name: name.to_owned(),
            description: String::new(),
            show,
            value_type: None,
            choices: Vec::new(),
            default: None,
        }
    }
}
