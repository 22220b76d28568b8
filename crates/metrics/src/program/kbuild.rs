//! Kernel builds between `start time: <s>` and `end time: <s>`: seconds per build.

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut start = 0.0;
    let mut total = Times::default();
    let mut builds = 0.0;
    for line in source.lines() {
        let Some((head, value)) = line.text.split_once(": ") else { continue };
        let seconds = number::leading_float(value);
        match head {
            "start time" => start = seconds,
            "real" => total.real += seconds,
            "user" => total.user += seconds,
            "sys" => total.sys += seconds,
            "end time" => {
                total.build += seconds - start;
                builds += 1.0;
            }
            _ => {}
        }
    }
    if builds == 0.0 {
        return;
    }
    out.push("buildtime_per_iteration", total.build / builds);
    for (name, seconds) in [
        ("real_time_per_iteration", total.real),
        ("user_time_per_iteration", total.user),
        ("sys_time_per_iteration", total.sys),
    ] {
        if seconds > 0.0 {
            out.push(name, seconds / builds);
        }
    }
    out.push("workload", builds);
}

#[derive(Default)]
struct Times {
    build: f64,
    real: f64,
    user: f64,
    sys: f64,
}
