//! Kinds of kernel messages that are known by a part of their text: what names them, and a
//! pattern by which another kernel's log can be searched for the same fault.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::message_id::regex;

/// A message without its variable parts, and the pattern to find it by.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) message: String,
    pub(super) pattern: String,
}

/// Names a message. What is before the first letter (level, time, caller) is no part of it.
pub(super) fn name(what: &str) -> Named {
    static LEVEL: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:kern  |user  |daemon):......: "));
    static CALLER: LazyLock<Regex> = LazyLock::new(|| regex(r"\[ {0,4}[A-Z][0-9]{1,5}\] "));
    let message = LEVEL.replace(what, "");
    let message = CALLER.replace(&message, " ");
    let message = message.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    short(message)
        .or_else(|| joined(message))
        .or_else(|| special(message))
        .unwrap_or_else(|| Named { message: message.to_owned(), pattern: search_pattern(message) })
}

/// Messages that their first group names entirely.
const SHORT: &[&str] = &[
    r"(INFO: rcu[_a-z]* self-detected stall on CPU)",
    r"(INFO: rcu[_a-z]* detected stalls on CPUs/tasks:)",
    r"(related general protection fault:)",
    r"(BUG: using __this_cpu_read\(\) in preemptible)",
    r"(BUG: unable to handle kernel)",
    r"(BUG: workqueue leaked lock or atomic:)",
    r"(BUG: scheduling while atomic:)",
    r"(BUG: Bad page map in process)",
    r"(BUG: Bad page state in process)",
    r"(BUG: Bad page cache in process)",
    r"(BUG: soft lockup - CPU#[0-9]+ stuck for [0-9]+s!.*)",
    r"(BUG: spinlock .* on CPU#[0-9]+)",
    r"(Out of memory: Kill process) [0-9]+ \(",
    r"(Writer stall state [0-9A-Za-z_]*).+ g[0-9]+ c[0-9]+ f",
    r"(BUG: workqueue lockup - pool)",
    r"(rcu_sched kthread starved) for [0-9]+ jiffies",
    r"(Could not create tracefs)",
    r"(used greatest stack depth:)",
    r"([A-Z]+[ a-zA-Z]*): [a-f0-9]{4} \[#[0-9]+\] ",
    r"(BUG: KASAN: [a-z\-_ ]+ in [a-z_]+)\+",
    r"(BUG: KFENCE: [a-z\-_ ]+ in [a-z_]+)\+",
    r"(cpu clock throttled)",
    r"(Kernel panic - not syncing: No working init found.)  Try passing init= option to kernel. ",
    r"(Kernel panic - not syncing: No init found.)  Try passing init= option to kernel. ",
];

fn short(message: &str) -> Option<Named> {
    static PATTERNS: LazyLock<Vec<Regex>> =
        LazyLock::new(|| SHORT.iter().map(|pattern| regex(pattern)).collect());
    let found = PATTERNS.iter().find_map(|pattern| pattern.captures(message))?;
    let name = group(&found, 1).to_owned();
    Some(Named { message: name.clone(), pattern: name })
}

/// Messages with something variable in their middle.
fn joined(message: &str) -> Option<Named> {
    static PATTERNS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        [
            regex(r"(BUG: ).* (still has locks held)"),
            regex(r"(INFO: task ).* (blocked for more than [0-9]+ seconds)"),
        ]
    });
    let found = PATTERNS.iter().find_map(|pattern| pattern.captures(message))?;
    let (head, tail) = (group(&found, 1), group(&found, 2));
    Some(Named { message: format!("{head}{tail}"), pattern: tail.to_owned() })
}

/// Messages whose name is made in a way of their own; the first that fits counts.
fn special(message: &str) -> Option<Named> {
    RULES.iter().find_map(|rule| {
        let found = rule.pattern.captures(message)?;
        Some((rule.name)(message, &found))
    })
}

struct Rule {
    pattern: Regex,
    name: fn(&str, &Captures<'_>) -> Named,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rule = |pattern: &str, name| Rule { pattern: regex(pattern), name };
    vec![
        rule(r"WARNING:.* at .* ([a-zA-Z.0-9_]+\+0x)", name_warning),
        rule(
            r"(UBSAN: .+)|(BUG: using smp_processor_id\(\) in preemptible)|^[0-9a-z]+>\] (.+)",
            name_rest,
        ),
        rule(r"(BUG: key )[0-9a-f]+ (not in .data)", name_around_address),
        rule(r"(BUG: Dentry ).* (still in use) .* \[unmount of ", name_around_address),
        rule(r"^(?:backtrace|calltrace):([a-zA-Z0-9_]+)", |message, found| Named {
            message: message.to_owned(),
            pattern: format!("{}+0x", group(found, 1)),
        }),
        rule(r"Corrupted low memory at", |message, _| {
            static PHYSICAL: LazyLock<Regex> =
                LazyLock::new(|| regex(r"(?-u:\b)[0-9a-f]+(?-u:\b) phys"));
            static VALUE: LazyLock<Regex> = LazyLock::new(|| regex(r"= (?-u:\b)[0-9a-f]+(?-u:\b)"));
            let clean = PHYSICAL.replace(message, "# phys");
            masked(message, VALUE.replace(&clean, "= #").into_owned())
        }),
        masking(r"kobject \((?:[0-9a-f]+|\(_*ptrval_*\))\)(: tried to init an initialized object)"),
        masking(r"BUG: Bad rss-counter state mm:(?:[0-9a-f]+|\(_*ptrval_*\)) "),
        masking(r"Bad pagetable: [0-9a-f]+ \[#"),
        rule(
            r"(INFO: Slab 0x\(____ptrval____\) objects=.*fp=0x).* (flags=.*)",
            |message, found| masked(message, format!("{}(#) {}", group(found, 1), group(found, 2))),
        ),
        rule(r"(.*) \]---(.*)", |_, found| {
            let message = format!("{}{}", group(found, 1), group(found, 2));
            Named { pattern: search_pattern(&message), message }
        }),
        rule(r"segfault at .* ip .* sp .* error", |_, _| {
            let message = "segfault at ip sp error".to_owned();
            Named { pattern: search_pattern(&message), message }
        }),
    ]
});

