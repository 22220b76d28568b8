//! Self tests that the kernel runs while it boots and reports in its log.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::message_id::regex;
use crate::metric_name::normalized;
use crate::parsed::Parsed;

pub(super) fn parse(lines: &[String], out: &mut Parsed) {
    let mut results = Results::default();
    let mut with_tracer = false;
    for line in lines {
        if let Some((outcome, test)) = device_tree_test(line) {
            results.set(&format!("of-unittest.{test}"), outcome);
        } else if line.contains("Running tests again, along with the function tracer") {
            with_tracer = true;
        } else if let Some(test) = between(line, "Testing ", ": OK") {
            if with_tracer {
                results.add(&format!("function tracer.{test}"));
            } else {
                results.add(test);
            }
            with_tracer &= !line.contains("Testing ftrace filter: OK");
        } else if let Some(test) = between(line, "Testing ", ": PASSED") {
            results.add(test);
        } else if let Some(test) = counted_tests(line) {
            results.add(&test);
        } else if let Some(test) = between(line, " tests in test_", " passed")
            .filter(|_| line.contains("test_meminit: all "))
        {
            results.add(&format!("test_meminit.test_{test}"));
        } else if line.contains("Kernel tests: Boot OK") || line.contains("run-job /lkp") {
            break;
        }
    }
    for name in &results.order {
        if let Some(outcome) = results.by_test.get(name) {
            out.push(&format!("{name}.{outcome}"), 1.0);
        }
    }
}

#[derive(Default)]
struct Results {
    order: Vec<String>,
    by_test: HashMap<String, String>,
}

impl Results {
    fn add(&mut self, test: &str) {
        if !self.by_test.contains_key(&normalized(test)) {
            self.set(test, "pass");
        }
    }

    fn set(&mut self, test: &str, outcome: &str) {
        let test = normalized(test);
        if self.by_test.insert(test.clone(), outcome.to_owned()).is_none() {
            self.order.push(test);
        }
    }
}

/// `### dt-test ### pass of_unittest_match_node():1497`
fn device_tree_test(line: &str) -> Option<(&'static str, &str)> {
    static TEST: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)### dt-test ### (pass|fail) (.+)"));
    let found = TEST.captures(line)?;
    let passed = found.get(1)?.as_str().eq_ignore_ascii_case("pass");
    Some((if passed { "pass" } else { "fail" }, found.get(2)?.as_str()))
}

/// `test_hexdump: all 1184 tests passed`
fn counted_tests(line: &str) -> Option<String> {
    static TESTS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"([0-9A-Za-z_]+):[ \t].+[0-9]+ tests passed"));
    let found = TESTS.captures(line)?;
    Some(found.get(1)?.as_str().to_ascii_lowercase())
}

fn between<'l>(line: &'l str, before: &str, after: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(before)?;
    rest.rfind(after).filter(|end| *end > 0).map(|end| &rest[..end])
}
