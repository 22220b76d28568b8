//! `/sys/devices/system/cpu/cpu*/cpuidle/state*`: blocks that begin with `time: <epoch>`, in each
//! lines `cpu0.C1.time: <us>` and `cpu0.C1.usage: <entries>`. The CPUs of a block are summed.

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::samples::Samples;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let mut block = Samples::default();
    for line in source.lines() {
        if let Some(time) = line.text.strip_prefix("time: ") {
            push_sums(&mut block, out);
            if !options.lkp_compatible {
                out.push_word(line.number, "time", time.trim());
            }
        } else if let Some((state, value)) = state_of_cpu(line.text) {
            block.push(state, number::leading_integer(value));
        } else if !line.text.trim().is_empty() {
            out.unexpected(line.number, line.text);
        }
    }
    push_sums(&mut block, out);
}

fn push_sums(block: &mut Samples, out: &mut Parsed) {
    for (state, cpus) in block.iter() {
        out.push(state, cpus.values().iter().sum());
    }
    *block = Samples::default();
}

fn state_of_cpu(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("cpu")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (state, value) = rest.get(digits..)?.strip_prefix('.')?.split_once(": ")?;
    (digits > 0 && !state.is_empty() && !state.contains(':')).then_some((state, value))
}
