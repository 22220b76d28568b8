//! The text of `perf report --children --header -g folded,...`: one line per symbol with its
//! share of samples, with and without callees, and folded call chains below it.
//!
//! Shares are percent; of a chain the five innermost functions are kept. What has less than
//! 0.05% is left out.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

/// Shares below this are left out, in percent.
const SMALLEST_SHARE: f64 = 0.05;
/// Functions of a call chain that are kept.
const CHAIN_LENGTH: usize = 5;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let mut lines = source.lines();
    let is_report = |line: &str| line == "# ========" || line.contains(" --header");
    if !lines.next().is_some_and(|line| is_report(line.text)) {
        out.notes.add(1, || "not the text of `perf report --header`".to_owned());
        return;
    }
    let Some(mut event) = lines.find_map(|line| sampled_event(line.text)) else {
        out.notes.add(0, || "no `# Samples: ... of event` line".to_owned());
        return;
    };
    let mut shares = Shares::default();
    for line in lines {
        if line.text.starts_with('#') {
            if let Some(next) = sampled_event(line.text).filter(|_| !options.lkp_compatible) {
                event = next;
            }
        } else if let Some(row) = SymbolRow::read(line.text) {
            let symbol = without_clone_suffix(row.symbol);
            shares.add(&["children.", &event, ".", &symbol], row.children);
            shares.add(&["self.", &event, ".", &symbol], row.own);
        } else if let Some((share, chain)) = chain(line.text) {
            shares.add_chain(&event, chain, share);
        }
    }
    shares.push(out);
}

/// Shares by metric, added up.
#[derive(Default)]
struct Shares {
    by_name: HashMap<String, f64>,
    name: String,
}

impl Shares {
    fn add(&mut self, parts: &[&str], share: f64) {
        self.name.clear();
        self.name.extend(parts.iter().copied());
        self.add_named(share);
    }

    fn add_chain(&mut self, event: &str, chain: &str, share: f64) {
        self.name.clear();
        self.name.extend(["calltrace.", event]);
        for function in chain.split(';').take(CHAIN_LENGTH) {
            self.name.push('.');
            self.name.push_str(&without_clone_suffix(function));
        }
        self.add_named(share);
    }

    fn add_named(&mut self, share: f64) {
        match self.by_name.get_mut(&self.name) {
            Some(sum) => *sum += share,
            None => {
                self.by_name.insert(self.name.clone(), share);
            }
        }
    }

    fn push(self, out: &mut Parsed) {
        let mut shares: Vec<(String, f64)> = self.by_name.into_iter().collect();
        shares.retain(|(_, share)| *share >= SMALLEST_SHARE);
        shares.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (name, share) in shares {
            out.push(&name, number::rounded(share, 2));
        }
    }
}

/// `# Samples: 124K of event 'cpu-clock'` -> `cpu-clock`
fn sampled_event(line: &str) -> Option<String> {
    let event = if let Some(rest) = line.strip_prefix("# Samples: ") {
        after_count(rest)?.strip_prefix(" of event ")?
    } else {
        let rest = after_count(line.strip_prefix("# Events: ")?)?;
        let event = rest.trim_ascii_start();
        (event.len() < rest.len()).then_some(event)?
    };
    Some(event.replace(':', "-").replace('\'', ""))
}

/// What follows `124K` or `489 `.
fn after_count(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if digits > 0 { text.get(digits..)? } else { return None };
    rest.strip_prefix(['K', 'M', 'G', ' '])
}

struct SymbolRow<'l> {
    children: f64,
    own: f64,
    symbol: &'l str,
}

impl<'l> SymbolRow<'l> {
    /// `81.27%  3.58%  [kernel.kallsyms]  [k] do_syscall_64`, with two more words at times.
    fn read(line: &'l str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let children = percent(words.next()?)?;
        let own = percent(words.next()?)?;
        let (_object, _level) = (words.next()?, words.next()?);
        let symbol = words.next()?;
        matches!(words.count(), 0 | 2).then_some(SymbolRow { children, own, symbol })
    }
}

/// `42.08% do_syscall_64;entry_SYSCALL_64_after_hwframe;read`, at the beginning of the line.
fn chain(line: &str) -> Option<(f64, &str)> {
    if !line.starts_with(|c: char| c.is_ascii_digit()) || line.ends_with([' ', '\t']) {
        return None;
    }
    let mut words = line.split_ascii_whitespace();
    let share = percent(words.next()?)?;
    let chain = words.next()?;
    words.next().is_none().then_some((share, chain))
}

/// `12.34%`
fn percent(word: &str) -> Option<f64> {
    let number = word.strip_suffix('%')?;
    let (whole, fraction) = number.split_once('.')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    (digits(whole) && digits(fraction)).then(|| number::parse(number))?
}

/// Compilers clone functions and name the clones `.isra.0`, `.constprop.3`, `.part.12`; a change
/// of that number is no change of the profile.
fn without_clone_suffix(symbol: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut rest = symbol;
    let mut from = 0;
    while let Some(dot) = rest.get(from..).and_then(|tail| tail.find('.')).map(|at| at + from) {
        match clone_suffix(&rest[dot..]) {
            Some(length) => {
                clean.push_str(&rest[..dot]);
                rest = &rest[dot + length..];
                from = 0;
            }
            None => from = dot + 1,
        }
    }
    if rest.len() == symbol.len() {
        return Cow::Borrowed(symbol);
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// Length of the `.isra.0` that a text begins with.
fn clone_suffix(text: &str) -> Option<usize> {
    let kinds = [".isra.", ".constprop.", ".part."];
    let kind = kinds.into_iter().find(|kind| text.starts_with(kind))?;
    let digits = text[kind.len()..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then_some(kind.len() + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_function_are_one_symbol() {
        assert_eq!(without_clone_suffix("copy.isra.0.constprop.12"), "copy");
        assert_eq!(without_clone_suffix("a.part.x.part.1"), "a.part.x");
    }

    #[test]
    fn events_are_named_without_colons_and_quotes() {
        let line = "# Samples: 124K of event 'cpu-clock:pppH'";
        assert_eq!(sampled_event(line).as_deref(), Some("cpu-clock-pppH"));
        assert_eq!(sampled_event("# Events: 489  cache-misses").as_deref(), Some("cache-misses"));
        assert_eq!(sampled_event("# Samples: none"), None);
    }
}
