//! `/proc/interrupts`, in blocks that begin with `time: <epoch>`: one metric per CPU and their
//! sum, named `<irq>:<controller and device>`.

use super::block_time;
use crate::number;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut cpus: Vec<&str> = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    let mut irq = String::new();
    let mut name = Name::default();
    for line in source.lines() {
        if let Some(time) = block_time(line.text) {
            out.push_word(line.number, "time", time);
            continue;
        }
        words.clear();
        words.extend(line.text.split_ascii_whitespace());
        match words.as_slice() {
            [] => {}
            all if all.iter().all(|word| is_cpu(word)) => cpus.clone_from(&words),
            [head, ..] if !head.get(1..).is_some_and(|rest| rest.contains(':')) => {
                out.unexpected(line.number, line.text);
            }
            // ERR and MIS are one number for the whole machine.
            [head, count] => {
                out.push_word(line.number, head.strip_suffix(':').unwrap_or(head), count);
            }
            [head, rest @ ..] if rest.len() >= cpus.len() => {
                let (counts, description) = rest.split_at(cpus.len());
                write_irq(&mut irq, head, description);
                let mut sum = 0.0;
                for (cpu, count) in cpus.iter().zip(counts) {
                    out.push_word(line.number, name.of(&[cpu, ".", &irq]), count);
                    sum += number::leading_integer(count);
                }
                out.push(&irq, sum);
            }
            _ => out.unexpected(line.number, line.text),
        }
    }
}

/// Words of numbered lines are joined with dots (`24:IO-APIC.5-edge.ACPI:Ged`; a list of devices
/// `a, b` becomes `a,b`), those of the architecture's own lines with underscores
/// (`LOC:Local_timer_interrupts`).
fn write_irq(irq: &mut String, head: &str, description: &[&str]) {
    let numbered = head.strip_suffix(':').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    irq.clear();
    irq.push_str(head);
    for (at, word) in description.iter().enumerate() {
        match (at > 0, numbered) {
            (true, true) if !irq.ends_with(',') => irq.push('.'),
            (true, false) => irq.push('_'),
            _ => {}
        }
        irq.push_str(word);
    }
}

fn is_cpu(word: &str) -> bool {
    word.strip_prefix("CPU")
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}
