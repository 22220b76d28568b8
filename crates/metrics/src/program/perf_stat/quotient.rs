//! Quotients of counts: what the events say together.

use std::collections::HashMap;

use crate::parsed::{Name, Parsed};

use super::interval::{Count, Counts};

/// Bytes that one access of an integrated memory controller moves.
const CACHE_LINE: f64 = 64.0;
const MEBIBYTE: f64 = 1_048_576.0;

#[derive(Debug, Default)]
pub(super) struct Quotients {
    name: Name,
    /// Memory latency of the interval before, for one without any access.
    last_latency: HashMap<String, f64>,
}

impl Quotients {
    /// Adds what can be made of these counts. `intervals` is how many intervals they cover.
    pub(super) fn push(
        &mut self,
        prefix: &str,
        counts: &Counts,
        seconds: f64,
        intervals: f64,
        out: &mut Parsed,
    ) {
        for (event, count) in counts.iter() {
            if let Some((stem, _)) = event.rsplit_once("-misses") {
                self.push_miss_rate(prefix, stem, count.sum, counts, out);
                if count.sum != 0.0 {
                    self.push_per_miss(prefix, event, count.sum, counts, out);
                }
            } else if let Some((socket, controller)) = memory_controller(event) {
                let controller = MemoryController { socket, controller, seconds, intervals };
                self.push_memory(prefix, &controller, count, counts, out);
            } else if let Some((stem, _)) = event.rsplit_once("cpu-cycles") {
                let instructions = counts.sum(&format!("{stem}instructions"));
                if instructions != 0.0 {
                    out.push(self.name.of(&[prefix, stem, "ipc"]), instructions / count.sum);
                    out.push(self.name.of(&[prefix, stem, "cpi"]), count.sum / instructions);
                }
            }
        }
    }

    /// Misses per access. `loads` counts hits where there is an event of that name beside
    /// `load-misses`; `cache-references` and `branch-instructions` count all.
    fn push_miss_rate(
        &mut self,
        prefix: &str,
        stem: &str,
        misses: f64,
        counts: &Counts,
        out: &mut Parsed,
    ) {
        for (suffix, hits_only) in [("s", true), ("-references", false), ("-instructions", false)] {
            let accesses = counts.sum(&format!("{stem}{suffix}"));
            if accesses != 0.0 {
                let all = if hits_only { accesses + misses } else { accesses };
                out.push(self.name.of(&[prefix, stem, "-miss-rate%"]), misses * 100.0 / all);
                return;
            }
        }
    }

    fn push_per_miss(
        &mut self,
        prefix: &str,
        event: &str,
        misses: f64,
        counts: &Counts,
        out: &mut Parsed,
    ) {
        let mut push = |name: &[&str], of: String, value: &dyn Fn(f64) -> f64| {
            let other = counts.sum(&of);
            if other != 0.0 {
                out.push(self.name.of(name), value(other));
            }
        };
        if let Some((stem, _)) = event.rsplit_once("iTLB-load-misses") {
            let name = [prefix, stem, "instructions-per-iTLB-miss"];
            push(&name, format!("{stem}instructions"), &|instructions| instructions / misses);
        } else if let Some((stem, _)) = event.rsplit_once("cache-misses") {
            let name = [prefix, stem, "cycles-between-cache-misses"];
            push(&name, format!("{stem}cpu-cycles"), &|cycles| cycles / misses);
            let per_thousand = |instructions: f64| misses / instructions * 1000.0;
            push(&[prefix, stem, "MPKI"], format!("{stem}instructions"), &per_thousand);
        }
    }

    /// Latency by Little's law (occupancy / arrivals, in controller clocks) and throughput.
    fn push_memory(
        &mut self,
        prefix: &str,
        of: &MemoryController<'_>,
        inserts: Count,
        counts: &Counts,
        out: &mut Parsed,
    ) {
        let stem = format!("{}UNC_M_{}", of.socket, of.controller);
        let occupancy = counts.get(&format!("{stem}_OCCUPANCY"));
        let ticks = counts.get(&format!("{}UNC_M_CLOCKTICKS", of.socket)).unwrap_or_default();
        if let Some(occupancy) = occupancy
            && ticks.sum != 0.0
        {
            let name = self.name.of(&[prefix, &stem, "_latency_ns"]);
            let latency = if inserts.sum == 0.0 {
                self.last_latency.get(name).copied().unwrap_or(0.0)
            } else {
                let clocks = ticks.sum / (ticks.lines / of.intervals);
                occupancy.sum / inserts.sum / clocks * 1e9 * of.seconds
            };
            self.last_latency.insert(name.to_owned(), latency);
            out.push(name, latency);
        }
        let name = self.name.of(&[prefix, &stem, "_throughput_MBps"]);
        out.push(name, inserts.sum * CACHE_LINE / MEBIBYTE / of.seconds);
    }
}

struct MemoryController<'e> {
    socket: &'e str,
    controller: &'e str,
    seconds: f64,
    intervals: f64,
}

/// `S0.UNC_M_RPQ_INSERTS` -> (`S0.`, `RPQ`)
fn memory_controller(event: &str) -> Option<(&str, &str)> {
    let (head, _) = event.rsplit_once("_INSERTS")?;
    head.rsplit_once("UNC_M_")
}
