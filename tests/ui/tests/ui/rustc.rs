//! rustc, run on one file at a time with crates that cargo has built. The programs need nothing else of cargo.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use serde_json::Value;

use crate::normal;

/// The crates that a program may use.
pub(crate) struct Dependencies {
    arguments: Vec<String>,
}

// Each package that has this file needs one of the two.
#[allow(dead_code)]
impl Dependencies {
    /// The crates of the workspace, as [`of_the_workspace`](Self::of_the_workspace) has them, and `mcp_protocols` with its
    /// default features, checked here: where it has more than one revision, rustc names types by their whole paths.
    pub(crate) fn of_one_revision(crates: &[&str]) -> Dependencies {
        let mut dependencies = Dependencies::of_the_workspace(crates);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one_revision");
        fs::create_dir_all(&folder).unwrap();
        let output = Rustc::installed("protocols")
            .command("lib", &folder)
            .args(["--crate-name=mcp_protocols", "--cfg=feature=\"2025-11-25\"", "--cap-lints=allow"])
            .args(&dependencies.arguments)
            .arg("protocols/src/lib.rs")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata = folder.join("libmcp_protocols.rmeta");
        dependencies.arguments.push(format!("--extern=mcp_protocols={}", metadata.display()));
        dependencies
    }

    /// Has cargo build the tests of the workspace, with the features that all packages together ask for: after
    /// `cargo test --workspace` nothing is left to build.
    pub(crate) fn of_the_workspace(crates: &[&str]) -> Dependencies {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let output = Command::new(env!("CARGO"))
            .args(["test", "--workspace", "--no-run", "--offline", "--message-format=json"])
            .env("CARGO_TARGET_DIR", target)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let messages = String::from_utf8(output.stdout).unwrap();
        let artifacts: Vec<Value> =
            messages.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let arguments = crates.iter().flat_map(|name| {
            let metadata = metadata(&artifacts, name);
            let folder = Path::new(metadata).parent().unwrap().display().to_string();
            [format!("--extern={name}={metadata}"), format!("-Ldependency={folder}")]
        });
        Dependencies { arguments: arguments.collect() }
    }

    /// The same for a program that is to run: the libraries with their code.
    pub(crate) fn with_code(self) -> Dependencies {
        let with_code = |argument: String| match argument.strip_suffix(".rmeta") {
            Some(path) => format!("{path}.rlib"),
            None => argument,
        };
        Dependencies { arguments: self.arguments.into_iter().map(with_code).collect() }
    }
}

/// The metadata of the one library of this name.
fn metadata<'a>(artifacts: &'a [Value], name: &str) -> &'a str {
    let of_crate = artifacts.iter().filter(|artifact| artifact["target"]["name"] == name);
    let files = of_crate.flat_map(|artifact| artifact["filenames"].as_array().into_iter().flatten());
    let mut metadata = files.filter_map(Value::as_str).filter(|file| file.ends_with(".rmeta"));
    let found = metadata.next().unwrap_or_else(|| panic!("no library `{name}`"));
    assert!(metadata.all(|other| other == found), "several libraries are called `{name}`");
    found
}

/// The compiler that builds these tests.
pub(crate) struct Rustc {
    path: PathBuf,
    /// Where the programs are in the workspace.
    folder: &'static str,
}

impl Rustc {
    /// The compiler, for programs in this folder of the workspace.
    pub(crate) fn installed(folder: &'static str) -> Rustc {
        Rustc { path: env::var_os("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from), folder }
    }

    /// What it calls itself.
    pub(crate) fn version(&self) -> String {
        let output = Command::new(&self.path).arg("--version").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it says of each program, none of which compiles.
    pub(crate) fn errors(&self, programs: &[PathBuf], dependencies: &Dependencies) -> Vec<String> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = programs.len().div_ceil(threads);
        let errors_of = |program: &PathBuf| {
            let output = self.run(program, dependencies);
            assert!(!output.status.success(), "{} compiles", program.display());
            normal::form(&String::from_utf8(output.stderr).unwrap(), self.folder)
        };
        thread::scope(|scope| {
            let shares = programs.chunks(share);
            let running: Vec<_> = shares
                .map(|share| scope.spawn(|| share.iter().map(errors_of).collect::<Vec<String>>()))
                .collect();
            running.into_iter().flat_map(|share| share.join().unwrap()).collect()
        })
    }

    /// What it says of a library.
    #[allow(dead_code, reason = "each package that has this file needs some of it")]
    pub(crate) fn check(&self, library: &Path, dependencies: &Dependencies) -> String {
        let output = self
            .command("lib", library.parent().unwrap())
            .arg("--color=never")
            .args(&dependencies.arguments)
            .arg(library)
            .output()
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    }

    /// Makes a program that can run, next to its file.
    #[allow(dead_code, reason = "each package that has this file needs some of it")]
    pub(crate) fn build(&self, program: &Path, dependencies: &Dependencies) -> PathBuf {
        let output = self
            .emitting("link", "bin", program.parent().unwrap())
            .args(&dependencies.arguments)
            .arg(program)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program.with_extension(env::consts::EXE_EXTENSION)
    }

    fn run(&self, program: &Path, dependencies: &Dependencies) -> Output {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        self.command("bin", Path::new(env!("CARGO_TARGET_TMPDIR")))
            // Wide enough to name long types in full.
            .args(["--color=never", "--diagnostic-width=1000"])
            .args(&dependencies.arguments)
            .arg(Path::new(self.folder).join(program.file_name().unwrap()))
            // The package that a program belongs to is the folder in which its `.session` file is.
            .env("CARGO_MANIFEST_DIR", package.join("fail"))
            .output()
            .unwrap()
    }

    /// Checks a crate of this kind.
    fn command(&self, kind: &str, into: &Path) -> Command {
        self.emitting("metadata", kind, into)
    }

    fn emitting(&self, what: &str, kind: &str, into: &Path) -> Command {
        let mut rustc = Command::new(&self.path);
        rustc
            .arg("--edition=2024")
            .arg(format!("--emit={what}"))
            .arg(format!("--crate-type={kind}"))
            .arg(format!("--out-dir={}", into.display()))
            // Where cargo runs it, so that it finds the sources of the other packages.
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap());
        rustc
    }
}
