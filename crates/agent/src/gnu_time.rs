//! `time` files: what a workload used, in the layout of GNU `time -v`.
//!
//! Times have six decimals where the tool has two: a run of two seconds that is exact to 0.1 %
//! must not be rounded to 0.5 %. Readers of the layout take any number of decimals.

use std::time::Duration;

use crate::sys::{Ended, Usage};

/// Resource usage of the commands of one workload together.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimeReport {
    commands: Vec<String>,
    usage: Usage,
    elapsed: Duration,
    last: Option<Ended>,
}

impl TimeReport {
    /// Adds a command that has ended.
    pub(crate) fn add(&mut self, argv: &[String], ended: Ended, usage: &Usage, elapsed: Duration) {
        self.commands.push(argv.join(" "));
        self.elapsed += elapsed;
        self.last = Some(ended);
        let sum = &mut self.usage;
        sum.user += usage.user;
        sum.system += usage.system;
        sum.max_rss_kb = sum.max_rss_kb.max(usage.max_rss_kb);
        sum.minor_faults += usage.minor_faults;
        sum.major_faults += usage.major_faults;
        sum.inputs += usage.inputs;
        sum.outputs += usage.outputs;
        sum.voluntary_switches += usage.voluntary_switches;
        sum.involuntary_switches += usage.involuntary_switches;
    }

    /// The text; `None` when no command has ended.
    pub(crate) fn text(&self) -> Option<String> {
        let ended = self.last?;
        let usage = &self.usage;
        let mut text = match ended {
            Ended::Exited(0) => String::new(),
            Ended::Exited(code) => format!("Command exited with non-zero status {code}\n"),
            Ended::Signaled(signal) => format!("Command terminated by signal {signal}\n"),
        };
        let status = match ended {
            Ended::Exited(code) => code,
            Ended::Signaled(_) => 0,
        };
        let command = self.commands.join("; ");
        let lines = [
            ("Command being timed", format!("\"{command}\"")),
            ("User time (seconds)", seconds(usage.user)),
            ("System time (seconds)", seconds(usage.system)),
            ("Percent of CPU this job got", self.percent()),
            ("Elapsed (wall clock) time (h:mm:ss or m:ss)", self.clock()),
            ("Average shared text size (kbytes)", "0".to_owned()),
            ("Average unshared data size (kbytes)", "0".to_owned()),
            ("Average stack size (kbytes)", "0".to_owned()),
            ("Average total size (kbytes)", "0".to_owned()),
            ("Maximum resident set size (kbytes)", usage.max_rss_kb.to_string()),
            ("Average resident set size (kbytes)", "0".to_owned()),
            ("Major (requiring I/O) page faults", usage.major_faults.to_string()),
            ("Minor (reclaiming a frame) page faults", usage.minor_faults.to_string()),
            ("Voluntary context switches", usage.voluntary_switches.to_string()),
            ("Involuntary context switches", usage.involuntary_switches.to_string()),
            ("Swaps", "0".to_owned()),
            ("File system inputs", usage.inputs.to_string()),
            ("File system outputs", usage.outputs.to_string()),
            ("Socket messages sent", "0".to_owned()),
            ("Socket messages received", "0".to_owned()),
            ("Signals delivered", "0".to_owned()),
            ("Page size (bytes)", rustix::param::page_size().to_string()),
            ("Exit status", status.to_string()),
        ];
        for (key, value) in lines {
            text.push_str(&format!("\t{key}: {value}\n"));
        }
        Some(text)
    }

    /// `97%`, cut to a whole number; `?%` when no time went by.
    fn percent(&self) -> String {
        let cpu = (self.usage.user + self.usage.system).as_nanos();
        match (cpu * 100).checked_div(self.elapsed.as_nanos()) {
            Some(percent) => format!("{percent}%"),
            None => "?%".to_owned(),
        }
    }

    /// `1:02:03.5` or `2:03.5`, with all decimals.
    fn clock(&self) -> String {
        let total = self.elapsed.as_secs();
        let (hours, minutes) = (total / 3600, total % 3600 / 60);
        let rest = format!("{:02}.{:06}", total % 60, self.elapsed.subsec_micros());
        if hours > 0 { format!("{hours}:{minutes:02}:{rest}") } else { format!("{minutes}:{rest}") }
    }
}

fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_secs(), time.subsec_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_tool() {
        let mut report = TimeReport::default();
        assert_eq!(report.text(), None);
        let usage = Usage {
            user: Duration::from_micros(970_001),
            system: Duration::from_millis(10),
            max_rss_kb: 10060,
            minor_faults: 1642,
            major_faults: 2,
            inputs: 64,
            outputs: 0,
            voluntary_switches: 7,
            involuntary_switches: 346,
        };
        let argv = ["stress-ng", "--cpu", "1"].map(str::to_owned);
        report.add(&argv, Ended::Exited(0), &usage, Duration::from_micros(3_030_500));
        insta::assert_snapshot!(report.text().unwrap());
    }

    #[test]
    fn commands_add_up_and_a_bad_end_is_told() {
        let mut report = TimeReport::default();
        let usage = |rss| Usage { max_rss_kb: rss, minor_faults: 5, ..Usage::default() };
        report.add(&["a".to_owned()], Ended::Exited(0), &usage(9), Duration::from_secs(3600));
        report.add(&["b".to_owned()], Ended::Signaled(9), &usage(4), Duration::from_millis(61_500));
        let text = report.text().unwrap();
        assert!(
            text.starts_with("Command terminated by signal 9\n\tCommand being timed: \"a; b\"\n")
        );
        assert!(text.contains("m:ss): 1:01:01.500000\n"));
        assert!(text.contains("Maximum resident set size (kbytes): 9\n"));
        assert!(text.contains("page faults: 10\n"));
    }

    #[test]
    fn no_time_gone_by_is_not_a_percentage() {
        let mut report = TimeReport::default();
        report.add(&["a".to_owned()], Ended::Exited(2), &Usage::default(), Duration::ZERO);
        assert!(report.text().unwrap().contains("this job got: ?%\n"));
    }
}
