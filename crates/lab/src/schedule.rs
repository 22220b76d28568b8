//! The order of the runs of a comparison.
//!
//! Every run is its own boot and the columns are interleaved in rounds that turn back and forth
//! (A B B A A B ...), so that a machine that drifts does not look like a slow kernel.

use serde::{Deserialize, Serialize};

/// One run to be had: run `index` (from 0) of column `column` (from 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// Which column.
    pub column: usize,
    /// Which run of that column.
    pub index: usize,
}

/// The slots of `runs` runs in each of `columns` columns, in the order in which they are run.
///
/// Within each pair of rounds the order turns round, which cancels a drift that is linear in time.
pub fn interleave(columns: usize, runs: usize) -> Vec<Slot> {
    (0..runs)
        .flat_map(|index| {
            (0..columns).map(move |place| {
                let column = if index % 2 == 0 { place } else { columns - 1 - place };
                Slot { column, index }
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_columns_alternate_as_abba() {
        let order: String = interleave(2, 4).iter().map(|slot| ['A', 'B'][slot.column]).collect();
        assert_eq!(order, "ABBAABBA");
    }

    #[test]
    fn each_slot_is_there_once_and_a_linear_drift_cancels_over_two_rounds() {
        for columns in 1..5 {
            let order = interleave(columns, 6);
            let mut seen = order.clone();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), columns * 6);
            let place_sum = |column| -> usize {
                order.iter().enumerate().filter(|(_, s)| s.column == column).map(|(i, _)| i).sum()
            };
            assert!((0..columns).all(|column| place_sum(column) == place_sum(0)));
        }
    }
}
