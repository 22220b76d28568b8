//! `/proc/softirqs`, in blocks that begin with `time: <epoch>`: one metric per CPU and their sum.

use super::block_time;
use crate::number;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut cpus: Vec<&str> = Vec::new();
    let mut name = Name::default();
    for line in source.lines() {
        if let Some(time) = block_time(line.text) {
            out.push_word(line.number, "time", time);
            continue;
        }
        let mut words = line.text.split_ascii_whitespace();
        let Some(head) = words.next() else { continue };
        let Some(irq) = head.strip_suffix(':') else {
            cpus = line.text.split_ascii_whitespace().collect();
            continue;
        };
        let mut sum = 0.0;
        for (cpu, value) in cpus.iter().zip(&mut words) {
            out.push_word(line.number, name.of(&[cpu, ".", irq]), value);
            sum += number::leading_integer(value);
        }
        out.push(irq, sum);
    }
}
