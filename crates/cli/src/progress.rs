//! Progress on standard error: a bar for the whole, a line for each run under way. Without a
//! terminal there is one line for each run that ended, and with `--quiet` nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use patchmark_lab::{Progress, Slot};
use patchmark_model::{RunRecord, RunState};

/// Where progress goes.
pub struct Display {
    style: Style,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Silent,
    Lines,
    Bars,
}

struct State {
    bars: MultiProgress,
    whole: Option<ProgressBar>,
    fetch: Option<ProgressBar>,
    spinners: BTreeMap<Slot, ProgressBar>,
    started: BTreeMap<Slot, Instant>,
    columns: Vec<String>,
    runs: usize,
    left: usize,
    spent: Vec<Duration>,
    lanes: usize,
    told: BTreeSet<String>,
}

impl Display {
    /// Bars on a terminal, lines elsewhere, nothing when quiet.
    pub fn new(quiet: bool) -> Display {
        let style = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Style::Silent,
            (false, true) => Style::Bars,
            (false, false) => Style::Lines,
        };
        let state = State {
            bars: MultiProgress::new(),
            whole: None,
            fetch: None,
            spinners: BTreeMap::new(),
            started: BTreeMap::new(),
            columns: Vec::new(),
            runs: 0,
            left: 0,
            spent: Vec::new(),
            lanes: 1,
            told: BTreeSet::new(),
        };
        Display { style, state: Mutex::new(state) }
    }

    /// Shows what happened. Called from the threads that run the testboxes.
    pub fn show(&self, progress: Progress) {
        let Ok(mut state) = self.state.lock() else { return };
        match progress {
            Progress::Planned { columns, runs, reused } => {
                self.planned(&mut state, columns, runs, &reused);
            }
            Progress::Started(slot) => self.started(&mut state, slot),
            Progress::Phase(slot, phase) => {
                let text = format!("{}: {phase}", state.name(slot));
                if let Some(bar) = state.spinners.get(&slot) {
                    bar.set_message(text);
                }
            }
            Progress::Note(slot, text) => {
                let name = state.name(slot);
                // The same machine says the same in each run; once is enough.
                if state.told.insert(text.clone()) {
                    self.line(&state, &format!("{name}: {text}"));
                }
            }
            Progress::Ended(slot, record) => self.ended(&mut state, slot, &record),
            Progress::GivenUp(column, why) => {
                let name = state.columns.get(column).cloned().unwrap_or_default();
                self.line(&state, &format!("{name}: no more runs: {why}"));
            }
        }
    }

    /// A note that belongs to no run.
    pub fn note(&self, text: &str) {
        if let Ok(state) = self.state.lock() {
            self.line(&state, text);
        }
    }

    /// What the fetching of kernels is at; on a terminal only, where it is overwritten.
    pub fn fetching(&self, text: &str) {
        let Ok(mut state) = self.state.lock() else { return };
        if self.style != Style::Bars {
            return;
        }
        if state.fetch.is_none() {
            let bar = state.bars.add(ProgressBar::new_spinner());
            bar.enable_steady_tick(Duration::from_millis(200));
            state.fetch = Some(bar);
        }
        if let Some(bar) = &state.fetch {
            bar.set_message(text.to_owned());
        }
    }

    /// All kernels are here.
    pub fn fetch_done(&self) {
        if let Ok(mut state) = self.state.lock()
            && let Some(bar) = state.fetch.take()
        {
            bar.finish_and_clear();
        }
    }

    /// Takes the bars away.
    pub fn finish(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        for bar in std::mem::take(&mut state.spinners)
            .into_values()
            .chain(state.whole.take())
            .chain(state.fetch.take())
        {
            bar.finish_and_clear();
        }
    }

    fn planned(&self, state: &mut State, columns: Vec<String>, runs: usize, reused: &[usize]) {
        let total = columns.len() * runs;
        let have: usize = reused.iter().map(|count| (*count).min(runs)).sum();
        state.columns = columns;
        state.runs = runs;
        state.left = total - have;
        state.spent.clear();
        if have > 0 {
            let names = state.columns.iter().zip(reused).filter(|(_, count)| **count > 0);
            let parts: Vec<String> =
                names.map(|(name, count)| format!("{count} of {name}")).collect();
            self.line(state, &format!("reused from the store: {}", parts.join(", ")));
        }
        if self.style == Style::Bars && state.left > 0 {
            let bar = state.bars.add(ProgressBar::new(total as u64));
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {msg}") {
                bar.set_style(style);
            }
            bar.set_position(have as u64);
            state.whole = Some(bar);
        }
    }

    fn started(&self, state: &mut State, slot: Slot) {
        state.started.insert(slot, Instant::now());
        state.lanes = state.lanes.max(state.started.len());
        if self.style == Style::Bars {
            let bar = state.bars.add(ProgressBar::new_spinner());
            bar.enable_steady_tick(Duration::from_millis(200));
            bar.set_message(state.name(slot));
            state.spinners.insert(slot, bar);
        }
    }

    fn ended(&self, state: &mut State, slot: Slot, record: &RunRecord) {
        if let Some(bar) = state.spinners.remove(&slot) {
            bar.finish_and_clear();
        }
        let spent = state.started.remove(&slot).map(|begin| begin.elapsed()).unwrap_or_default();
        state.spent.push(spent);
        state.left = state.left.saturating_sub(1);
        let time_left = state.time_left();
        if let Some(bar) = &state.whole {
            bar.inc(1);
            bar.set_message(time_left.clone());
        }
        let name = state.name(slot);
        let how = match (&record.state, &record.failure) {
            (RunState::Finished, _) => "done".to_owned(),
            (_, Some(failure)) => format!("failed: {}: {}", failure.reason, failure.detail),
            (_, None) => "failed".to_owned(),
        };
        let failed = record.state != RunState::Finished;
        if failed || self.style == Style::Lines {
            self.line(
                state,
                &format!("{name}: {how} in {:.1} s{}", spent.as_secs_f64(), behind(&time_left)),
            );
        }
    }

    fn line(&self, state: &State, text: &str) {
        match self.style {
            Style::Silent => {}
            Style::Lines => anstream::eprintln!("patchmark: {text}"),
            Style::Bars => {
                if state.bars.println(format!("patchmark: {text}")).is_err() {
                    anstream::eprintln!("patchmark: {text}");
                }
            }
        }
    }
}

impl State {
    fn name(&self, slot: Slot) -> String {
        let column = self.columns.get(slot.column).map_or("?", String::as_str);
        format!("{column}, run {} of {}", slot.index + 1, self.runs)
    }

    /// Time left from the mean of the runs that ended, shared by the lanes under way.
    fn time_left(&self) -> String {
        if self.spent.is_empty() || self.left == 0 {
            return String::new();
        }
        let mean =
            self.spent.iter().map(Duration::as_secs_f64).sum::<f64>() / self.spent.len() as f64;
        let seconds = mean * self.left as f64 / self.lanes as f64;
        if seconds < 90.0 {
            format!("about {seconds:.0} s left")
        } else {
            format!("about {:.0} min left", seconds / 60.0)
        }
    }
}

fn behind(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(", {text}") }
}
