//! Values for tests.

use std::collections::BTreeMap;

use patchmark_model::{Axes, Command, Needs, Plan, RunSpec, Workload};

/// A small job with one command.
pub(crate) fn spec() -> RunSpec {
    let command = Command { argv: vec!["true".into()], env: BTreeMap::new() };
    RunSpec {
        id: "01TEST".parse().unwrap(),
        plan: Plan {
            job_name: "true".into(),
            axes: Axes::default(),
            job_yaml: "testcase: true\n".into(),
            setups: Vec::new(),
            monitors: Vec::new(),
            workloads: vec![Workload {
                program: "true".into(),
                commands: vec![command],
                files: Vec::new(),
            }],
            time_limit_s: 5,
            kernel_cmdline: None,
            needs: Needs::default(),
        },
        host_time: 1_700_000_000.0,
    }
}
