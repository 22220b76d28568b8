//! boot_params: kernel parameters that the job needs; checked, for they cannot be set any more.

use patchmark_model::Setup;

use super::Refusal;
use crate::Place;

/// Fails when a parameter (`bp_maxcpus: 2` is `maxcpus=2`) is not on the kernel's command line.
pub(super) fn check(setup: &Setup, place: &Place) -> Result<(), Refusal> {
    let cmdline = place.text("/proc/cmdline").unwrap_or_default();
    for (key, value) in &setup.options {
        // `bp1_memmap`: the number lets a parameter be there twice.
        let name = key.split_once('_').map_or(key.as_str(), |(_, name)| name);
        let wanted = if value.is_empty() { name.to_owned() } else { format!("{name}={value}") };
        if !cmdline.split_ascii_whitespace().any(|word| word == wanted) {
            return Err(Refusal::Failed(format!(
                "the kernel was booted without `{wanted}`; its command line is `{cmdline}`"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, setup};
    use super::*;

    #[test]
    fn a_missing_parameter_fails() {
        let (_root, place) = machine(&[("proc/cmdline", "quiet maxcpus=2 panic=-1\n")]);
        assert_eq!(check(&setup("boot_params", None, &[("bp_maxcpus", "2")]), &place), Ok(()));
        assert!(check(&setup("boot_params", None, &[("bp_maxcpus", "1")]), &place).is_err());
    }
}
