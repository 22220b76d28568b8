//! What the program prints, word by word. `TRYCMD=overwrite cargo test -p patchmark --test cli`
//! writes what it prints now.

#[test]
fn commands_print_what_is_recorded() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    trycmd::TestCases::new()
        .env("PATCHMARK_STORE", folder.path().to_str().expect("a path of text"))
        .case("tests/cmd/*.trycmd");
}
