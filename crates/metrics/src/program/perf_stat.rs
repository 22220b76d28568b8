//! `perf stat -I <ms> -x , ...`: one line per interval and event, perhaps preceded by the command
//! line. Lines with blanks instead of commas are read too, per-socket lines (`S0,12,...`) as well.
//!
//! | metric | value |
//! |---|---|
//! | `i.<event>` | count per second in each interval |
//! | `ps.<event>` | count per second over the whole window |
//! | `total.instructions` | count over the whole window |
//! | `i.` and `overall.` `ipc`, `cpi`, `MPKI`, `*-miss-rate%`, ... | quotients of counts |
//!
//! The last interval is left out: it was cut short. An event that perf could not count
//! (`<not supported>`, `<not counted>`) is absent.
//!
//! lkp-tests takes such an event for 0, gives up at the first line whose event is not in the
//! command line, and divides by a time that includes the interval left out.

mod interval;
mod quotient;

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::{Line, Source};

use interval::Intervals;

/// Lines closer than this belong to one interval, in seconds.
const SAME_INTERVAL: f64 = 0.01;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let mut intervals = Intervals::new(options);
    let mut events: Vec<String> = Vec::new();
    let mut fields: Vec<&str> = Vec::new();
    let mut last_line_time = 0.0;
    for line in source.lines() {
        if let Some(listed) = listed_events(line.text) {
            events = listed;
        }
        let Some(time) = split_fields(line, &mut fields, out) else { continue };
        if let Some(event) = fields.get_mut(2) {
            *event = without_pmu(event);
        }
        let listed =
            fields.iter().any(|field| events.iter().any(|event| event == field.trim_end()));
        if options.lkp_compatible && !listed {
            out.unexpected(line.number, line.text);
            return;
        }
        last_line_time = intervals.now();
        if time - intervals.now() > SAME_INTERVAL {
            intervals.close(out);
        }
        intervals.set_now(time);
        read_count(line, &mut fields, options, &mut intervals, out);
    }
    intervals.finish(last_line_time, out);
}

/// The events of a `perf stat ... -e <events> ` command line.
fn listed_events(line: &str) -> Option<Vec<String>> {
    let command = &line[line.find("perf stat ")? + "perf stat ".len()..];
    let (list, _) = command.rsplit_once(" -e ")?.1.split_once(' ')?;
    let plain: String = list.chars().filter(|c| !matches!(c, '{' | '}')).collect();
    Some(plain.split(',').map(str::to_owned).collect())
}

/// Splits a counter line behind its time stamp; `None` when it is none.
fn split_fields<'l>(line: Line<'l>, fields: &mut Vec<&'l str>, out: &mut Parsed) -> Option<f64> {
    let text = line.text.trim_ascii_start();
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let fraction = text.get(whole..)?.strip_prefix('.').map(digits)?;
    let end = whole + 1 + fraction;
    let follows = text[end..].chars().next()?;
    if whole == 0 || fraction == 0 || follows.is_alphanumeric() || follows == '_' {
        return None;
    }
    fields.clear();
    let time = if text.contains(',') {
        let mut parts = text.split(',');
        let time = parts.next()?;
        fields.extend(parts);
        time
    } else {
        fields.extend(text[end..].split_ascii_whitespace());
        &text[..end]
    };
    let wanted = if text.contains(',') { 7 } else { 3 };
    if fields.len() < wanted {
        out.unexpected(line.number, line.text);
        return None;
    }
    Some(number::leading_float(time))
}

/// `cpu_atom/cpu-cycles/` -> `cpu-cycles`: the PMUs of a hybrid machine are added up.
fn without_pmu(event: &str) -> &str {
    match event.rsplit_once('/') {
        Some((head, _)) => head.rsplit_once('/').map_or(event, |(_, name)| name),
        None => event,
    }
}

fn read_count(
    line: Line<'_>,
    fields: &mut Vec<&str>,
    options: &ParseOptions,
    intervals: &mut Intervals,
    out: &mut Parsed,
) {
    let mut socket = None;
    if fields.first().is_some_and(|field| field.starts_with('S')) && fields.len() > 4 {
        socket = Some(fields.remove(0));
        fields.remove(0);
    }
    let in_bytes = fields.get(1) == Some(&"Bytes");
    if line.text.contains(',') {
        fields.remove(1);
    }
    let [count, event, ..] = fields.as_slice() else { return };
    if number::parse(count).is_none() && !options.lkp_compatible {
        out.notes.add(line.number, || format!("`{event}`: {count}"));
        return;
    }
    if let (Some(value), Some(unit)) =
        (fields.get(4), fields.get(5).and_then(|unit| metric(unit, options)))
    {
        let socket = socket.map_or(String::new(), |socket| format!("{socket}."));
        intervals.add_metric(&format!("{socket}metric.{unit}"), number::leading_float(value));
    }
    let event = event.split("_IMC").next().unwrap_or(event);
    let event = if in_bytes { format!("{event}_Bytes") } else { event.to_owned() };
    let count = number::leading_float(count);
    intervals.add(&event, count);
    if let Some(socket) = socket {
        intervals.add(&format!("{socket}.{event}"), count);
    }
}

/// A metric of perf's own is one word that begins with a capital. `K/sec` and `GHz` are units of
/// what perf makes of each event, which lkp-tests adds up over all events.
fn metric<'l>(unit: &'l str, options: &ParseOptions) -> Option<&'l str> {
    let unit = unit.trim_end();
    let named = unit.len() > 1 && unit.starts_with(|c: char| c.is_ascii_uppercase());
    let is_unit = unit.ends_with("/sec") || unit == "GHz";
    (named && !unit.contains(' ') && (options.lkp_compatible || !is_unit)).then_some(unit)
}
