//! Atom jobs: one point of a job's matrix, everything fixed.

use patchmark_model::Axes;

use crate::emit;
use crate::programs::{Programs, Referenced};
use crate::value::Map;

/// One job of an expansion.
#[derive(Clone, Debug, PartialEq)]
pub struct AtomJob {
    /// The name lkp-tests gives it (without `.yaml`): `stress-ng-sockfd-performance-100%-sockfd-2s`.
    pub name: String,
    /// Its keys in order, comments among them.
    pub keys: Map,
    pub(crate) params: Axes,
}

impl AtomJob {
    pub(crate) fn new(name: String, keys: Map, programs: &Programs) -> Self {
        let mut params = Axes::default();
        for (key, value, show) in Referenced::axes(&keys, programs) {
            if let Some(value) =
                value.or_else(|| (show == patchmark_catalog::Show::KeyValue).then(String::new))
            {
                params.set(key, value);
            }
        }
        AtomJob { name, keys, params }
    }

    /// The job as YAML, in the form lkp-tests saves it.
    pub fn yaml(&self) -> String {
        emit::document(&self.keys)
    }

    /// The axes the job decides: testcase and parameters, with their values as written.
    pub fn axes(&self) -> Axes {
        let mut axes = self.params.clone();
        if let Some(testcase) = self.keys.text_of("testcase") {
            axes.set("testcase", testcase);
        }
        axes
    }
}
