//! ebizzy, run once or more: records per second, the spread over its threads, times, and
//! `workload`, all records of all threads.

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;
use crate::spread::Spread;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let mut throughput = 0.0;
    let mut workload = None;
    for line in source.lines() {
        let mut words = line.text.split_ascii_whitespace();
        let (Some(head), Some(value)) = (words.next(), words.next()) else { continue };
        match head {
            "real" | "user" | "sys" => {
                out.push_word(line.number, &format!("time.{head}"), value);
                if head == "real" {
                    *workload.get_or_insert(0.0) += throughput * number::leading_float(value);
                }
            }
            _ if value == "records/s" && number::parse(head).is_some() => {
                throughput = number::leading_float(head);
                out.push("throughput", throughput);
                let threads: Vec<f64> = words.map(number::leading_integer).collect();
                let Some(threads) = Spread::of(&threads) else { continue };
                out.push("throughput.per_thread.min", threads.min);
                out.push("throughput.per_thread.max", threads.max);
                let share = 100.0 * threads.stddev / throughput;
                out.push("throughput.per_thread.stddev_percent", share);
            }
            _ => {}
        }
    }
    if options.lkp_compatible || workload.is_some() {
        out.push("workload", workload.unwrap_or(0.0));
    }
}
