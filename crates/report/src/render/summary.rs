//! The report for a person at a terminal: what was compared, the headline, what moved, what was
//! left out.

use std::fmt::Write;

use patchmark_model::{Call, Direction, Effect, EffectUnit, Kpi, Verdict};

use super::lkp::value;
use crate::number::{fixed, general, signed};
use crate::report::{AgainstBase, Report, ReportColumn, ReportMetric, Samples};
use crate::text::{plain, wrapped};

/// How much a summary shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SummaryOptions {
    /// Width of a line in characters. Lines that begin with numbers may be longer: the name of
    /// a metric is never cut.
    pub width: usize,
    /// Metrics shown of each program.
    pub per_group: usize,
    /// Programs shown.
    pub groups: usize,
}

impl Default for SummaryOptions {
    fn default() -> Self {
        SummaryOptions { width: 90, per_group: 3, groups: 8 }
    }
}

/// The summary of a report.
pub fn summary(report: &Report, options: &SummaryOptions) -> String {
    Summary { report, options, out: String::new() }.text()
}

struct Summary<'a> {
    report: &'a Report,
    options: &'a SummaryOptions,
    out: String,
}

// Writing to a string cannot fail, so its results are passed over throughout.
impl Summary<'_> {
    fn text(mut self) -> String {
        self.what_was_compared();
        self.runs();
        self.headline();
        for against in &self.report.against_base {
            self.moved(against);
        }
        self.failures();
        self.left_out();
        self.legend();
        self.out
    }

    fn paragraph(&mut self, head: &str, text: &str) {
        self.out.push_str(&wrapped(head, text, self.options.width));
    }

    fn title(&mut self, title: &str) {
        self.out.push('\n');
        self.paragraph("", title);
    }

    fn what_was_compared(&mut self) {
        let report = self.report;
        let (base, heads) = match report.columns.split_first() {
            Some((base, heads)) => (name(base), heads.iter().map(name).collect::<Vec<_>>()),
            None => ("nothing".to_owned(), Vec::new()),
        };
        let heads = if heads.is_empty() { base.clone() } else { heads.join(" and ") };
        let against = if report.columns.len() > 1 { format!(" against {base}") } else { "".into() };
        self.paragraph("", &format!("{}: {heads}{against}", plain(&report.job)));
        self.out.push('\n');
        for (at, column) in report.columns.iter().enumerate() {
            let role = if at == 0 { "Base      " } else { "Head      " };
            let note = column.note.as_deref().map(|note| format!(" {}", plain(note)));
            let text =
                format!("{} {}{}", plain(&report.key), name(column), note.unwrap_or_default());
            self.paragraph(role, &text);
        }
        let axes: Vec<String> =
            report.axes.0.iter().map(|(k, v)| format!("{}={}", plain(k), plain(v))).collect();
        if !axes.is_empty() {
            self.paragraph("Same      ", &axes.join(" "));
        }
        if !report.machine.is_empty() {
            self.paragraph("Machine   ", &plain(&report.machine));
        }
        self.paragraph("Clock     ", &format!("{}: {}", report.clock, report.clock_meaning));
        for note in &report.notes {
            self.paragraph("Note      ", &plain(note));
        }
    }

    fn runs(&mut self) {
        let width = self.name_width();
        for (at, column) in self.report.columns.iter().enumerate() {
            let head = if at == 0 { "Runs      " } else { "          " };
            let _ = writeln!(
                self.out,
                "{head}{:<width$}  {} of {} ended well",
                name(column),
                column.complete_runs,
                column.runs
            );
            for run in &column.failed {
                let text = format!("{} failed: {}", run.id, plain(&run.reason));
                self.paragraph("            ", &text);
            }
        }
    }

    fn name_width(&self) -> usize {
        self.report.columns.iter().map(|column| name(column).chars().count()).max().unwrap_or(0)
    }

    fn headline(&mut self) {
        let kpis: Vec<&ReportMetric> =
            self.report.metrics.iter().filter(|metric| metric.kpi.is_some()).collect();
        if kpis.is_empty() {
            self.title("Headline metrics: none is known for this job");
            return;
        }
        self.title("Headline metrics");
        for metric in kpis {
            let title = format!("{}{}", plain(metric.name.as_str()), described(metric));
            self.paragraph("  ", &title);
            for (at, (column, samples)) in
                self.report.columns.iter().zip(&metric.samples).enumerate()
            {
                let verdict = at.checked_sub(1).and_then(|at| metric.verdicts.get(at));
                self.headline_column(column, samples, metric, verdict);
            }
        }
    }

    fn headline_column(
        &mut self,
        column: &ReportColumn,
        samples: &Samples,
        metric: &ReportMetric,
        verdict: Option<&Verdict>,
    ) {
        let width = self.name_width();
        let line = format!("    {:<width$}  {:>10}", name(column), mean(samples));
        let line = match verdict {
            None if samples.count() < samples.values.len() => {
                format!("{line}  (in {} of {} runs)", samples.count(), samples.values.len())
            }
            None => line,
            Some(verdict) => format!("{line}  {}", told(verdict, metric)),
        };
        let _ = writeln!(self.out, "{line}");
        if let Some(verdict) = verdict.filter(|v| needs_reason(v)) {
            self.paragraph(&" ".repeat(width + 18), &plain(&verdict.reason));
        }
    }

    fn moved(&mut self, against: &AgainstBase) {
        let report = self.report;
        let others = against.moved + against.unchanged + against.unsure;
        if others == 0 {
            return;
        }
        let column = report.columns.get(against.column).map(name).unwrap_or_default();
        let versus = if report.columns.len() > 2 { format!(" in {column}") } else { "".into() };
        if against.moved == 0 {
            self.title(&format!(
                "Other metrics{versus}: none of {others} moved ({} unchanged, {} unsure)",
                against.unchanged, against.unsure
            ));
            return;
        }
        self.title(&format!(
            "Other metrics that moved{versus}: {} of {others}, {} of them by chance alone ({} \
             unchanged, {} unsure)",
            against.moved,
            by_chance(against.moved_by_chance),
            against.unchanged,
            against.unsure
        ));
        for group in against.groups.iter().take(self.options.groups) {
            let _ = writeln!(
                self.out,
                "  {}: {} of {}",
                plain(&group.program),
                group.moved.len(),
                group.judged
            );
            for at in group.moved.iter().take(self.options.per_group) {
                if let Some(metric) = report.metrics.get(*at) {
                    self.moved_metric(metric, against.column);
                }
            }
            let more = group.moved.len().saturating_sub(self.options.per_group);
            if more > 0 {
                let _ = writeln!(self.out, "    and {more} more");
            }
        }
        let more = against.groups.len().saturating_sub(self.options.groups);
        if more > 0 {
            let _ = writeln!(self.out, "  and {more} more programs");
        }
    }

    fn moved_metric(&mut self, metric: &ReportMetric, column: usize) {
        let effect = column.checked_sub(1).and_then(|at| metric.verdicts.get(at)?.effect.as_ref());
        let mean = |at: usize| metric.samples.get(at).map(mean).unwrap_or_default();
        let _ = writeln!(
            self.out,
            "    {:<28} {:>10} -> {:<10}  {}",
            effect.map(|effect| effect_text(effect, metric)).unwrap_or_default(),
            mean(0),
            mean(column),
            plain(metric.name.as_str())
        );
    }

    fn failures(&mut self) {
        const SHOWN: usize = 12;
        let happened = |row: &&crate::table::FailureRow| row.cells.iter().any(|c| c.fails > 0.0);
        let rows: Vec<_> = self.report.failures.iter().filter(happened).collect();
        if rows.is_empty() {
            return;
        }
        self.title("Failures and kernel complaints, in how many runs of each column");
        for row in rows.iter().take(SHOWN) {
            let cells: Vec<String> =
                row.cells.iter().map(|cell| format!("{} of {}", cell.fails, cell.runs)).collect();
            let _ = writeln!(self.out, "  {:<18}  {}", cells.join(", "), plain(&row.name));
        }
        if rows.len() > SHOWN {
            let _ = writeln!(self.out, "  and {} more", rows.len() - SHOWN);
        }
    }

    fn left_out(&mut self) {
        let left_out = &self.report.left_out;
        let is_empty = left_out.skipped.is_empty()
            && left_out.absent.is_empty()
            && left_out.too_few == 0
            && left_out.withheld == 0;
        if is_empty {
            return;
        }
        self.title("Left out");
        for skipped in &left_out.skipped {
            let text = format!("{}: {}", plain(&skipped.program), plain(&skipped.why));
            self.paragraph("  ", &text);
        }
        if left_out.too_few > 0 {
            let text = format!(
                "{}: fewer than two runs on a side, so nothing is called",
                metrics(left_out.too_few)
            );
            self.paragraph("  ", &text);
        }
        if left_out.withheld > 0 {
            let text = format!(
                "{}: not compared, because a side lacks the metric in every run or much more \
                 often than the other",
                metrics(left_out.withheld)
            );
            self.paragraph("  ", &text);
        }
        self.absent();
    }

    fn absent(&mut self) {
        const SHOWN: usize = 6;
        let absent = &self.report.left_out.absent;
        if absent.is_empty() {
            return;
        }
        let text = format!(
            "{}: missing in some runs that ended well; a mean is over the runs that have it",
            metrics(absent.len())
        );
        self.paragraph("  ", &text);
        for absent in absent.iter().take(SHOWN) {
            let shares: Vec<String> = absent
                .present
                .iter()
                .zip(&absent.runs)
                .map(|(present, runs)| format!("{present} of {runs}"))
                .collect();
            let name = self.report.metrics.get(absent.metric).map(|m| plain(m.name.as_str()));
            let name = name.unwrap_or_default();
            let _ = writeln!(self.out, "    {:<18}  {name}", shares.join(", "));
        }
        if absent.len() > SHOWN {
            let _ = writeln!(self.out, "    and {} more", absent.len() - SHOWN);
        }
    }

    fn legend(&mut self) {
        let t = &self.report.thresholds;
        let percent = |share: f64| general(100.0 * share, 4);
        self.out.push('\n');
        let text = format!(
            "In brackets: where the true change lies with {}% confidence ({}% for metrics that \
             are not headlines). Unchanged: within {}% of the base ({} points for percentages). \
             Unsure: the runs support neither a change nor its absence; more runs may.",
            percent(t.kpi_confidence),
            percent(t.other_confidence),
            general(t.smallest_percent, 4),
            general(t.smallest_points, 4)
        );
        self.paragraph("", &text);
    }
}

