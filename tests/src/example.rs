//! Finds the examples, which `cargo test` builds together with the tests.

use std::path::PathBuf;

/// An example's program file.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    // The tests are in `deps`, the examples in `examples` next to it.
    let folder =
        test.parent().and_then(|deps| deps.parent()).expect("a test lies in a folder of the target folder");
    let program = folder.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "`{}` is not there: `cargo test` builds it, and so does `cargo build --example {name}`",
        program.display()
    );
    program
}
