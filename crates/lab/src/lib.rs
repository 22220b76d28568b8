//! Who does what next: the schedule of a comparison, and the campaign that carries it out.
//!
//! [`Campaign::carry_out`] is the main job: it plans the runs in the store (reusing what is
//! there), has testboxes run the missing ones interleaved, derives their metrics, and answers with
//! an [`Outcome`] that the report is made of. What happens meanwhile is told as [`Progress`].

mod campaign;
mod column;
mod derive;
pub mod doctor;
mod progress;
mod schedule;
mod userspace;

pub use campaign::{Campaign, CampaignError, Outcome, now};
pub use column::{ColumnSpec, Columns, ColumnsError};
pub use derive::{Derived, derive};
pub use progress::Progress;
pub use schedule::{Slot, interleave};
pub use userspace::rootfs_axis;
