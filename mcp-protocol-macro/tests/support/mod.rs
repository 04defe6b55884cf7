//! A package on disk that uses the macro, and cargo to build it.

// Each test program uses a part of this, and all of it runs in tests only.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

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
    /// An empty package of this name.
    pub fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&root);
        let package = Package { root };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = here.parent().unwrap();
        package.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
                 [dependencies]\nmcp-protocol-macro.path = {here:?}\nmcp-protocol-machine.path = {:?}\n\n\
                 [profile.dev]\ndebug = \"line-tables-only\"\n",
                workspace.join("mcp-protocol-machine")
            ),
        );
        // The versions that are there already, so that nothing has to be fetched.
        fs::copy(workspace.join("Cargo.lock"), package.path("Cargo.lock")).unwrap();
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

    /// The target folder of the workspace, whose artifacts the package uses.
    pub fn target() -> &'static Path {
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
    }

    /// Runs cargo in the package, with the artifacts of the workspace at hand.
    pub fn cargo(&self, command: &str) -> Output {
        Command::new(env!("CARGO"))
            .args([command, "--offline", "--quiet", "--color", "never"])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", Package::target())
            .env_remove("RUSTFLAGS")
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
