//! Uptime: `time: <epoch>`, then `boot: <s>` and `idle: <s>`, or the two numbers of
//! `/proc/uptime` on one line (lkp-tests leaves such a line out).

use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    for line in source.lines() {
        if let Some((name, value)) = line.text.split_once(": ") {
            out.push_word(line.number, name, value.trim());
            continue;
        }
        let mut words = line.text.split_ascii_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(boot), Some(idle), None) if !options.lkp_compatible => {
                out.push_word(line.number, "boot", boot);
                out.push_word(line.number, "idle", idle);
            }
            (None, ..) => {}
            _ => out.unexpected(line.number, line.text),
        }
    }
}
