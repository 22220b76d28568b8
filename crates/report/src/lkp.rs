//! What lkp-tests' `ncompare` does: which metrics it shows, in what order, with which numbers.
//!
//! The rules are kept whole, oddities included, so that tables can be compared with the peer's
//! byte for byte. Our own tables borrow the order of rows and the split into failures and
//! measurements from here, and nothing else.

pub(crate) mod change;
mod floors;
pub(crate) mod names;
pub(crate) mod order;
pub(crate) mod table;