/// A column's name: its value, with a commit id cut to twelve digits.
fn name(column: &ReportColumn) -> String {
    let value = plain(&column.value);
    let is_id = value.len() == 40 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { value.chars().take(12).collect() } else { value }
}

fn metrics(count: usize) -> String {
    if count == 1 { "1 metric".to_owned() } else { format!("{count} metrics") }
}

fn by_chance(expected: f64) -> String {
    if expected < 1.0 { "hardly one".to_owned() } else { format!("about {}", fixed(expected, 0)) }
}

/// Unit and direction of a headline metric, in parentheses.
fn described(metric: &ReportMetric) -> String {
    let Some(Kpi { direction, unit }) = &metric.kpi else { return String::new() };
    let direction = direction.map(|direction| match direction {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
    });
    let parts: Vec<String> =
        unit.as_deref().map(plain).into_iter().chain(direction.map(str::to_owned)).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn mean(samples: &Samples) -> String {
    samples.mean.map_or("absent".to_owned(), number)
}

/// A number for people: four digits, more only where they are whole.
fn number(x: f64) -> String {
    if x.abs() < 1000.0 { general(x, 4) } else { value(x) }
}

/// A difference: three digits do.
fn rough(x: f64) -> String {
    if x.abs() < 1000.0 { general(x, 3) } else { value(x) }
}

fn told(verdict: &Verdict, metric: &ReportMetric) -> String {
    let word = match verdict.call {
        Call::Better => "better",
        Call::Worse => "worse",
        Call::Changed => "changed",
        Call::Unchanged => "unchanged",
        Call::Unsure => "unsure",
    };
    match &verdict.effect {
        Some(effect) => format!("{word}: {}", effect_text(effect, metric)),
        None => format!("{word}: not compared"),
    }
}

/// Whether the numbers do not speak for themselves.
fn needs_reason(verdict: &Verdict) -> bool {
    let is_partial = |(present, runs): (usize, usize)| present < runs;
    verdict.call == Call::Unsure
        || is_partial(verdict.base_coverage)
        || is_partial(verdict.head_coverage)
}

/// `-17.2% [-17.4, -17.0]`, with as many decimals as the interval deserves.
fn effect_text(effect: &Effect, metric: &ReportMetric) -> String {
    let width = match (effect.low, effect.high) {
        (Some(low), Some(high)) => (high - low) / 2.0,
        _ => effect.estimate.abs() / 10.0,
    };
    let is_percent = effect.unit == EffectUnit::Percent;
    let is_share = metric.name.is_share();
    let shown =
        |x: f64| signed(if is_percent || is_share { shown_percent(x, width) } else { rough(x) });
    let unit = match (is_percent, is_share) {
        (true, _) => "%",
        (false, true) => " points",
        (false, false) => "",
    };
    if effect.estimate == 0.0 && effect.low == effect.high {
        return if effect.low.is_some() { "no difference in any run" } else { "no difference" }
            .to_owned();
    }
    let estimate = format!("{}{unit}", shown(effect.estimate));
    match (effect.low, effect.high) {
        (Some(low), Some(high)) if low == high => format!("{estimate} exactly"),
        (Some(low), Some(high)) => format!("{estimate} [{}, {}]", shown(low), shown(high)),
        _ => estimate,
    }
}

fn shown_percent(x: f64, width: f64) -> String {
    if x.abs() >= 100_000.0 {
        return general(x, 2);
    }
    let decimals = match width {
        w if w >= 0.095 => 1,
        w if w >= 0.0095 => 2,
        _ => 3,
    };
    let text = fixed(x, decimals);
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    if is_zero { text.trim_start_matches('-').to_owned() } else { text }
}
