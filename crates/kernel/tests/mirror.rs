//! Real kernels from the mirrors of this machine. Not run by default: they need the network.
//! `PATCHMARK_KERNELS="deb:6.1 deb:5.10" cargo test -p patchmark-kernel --test mirror -- --ignored`

use std::time::Instant;

use patchmark_kernel::{FetchEvent, KernelCache, KernelSpec};

#[test]
#[ignore = "needs the network"]
fn kernels_of_many_series_are_fetched_and_found_again() {
    let kernels = std::env::var("PATCHMARK_KERNELS")
        .unwrap_or_else(|_| "deb:5.10 deb:6.1 deb:6.12 deb:6.18 deb:7.3".to_owned());
    let folder = std::env::var("PATCHMARK_CACHE").map(Into::into);
    let scratch = tempfile::tempdir().unwrap();
    let cache = KernelCache::new(folder.unwrap_or_else(|_| scratch.path().to_owned()));
    for text in kernels.split_whitespace() {
        let spec = KernelSpec::parse(text).unwrap();
        let begun = Instant::now();
        let mut last = None;
        let mut tell = |event: FetchEvent| {
            let brief = match &event {
                FetchEvent::Downloading { package, total, .. } => {
                    format!("Downloading {package} of {total}")
                }
                other => format!("{other:?}"),
            };
            if last.as_ref() != Some(&brief) {
                println!("  {:6.2} s {brief}", begun.elapsed().as_secs_f64());
                last = Some(brief);
            }
        };
        let kernel = cache.resolve(&spec, &mut tell).unwrap();
        println!("{text}: {kernel:#?} in {:.2} s", begun.elapsed().as_secs_f64());
        assert!(kernel.image.as_ref().unwrap().is_file());
        assert!(kernel.modules.as_ref().unwrap().join("modules.dep").is_file());
        assert!(kernel.config.as_ref().unwrap().is_file());
        assert!(kernel.system_map.as_ref().unwrap().is_file());
        assert!(kernel.compiler.starts_with("gcc-"), "{}", kernel.compiler);
        assert_eq!(kernel.kconfig, "debian-cloud-amd64");
        assert_eq!(cache.resolve(&spec, &mut |_| {}).unwrap(), kernel);
    }
}
