//! What comes from a test machine is hostile: any bytes give a result, in linear time.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use patchmark_metrics::{ParseOptions, Window, lkp, parse, programs, reduce};
use proptest::prelude::*;

fn fixture(program: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(format!("{program}.txt"))).unwrap_or_default()
}

fn options() -> impl Strategy<Value = ParseOptions> {
    let instant = || proptest::option::of(-1.0..5.0f64);
    (any::<bool>(), any::<bool>(), instant(), instant()).prop_map(
        |(lkp_compatible, boot_tests, begin, end)| ParseOptions {
            lkp_compatible,
            boot_tests,
            window: Window { begin, end },
            ..ParseOptions::default()
        },
    )
}

fn read(program: &str, bytes: &[u8], options: &ParseOptions) {
    let parsed = parse(program, bytes, options).unwrap();
    let metrics = reduce(program, &parsed.samples, options);
    assert!(metrics.values().all(|number| number.is_finite()), "{program}");
    lkp::numbers(program, &lkp::records(program, &parsed.samples), options.window);
}

/// Words that occur in raw files, and bytes that should not.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let words = prop_oneof![
        Just("time: 1"),
        Just("node: 0"),
        Just("Node 0, zone"),
        Just("CPU0"),
        Just("-1"),
        Just("MemFree:"),
        Just("LOC:"),
        Just("1.5%"),
        Just("# name"),
        Just("<active_objs>"),
        Just("(secs)"),
        Just("stress-ng: metrc: [1]"),
        Just("(total of"),
        Just("[    1.000000] "),
        Just("BUG: x"),
        Just("+0x1/0x2"),
        Just("<3>"),
        Just("#1"),
        Just("[0]:/"),
        Just(" : 5"),
        Just("1.0,2,,instructions,1,100.00,1.0,CPI"),
        Just("perf stat -e a -- "),
        Just("Time: 0"),
        Just("{\"sysstat\":{\"hosts\":[{\"statistics\":[{}"),
        Just(";"),
        Just("é"),
        Just("1e400"),
        Just("(== 5 tasks)"),
        Just("Assertion "),
        Just("99999999999999999999"),
        Just(" failed"),
    ];
    proptest::collection::vec(
        prop_oneof![
            8 => words.prop_map(|word| word.as_bytes().to_vec()),
            1 => proptest::collection::vec(any::<u8>(), 0..8),
            2 => Just(b" ".to_vec()),
        ],
        0..12,
    )
    .prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_lines_are_read(
        lines in proptest::collection::vec(line(), 0..40),
        options in options(),
    ) {
        let bytes = lines.join(&b'\n');
        for program in programs() {
            read(program, &bytes, &options);
        }
    }

    #[test]
    fn a_damaged_raw_file_is_read(
        at in any::<prop::sample::Index>(),
        damage in proptest::collection::vec(any::<u8>(), 0..5),
        cut in any::<prop::sample::Index>(),
        options in options(),
    ) {
        for program in programs() {
            let mut bytes = fixture(program);
            let at = at.index(bytes.len() + 1);
            let end = (at + damage.len()).min(bytes.len());
            bytes.splice(at..end, damage.iter().copied());
            bytes.truncate(bytes.len() - cut.index(bytes.len() + 1) / 4);
            read(program, &bytes, &options);
        }
    }

    /// A periodic file and a later one of the same machine are one file.
    #[test]
    fn blocks_of_two_files_are_the_blocks_of_one(first in 1..4usize, second in 1..4usize) {
        let periodic = ["proc-vmstat", "meminfo", "numa-vmstat", "numa-meminfo", "numa-numastat",
            "interrupts", "softirqs", "diskstats", "buddyinfo", "cpuidle", "uptime"];
        for program in periodic {
            let file = fixture(program);
            let options = ParseOptions::default();
            let once = parse(program, &file, &options).unwrap();
            let many = parse(program, &file.repeat(first + second), &options).unwrap();
            prop_assert_eq!(once.samples.len(), many.samples.len());
            for (name, series) in once.samples.iter() {
                if name.starts_with("max_used") { continue; }
                let wanted = series.values().repeat(first + second);
                prop_assert_eq!(many.samples.get(name).unwrap().values(), &wanted[..]);
            }
        }
    }
}

#[test]
fn time_grows_with_the_file_not_with_its_square() {
    let hostile: [&[u8]; 8] = [
        b"1.0% a;b;c\n",
        b"[    1.000000] BUG: x possible recursive locking detected\n",
        b"[    1.000000] at: +0x1 (geometric mean (total\n",
        b".isra.0.part.1",
        b"[[[[[[[[[[ 1.000000] a",
        b"Assertion failed: : : ",
        b"(a (b",
        b"x: 1 y\n",
    ];
    for piece in hostile {
        for program in programs() {
            let start = std::time::Instant::now();
            read(program, &piece.repeat(120_000 / piece.len()), &ParseOptions::default());
            let seconds = start.elapsed().as_secs_f64();
            assert!(
                seconds < 20.0,
                "{program}: {seconds} s for {:?}",
                piece.escape_ascii().to_string()
            );
        }
    }
}