/// A rule for messages that name an object by its address, which becomes `#`.
fn masking(pattern: &str) -> Rule {
    Rule {
        pattern: regex(pattern),
        name: |message, found| {
            let whole = group(found, 0);
            let mask = if whole.starts_with("kobject") {
                format!("kobject (#){}", group(found, 1))
            } else if whole.starts_with("BUG") {
                "BUG: Bad rss-counter state mm:# ".to_owned()
            } else {
                "Bad pagetable: # [#".to_owned()
            };
            masked(message, message.replacen(whole, &mask, 1))
        },
    }
}

fn masked(message: &str, clean: String) -> Named {
    Named { pattern: search_pattern(message), message: clean }
}

/// `WARNING: CPU: 0 PID: 546 at kernel/trace/ftrace.c:2006 ftrace_bug+0x216/0x330`: where it is,
/// not which CPU and task met it.
fn name_warning(message: &str, found: &Captures<'_>) -> Named {
    static CLONE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"\.(?:isra|constprop|part)\.[0-9]+\+0x"));
    let function = CLONE.replace(group(found, 1), "");
    let at = message.find("at ").map_or(message, |start| &message[start..]);
    Named { message: format!("WARNING: {at}"), pattern: format!("WARNING:.* at .* {function}") }
}

fn name_rest(_: &str, found: &Captures<'_>) -> Named {
    let message = (1..=3).map(|at| group(found, at)).find(|text| !text.is_empty());
    let message = message.unwrap_or_default().to_owned();
    Named { pattern: search_pattern(&message), message }
}

fn name_around_address(_: &str, found: &Captures<'_>) -> Named {
    let (head, tail) = (group(found, 1), group(found, 2));
    Named { message: format!("{head}{tail}"), pattern: format!("{head}.* {tail}") }
}

fn group<'m>(found: &Captures<'m>, at: usize) -> &'m str {
    found.get(at).map_or("", |text| text.as_str())
}

/// The words of a message up to the first that is surely the fault's own (`function+0x`, `name=`);
/// words with variable parts become `.*`.
fn search_pattern(message: &str) -> String {
    let mut words: Vec<&str> = message.split_ascii_whitespace().collect();
    if words.len() == 1 {
        return message.to_owned();
    }
    let mut pattern: Vec<String> = Vec::new();
    for word in words.drain(..) {
        if let Some(own) = telling_part(word) {
            pattern.push(own);
            break;
        }
        if let Some(file) = source_place(word) {
            pattern.push(format!("{file}:.*"));
        } else if word.chars().all(|c| c.is_ascii_alphabetic() || "/:.()!_-".contains(c)) {
            pattern.push(word.to_owned());
        } else if pattern.last().is_none_or(|last| last != ".*") {
            pattern.push(".*".to_owned());
        }
    }
    let skipped = pattern.iter().take_while(|word| *word == ".*").count();
    pattern.drain(..skipped);
    if pattern.last().is_some_and(|last| last == ".*") {
        pattern.pop();
    }
    pattern.join(" ")
}

/// `foo.isra.0+0x12/0x34` -> `foo`, `foo+0x12` -> `foo+0x`, `gfp_mask=0x1` -> `gfp_mask=`
fn telling_part(word: &str) -> Option<String> {
    static PARTS: LazyLock<[Regex; 3]> = LazyLock::new(|| {
        [
            regex(r"([a-zA-Z0-9_]+)\.(?:isra|constprop|part)\.[0-9]+\+0x"),
            regex(r"([a-zA-Z0-9_]+\+0x)"),
            regex(r"([a-zA-Z0-9_]+=)"),
        ]
    });
    let found = PARTS.iter().find_map(|part| part.captures(word))?;
    Some(group(&found, 1).to_owned())
}

/// `kernel/fork.c:123` -> `kernel/fork.c`
fn source_place(word: &str) -> Option<&str> {
    let is_path = |c: char| c.is_ascii_alphabetic() || "/._-".contains(c);
    let file = &word[..word.find(|c| !is_path(c))?];
    let rest = word[file.len()..].strip_prefix(':')?;
    rest.starts_with(|c: char| c.is_ascii_digit()).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_named_by_its_place() {
        let named =
            name("WARNING: CPU: 0 PID: 546 at kernel/trace/ftrace.c:2006 ftrace_bug+0x216/0x330");
        assert_eq!(named.pattern, "WARNING:.* at .* ftrace_bug+0x");
        assert!(named.message.starts_with("WARNING: at kernel/trace/ftrace.c:2006"));
    }

    #[test]
    fn a_search_pattern_leaves_out_what_varies() {
        assert_eq!(search_pattern("handlers:"), "handlers:");
        assert_eq!(search_pattern("Next obj: start=c96b2400, len=1024"), "Next obj: start=");
        assert_eq!(search_pattern("e1000 0000:00:03.0 eth0: Unable to: -16"), "Unable to:");
        assert_eq!(
            search_pattern("util/cpumap.c:48:22: runtime error"),
            "util/cpumap.c:.* runtime error"
        );
        assert_eq!(search_pattern(""), "");
    }
}
