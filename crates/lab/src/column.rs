//! The columns of a comparison, before anything has run: kernels and kernel command lines.

use patchmark_model::{Axes, KernelArtefacts, Plan, TestboxFacts};

/// One column to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSpec {
    /// The kernel it boots.
    pub kernel: KernelArtefacts,
    /// What is added to the kernel command line; empty for nothing.
    pub cmdline: String,
}

/// Columns that differ on one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// The axis: `commit` or `cmdline`.
    pub key: &'static str,
    /// The columns; the first is the base.
    pub specs: Vec<ColumnSpec>,
}

/// Why kernels and command lines make no comparison.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// Kernels and command lines both vary.
    #[error(
        "{kernels} kernels and {cmdlines} command lines differ on two axes; give several kernels \
         and at most one --cmdline, or one kernel and several --cmdline"
    )]
    TwoAxes {
        /// Number of kernels.
        kernels: usize,
        /// Number of command lines.
        cmdlines: usize,
    },
}

impl Columns {
    /// Columns from kernels and command lines, of which at most one list has more than one entry.
    pub fn new(kernels: Vec<KernelArtefacts>, cmdlines: &[String]) -> Result<Self, ColumnsError> {
        match (kernels.as_slice(), cmdlines) {
            ([kernel], [_, _, ..]) => {
                let specs = cmdlines
                    .iter()
                    .map(|cmdline| ColumnSpec { kernel: kernel.clone(), cmdline: cmdline.clone() })
                    .collect();
                Ok(Columns { key: "cmdline", specs })
            }
            (_, [] | [_]) => {
                let cmdline = cmdlines.first().cloned().unwrap_or_default();
                let specs = kernels
                    .into_iter()
                    .map(|kernel| ColumnSpec { kernel, cmdline: cmdline.clone() })
                    .collect();
                Ok(Columns { key: "commit", specs })
            }
            _ => Err(ColumnsError::TwoAxes { kernels: kernels.len(), cmdlines: cmdlines.len() }),
        }
    }

    /// The value of a column on the compared axis.
    pub fn value(&self, column: usize) -> String {
        let Some(spec) = self.specs.get(column) else { return String::new() };
        match self.key {
            "cmdline" if spec.cmdline.is_empty() => "(default)".to_owned(),
            "cmdline" => spec.cmdline.clone(),
            _ => spec.kernel.id.label.clone(),
        }
    }

    /// What the columns differ in beside the compared axis, for people:
    /// `compiler: gcc-12, gcc-14`. Such a difference is part of what is measured.
    pub fn further_differences(&self) -> Vec<String> {
        let kconfigs = self.specs.iter().map(|spec| spec.kernel.kconfig.as_str());
        let compilers = self.specs.iter().map(|spec| spec.kernel.compiler.as_str());
        let lists = [("kconfig", kconfigs.collect::<Vec<_>>()), ("compiler", compilers.collect())];
        lists
            .into_iter()
            .filter(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1]))
            .map(|(axis, values)| format!("{axis}: {}", values.join(", ")))
            .collect()
    }

    /// The axes of one column's runs, all but the kernel's own.
    pub(crate) fn run_axes(&self, column: usize, plan: &Plan, rootfs: &str) -> Axes {
        let mut axes = plan.axes.clone();
        axes.set("rootfs", rootfs);
        if let Some(spec) = self.specs.get(column).filter(|spec| !spec.cmdline.is_empty()) {
            axes.set("cmdline", spec.cmdline.clone());
        }
        axes
    }

    /// The axes that all columns share.
    pub(crate) fn shared_axes(&self, plan: &Plan, facts: &TestboxFacts, rootfs: &str) -> Axes {
        let mut axes = plan.axes.clone();
        axes.set("rootfs", rootfs);
        axes.set("tbox_group", facts.group.clone());
        let Some(first) = self.specs.first() else { return axes };
        let all = |same: &dyn Fn(&ColumnSpec) -> bool| self.specs.iter().all(same);
        if all(&|spec| spec.kernel.kconfig == first.kernel.kconfig) {
            axes.set("kconfig", first.kernel.kconfig.clone());
        }
        if all(&|spec| spec.kernel.compiler == first.kernel.compiler) {
            axes.set("compiler", first.kernel.compiler.clone());
        }
        if self.key == "cmdline" {
            axes.set("commit", first.kernel.id.label.clone());
        } else if !first.cmdline.is_empty() {
            axes.set("cmdline", first.cmdline.clone());
        }
        axes
    }
}

#[cfg(test)]
mod tests {
    use patchmark_model::KernelId;

    use super::*;

    fn kernel(label: &str, compiler: &str) -> KernelArtefacts {
        KernelArtefacts {
            id: KernelId { spec: label.into(), label: label.into(), digest: label.into() },
            release: label.into(),
            image: None,
            modules: None,
            system_map: None,
            config: None,
            kconfig: "k".into(),
            compiler: compiler.into(),
        }
    }

    #[test]
    fn one_axis_only() {
        let two = vec![kernel("6.1", "gcc-12"), kernel("6.12", "gcc-14")];
        let lines = ["a=1".to_owned(), "a=0".to_owned()];
        assert!(Columns::new(two.clone(), &lines).is_err());
        let columns = Columns::new(two, &[]).unwrap();
        assert_eq!((columns.key, columns.value(1)), ("commit", "6.12".to_owned()));
        assert_eq!(columns.further_differences(), ["compiler: gcc-12, gcc-14"]);
        let columns = Columns::new(vec![kernel("6.1", "gcc-12")], &lines).unwrap();
        assert_eq!((columns.key, columns.value(0)), ("cmdline", "a=1".to_owned()));
        assert!(columns.further_differences().is_empty());
    }
}
