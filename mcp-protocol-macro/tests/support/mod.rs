//! A package on disk that uses the macro, and cargo to build it.

// Each test program uses a part of this, and all of it runs in tests only.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::env::consts::{DLL_EXTENSION, DLL_PREFIX};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

/// What generated code without roles needs of a runtime.
pub const RUNTIME: &str = "\
mod runtime {
    pub mod __private {
        pub use mcp_protocol_machine::protocol::*;
        pub mod tables {
            pub use mcp_protocol_machine::protocol::{Message, Payload, Protocol};
            macro_rules! messages {
                ($($(#[$meta:meta])* $name:ident = $entry:expr;)*) => {
                    #[allow(unused_imports)]
                    use crate::runtime::__private::tables::{Message, Payload};
                    #[allow(non_upper_case_globals)]
                    pub(super) const rows: &[Message] = &[$($entry),*];
                };
            }
            macro_rules! protocol {
                ($name:ident = $table:expr;) => {
                    use crate::runtime::__private::tables::Protocol;
                    pub(super) const $name: Protocol = $table;
                };
            }
            pub(crate) use {messages, protocol};
        }
    }
    pub struct Error;
}
";

/// A package in the folder for temporary files of tests.
pub struct Package {
    root: PathBuf,
}

impl Package {
    /// An empty package of this name, which has the macro and the machine without depending on them: rustc gets the
    /// artifacts that these tests were built with. A package with dependencies would compile the compiler once more,
    /// because cargo shares nothing of one workspace with another.
    pub fn new(name: &str) -> Self {
        Package::with(name, "")
    }

    /// An empty package of this name that depends on the macro and the machine, for tools that ask cargo.
    pub fn with_dependencies(name: &str) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = here.parent().unwrap();
        let machine = workspace.join("mcp-protocol-machine");
        let dependencies = format!(
            "\n[dependencies]\nmcp-protocol-macro.path = {here:?}\nmcp-protocol-machine.path = {machine:?}\n"
        );
        let package = Package::with(name, &dependencies);
        // The versions that are there already, so that nothing has to be fetched.
        fs::copy(workspace.join("Cargo.lock"), package.path("Cargo.lock")).unwrap();
        package
    }

    fn with(name: &str, dependencies: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&root);
        let package = Package { root };
        package.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n{dependencies}"
            ),
        );
        package
    }

    /// The path of a file.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Writes a file.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The target folder of the workspace.
    pub fn target() -> &'static Path {
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
    }

    /// Runs cargo in the package, with the macro and the machine at hand.
    pub fn cargo(&self, command: &str) -> Output {
        let library = |name: &str, prefix: &str, extension: &str| {
            format!("{name}={}", newest(&format!("{prefix}{name}-"), extension).display())
        };
        let flags = [
            "--extern".to_owned(),
            library("mcp_protocol_macro", DLL_PREFIX, DLL_EXTENSION),
            "--extern".to_owned(),
            library("mcp_protocol_machine", "lib", "rlib"),
            format!("-Ldependency={}", artifacts().display()),
        ];
        Command::new(env!("CARGO"))
            .args([command, "--offline", "--quiet", "--color", "never"])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", Package::target())
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .output()
            .unwrap()
    }

    /// What the program prints.
    pub fn run(&self) -> String {
        let output = self.cargo("run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What rustc says of a package that does not compile.
    pub fn errors(&self) -> String {
        let output = self.cargo("check");
        assert!(!output.status.success(), "it compiles");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// The folder of the artifacts that these tests were built with.
fn artifacts() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// The newest artifact with these ends of its name. There is one for each set of features that was ever built; the
/// newest is made from the sources as they are, because an older set is built again before tests run that use it.
fn newest(start: &str, extension: &str) -> PathBuf {
    let paths = fs::read_dir(artifacts()).unwrap().map(|entry| entry.unwrap().path());
    let named = paths.filter(|path| {
        path.extension().is_some_and(|found| found == extension)
            && path.file_name().unwrap().to_string_lossy().starts_with(start)
    });
    let modified = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    named.max_by_key(modified).unwrap_or_else(|| panic!("no `{start}….{extension}` next to this test"))
}
