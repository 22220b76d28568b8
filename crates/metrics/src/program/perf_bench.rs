//! `perf bench`: futex, mem, numa mem, sched messaging, sched pipe, syscall. Each benchmark is a
//! program of its own.

use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::{Line, Source};

/// `perf bench futex {hash,wake,wake-parallel,requeue,lock-pi}`
pub(super) fn parse_futex(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    for line in source.lines() {
        let text = line.text;
        if let Some((_, rest)) = text.split_once("Averaged ") {
            push_with_deviation(line, "ops/s", rest, " operations/sec (+- ", out);
        } else if let Some(rest) = of_threads(text, "Wokeup ") {
            push_with_deviation(line, "wokeup_time_ms", rest, " ms (+-", out);
        } else if let Some(rest) = of_threads(text, "Requeued ") {
            push_with_deviation(line, "requeued_time_ms", rest, " ms (+-", out);
        } else if text.starts_with("Avg per-thread latency (waking ")
            && let Some((_, rest)) = text.split_once(" threads) in ")
        {
            push_with_deviation(line, "avg_per_thread_latency_ms", rest, " ms (+-", out);
        }
    }
}

/// What follows `Wokeup 1 of 8 threads in `.
fn of_threads<'l>(line: &'l str, head: &str) -> Option<&'l str> {
    line.strip_prefix(head)?.split_once(" threads in ").map(|(_, rest)| rest)
}

/// `<value><between><deviation>%)`
fn push_with_deviation(line: Line<'_>, name: &str, rest: &str, between: &str, out: &mut Parsed) {
    let parts = rest.split_once(between).and_then(|(value, rest)| {
        let (deviation, _) = rest.split_once("%)")?;
        Some((value, deviation))
    });
    match parts {
        Some((value, deviation)) => {
            out.push_word(line.number, name, value);
            out.push_word(line.number, "stddev%", deviation);
        }
        None => out.unexpected(line.number, line.text),
    }
}

/// `perf bench mem {memcpy,memset,find_bit}`: one value per function.
pub(super) fn parse_mem(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut operation = "";
    let mut function = "default";
    let mut name = Name::default();
    for line in source.lines() {
        if let Some(rest) = line.text.strip_prefix("# Running 'mem/") {
            operation = rest.split_once("' benchmark:").map_or("", |(operation, _)| operation);
        } else if let Some(rest) = line.text.strip_prefix("# function '") {
            function = rest.split('\'').next().unwrap_or("default");
        } else if let Some((number, rest)) = split_number(line.text.trim_ascii_start()) {
            let unit = rest.strip_prefix('d').unwrap_or(rest).trim_ascii_start();
            let Some((unit, _)) = unit.split_once("/sec") else { continue };
            if matches!(unit, "bytes" | "KB" | "MB" | "GB") {
                let name = name.of(&[operation, ".", function, ".", unit, "_per_sec"]);
                out.push_word(line.number, name, number);
            }
        }
    }
}

/// `perf bench numa mem`: `<thread>, <value>, <unit>, <what>`.
pub(super) fn parse_numa_mem(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    const ROWS: [(&str, &str, &str); 10] = [
        ("secs", "NUMA-convergence-latency", "secs_latency"),
        ("secs", "runtime-max/thread", "secs_slowest"),
        ("secs", "runtime-min/thread", "secs_fastest"),
        ("secs", "runtime-avg/thread", "secs_avg"),
        ("%", "spread-runtime/thread", "max_avg_diff"),
        ("GB", "data/thread", "GB_per_thread"),
        ("GB", "data-total", "GB_total"),
        ("nsecs", "runtime/byte/thread", "nsecs_byte_thread"),
        ("GB/sec", "thread-speed", "GB_sec_thread"),
        ("GB/sec", "total-speed", "GB_sec_total"),
    ];
    for line in source.lines() {
        let parts: Vec<&str> = line.text.split(',').map(str::trim).collect();
        for part in parts.windows(3) {
            let [value, unit, what] = part else { continue };
            let row = ROWS.iter().find(|row| row.0 == *unit && what.starts_with(row.1));
            if let Some((_, _, name)) = row {
                let number = value.rsplit(|c: char| !(c.is_ascii_digit() || c == '.')).next();
                out.push_word(line.number, name, number.unwrap_or_default());
            }
        }
    }
}

/// `perf bench sched messaging`
pub(super) fn parse_sched_messaging(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    for line in source.lines() {
        if let Some(seconds) = total_time(line.text) {
            out.push_word(line.number, "total_time_sec", seconds);
        }
    }
}

/// `perf bench sched pipe`
pub(super) fn parse_sched_pipe(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    for line in source.lines() {
        if let Some(before) =
            line.text.split(" ops/sec").next().filter(|b| b.len() < line.text.len())
        {
            let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                out.push_word(line.number, "ops_per_sec", &before[before.len() - digits..]);
            }
        }
    }
}

/// `perf bench syscall {basic,getpgid,fork,execve}`: each call with its three results.
pub(super) fn parse_syscall(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut call = "";
    let mut name = Name::default();
    for line in source.lines() {
        if let Some(rest) = line.text.strip_prefix("# Executed ") {
            let word = rest.split_ascii_whitespace().nth(1).unwrap_or_default();
            call = word.strip_suffix("()").unwrap_or(call);
        } else if let Some(seconds) = total_time(line.text) {
            out.push_word(line.number, name.of(&[call, ".total_time_sec"]), seconds);
        } else if let Some(number) = number_before(line.text, "usecs/op") {
            out.push_word(line.number, name.of(&[call, ".usecs_per_op"]), number);
        } else if let Some(number) = number_before(line.text, "ops/sec") {
            let number = number.replace(',', "");
            out.push_word(line.number, name.of(&[call, ".ops_per_sec"]), &number);
        }
    }
}

/// `Total time: 0.123 [sec]`
fn total_time(line: &str) -> Option<&str> {
    let rest = line.split_once("Total time:")?.1.trim_ascii_start();
    let (number, rest) = split_number(rest)?;
    rest.trim_ascii_start().starts_with("[sec]").then_some(number)
}

fn number_before<'l>(line: &'l str, unit: &str) -> Option<&'l str> {
    let before = line[..line.find(unit)?].trim_ascii_end();
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let number = &before[before.trim_end_matches(is_part).len()..];
    (!number.is_empty()).then_some(number)
}

/// The digits and dots that a text begins with, and the rest.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    (end > 0).then(|| text.split_at(end))
}
