//! What the numbers of a testbox mean.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The clock a testbox measures with. It is part of the testbox group's name and never mixed:
/// numbers of two clocks are not comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Real time on real hardware, no hypervisor of ours between.
    Real,
    /// Real time in a hardware-assisted virtual machine.
    Kvm,
    /// Emulated time: QEMU translates the guest's instructions; 10-20% noise.
    Tcg,
    /// Guest time is the count of guest instructions (QEMU `-icount shift=3`), one CPU.
    Icount,
}

impl Clock {
    /// Every clock, in the order of the documentation.
    pub const ALL: [Clock; 4] = [Clock::Real, Clock::Kvm, Clock::Tcg, Clock::Icount];

    /// The word used in options, group names and tables.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Real => "real",
            Clock::Kvm => "kvm",
            Clock::Tcg => "tcg",
            Clock::Icount => "icount",
        }
    }

    /// One sentence on what numbers under this clock can and cannot show.
    pub fn meaning(self) -> &'static str {
        match self {
            Clock::Real => "real time on this machine",
            Clock::Kvm => "real time in a KVM virtual machine",
            Clock::Tcg => {
                "emulated time (QEMU TCG): 10-20% noise from the emulator; good for functional \
                 checks, not for measuring"
            }
            Clock::Icount => {
                "guest instructions (QEMU -icount shift=3, one CPU): path length of kernel and \
                 program to 0.1-1%; blind to caches, memory latency and lock contention"
            }
        }
    }

    /// Whether runs under this clock can share the host without disturbing each other's numbers.
    pub fn is_load_proof(self) -> bool {
        self == Clock::Icount
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Clock {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Clock::ALL
            .into_iter()
            .find(|clock| clock.name() == word)
            .ok_or_else(|| format!("unknown clock `{word}`: kvm, tcg, icount or real"))
    }
}
