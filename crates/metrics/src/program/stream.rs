//! STREAM, run once or more: bandwidth of each kernel, mean and harmonic mean over the runs.

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;
use crate::spread::Spread;

const KERNELS: [&str; 4] = ["Copy", "Scale", "Add", "Triad"];

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut rates: [Vec<f64>; 4] = Default::default();
    let mut unit: Option<String> = None;
    let mut facts: [Option<f64>; 2] = [None; 2];
    for line in source.lines() {
        let text = line.text;
        if let Some((_, bytes)) = text.split_once("This system uses ") {
            facts[0] = Some(number::leading_integer(bytes));
        } else if let Some((_, size)) = text.split_once("Array size = ") {
            facts[1] = Some(number::leading_integer(size));
        } else if let Some((_, rest)) = text.split_once("Best Rate ") {
            unit = rest.split_once("Avg time").map(|(unit, _)| unit.trim().replace('/', "p"));
        } else if let Some(kernel) = first_kernel(text) {
            if unit.is_none() {
                out.unexpected(line.number, text);
                return;
            }
            let rate = text.split_ascii_whitespace().nth(1).map_or(0.0, number::leading_float);
            if let Some(rates) = rates.get_mut(kernel) {
                rates.push(rate);
            }
        }
    }
    for (name, fact) in ["element_size_byte", "array_size"].iter().zip(facts) {
        if let Some(fact) = fact {
            out.push(name, fact);
        }
    }
    let unit = unit.unwrap_or_default();
    for (kernel, rates) in KERNELS.iter().zip(&rates) {
        let Some(rates) = Spread::of(rates) else { continue };
        let name = format!("{}_bandwidth_{unit}", kernel.to_ascii_lowercase());
        out.push(&name, number::rounded_to_cents(rates.mean));
        out.push(&format!("{name}_harmonicMean"), number::rounded_to_cents(rates.harmonic_mean));
    }
}

/// The kernel that is named first in a line.
fn first_kernel(line: &str) -> Option<usize> {
    let found =
        KERNELS.iter().enumerate().filter_map(|(at, kernel)| Some((line.find(kernel)?, at)));
    found.min().map(|(_, kernel)| kernel)
}
