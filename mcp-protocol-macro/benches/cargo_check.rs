//! What a protocol adds to `cargo check`: `cargo bench -p mcp-protocol-macro --bench cargo_check`.
//!
//! A workspace in the target folder gets one package for each number of steps, with a protocol of so many steps in both
//! roles, and one with an empty module in its place. Their dependencies are built beforehand; then each package is
//! touched and checked by itself, in turns, with cargo's usual `dev` profile, in which the macro is not optimised. The
//! table gives the milliseconds that the protocol adds to the empty package, the least and the middle of all rounds:
//! *whole* without incremental compilation, as on the first check, and *again* with it, as after a change elsewhere in
//! the crate. Name numbers of steps behind `--` to measure others, and `rounds=9` for more rounds.
#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::expect_used,
    reason = "a benchmark prints its table, and stops where it cannot run"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs};

const STEPS: [usize; 4] = [50, 100, 200, 400];
const ROUNDS: usize = 5;

/// A shape of protocols: what it is called, and how one of so many steps is written.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: [Shape; 2] = [("notifications", notifications), ("requests", requests)];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let rounds = arguments.iter().find_map(|argument| argument.strip_prefix("rounds=")?.parse().ok());
    let asked: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let steps = if asked.is_empty() { STEPS.to_vec() } else { asked };
    let workspace = Workspace::new(&steps);
    let whole = workspace.measure(rounds.unwrap_or(ROUNDS), "0");
    let again = workspace.measure(rounds.unwrap_or(ROUNDS), "1");
    println!(
        "{:<14} {:>6} {:>10} {:>10} {:>10} {:>10}",
        "shape", "steps", "whole ms", "median", "again ms", "median"
    );
    let empty = |times: &[Times]| times.first().copied().unwrap_or_default();
    for (index, package) in workspace.packages.iter().enumerate() {
        let added = |times: &[Times]| {
            let (own, empty) = (times.get(index).copied().unwrap_or_default(), empty(times));
            match index {
                0 => own,
                _ => Times {
                    least: own.least.saturating_sub(empty.least),
                    middle: own.middle.saturating_sub(empty.middle),
                },
            }
        };
        let (whole, again) = (added(&whole), added(&again));
        println!(
            "{:<14} {:>6} {:>10} {:>10} {:>10} {:>10}",
            package.shape,
            package.steps,
            whole.least.as_millis(),
            whole.middle.as_millis(),
            again.least.as_millis(),
            again.middle.as_millis()
        );
    }
}

/// The packages that are measured, the empty one first.
struct Workspace {
    root: PathBuf,
    packages: Vec<Package>,
}

struct Package {
    name: String,
    shape: &'static str,
    steps: usize,
}

/// The least and the middle of some measurements.
#[derive(Clone, Copy, Default)]
struct Times {
    least: Duration,
    middle: Duration,
}

impl Workspace {
    fn new(steps: &[usize]) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo_check");
        let mut packages = vec![Package { name: "empty".into(), shape: "empty", steps: 0 }];
        for (shape, write) in SHAPES {
            for steps in steps.iter().copied() {
                let name = format!("{shape}_{steps}");
                write_file(&root.join(&name).join("steps.session"), &write(steps));
                packages.push(Package { name, shape, steps });
            }
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let project = here.parent().unwrap_or(here);
        let runtime = project.join("mcp-runtime");
        for package in &packages {
            let folder = root.join(&package.name);
            write_file(
                &folder.join("Cargo.toml"),
                &format!(
                    "[package]\nname = {:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
                     mcp-runtime.path = {runtime:?}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n",
                    package.name
                ),
            );
            let protocol = match package.steps {
                0 => "",
                _ => "mcp_runtime::protocol!(\"./../steps.session\");",
            };
            write_file(
                &folder.join("src/lib.rs"),
                &format!(
                    "pub mod payload {{\n    #[derive(Debug, serde::Serialize, serde::Deserialize)]\n    \
                     pub struct Amount {{\n        pub amount: u64,\n    }}\n}}\npub mod steps {{\n    {protocol}\n}}\n"
                ),
            );
        }
        let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        write_file(
            &root.join("Cargo.toml"),
            &format!("[workspace]\nresolver = \"3\"\nmembers = {names:?}\n"),
        );
        // The versions that are there already, so that nothing has to be fetched.
        let lock = fs::copy(project.join("Cargo.lock"), root.join("Cargo.lock"));
        lock.expect("the workspace has a `Cargo.lock`");
        Workspace { root, packages }
    }

    /// Checks every package in turns.
    fn measure(&self, rounds: usize, incremental: &str) -> Vec<Times> {
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); self.packages.len()];
        for package in &self.packages {
            self.check(package, incremental);
        }
        for _ in 0..rounds {
            for (package, times) in self.packages.iter().zip(&mut times) {
                touch(&self.root.join(&package.name).join("src/lib.rs"));
                times.push(self.check(package, incremental));
            }
        }
        let times = times.into_iter().map(|mut times| {
            times.sort_unstable();
            Times {
                least: times.first().copied().unwrap_or_default(),
                middle: times.get(times.len() / 2).copied().unwrap_or_default(),
            }
        });
        times.collect()
    }

    fn check(&self, package: &Package, incremental: &str) -> Duration {
        let started = Instant::now();
        let output = Command::new(env!("CARGO"))
            .args(["check", "--offline", "--quiet", "--package", &package.name])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .env("CARGO_INCREMENTAL", incremental)
            .env_remove("RUSTFLAGS")
            .stdin(Stdio::null())
            .output()
            .expect("cargo starts");
        let time = started.elapsed();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        time
    }
}

fn write_file(path: &Path, text: &str) {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).expect("the target folder can be written");
    fs::write(path, text).expect("the target folder can be written");
}

fn touch(path: &Path) {
    let file = fs::File::options().append(true).open(path).expect("the file has been written");
    file.set_modified(SystemTime::now()).expect("files have times");
}

const HEAD: &str = "protocol Steps \"1\"\ntypes crate::payload\nclient Near\nserver Far = dual Near\n";

/// A chain of notifications, to and fro.
fn notifications(steps: usize) -> String {
    let mut text = String::from(HEAD);
    for number in 0..4 {
        let _ = writeln!(text, "notification M{number} \"m/{number}\" (Amount)");
    }
    text += "Near = ";
    for number in 0..steps {
        let _ = write!(text, "{}M{} . ", if number % 2 == 0 { '!' } else { '?' }, number % 4);
    }
    text + "End\n"
}

/// A chain of requests and replies, a step each, of either side in turns.
fn requests(steps: usize) -> String {
    let mut text = String::from(HEAD);
    for number in 0..4 {
        let _ = writeln!(text, "request A{number} \"a/{number}\" (Amount) -> R{number} (Amount)");
    }
    text += "Near = ";
    for number in 0..steps / 2 {
        let (ask, answer) = if number % 2 == 0 { ('!', '?') } else { ('?', '!') };
        let _ = write!(text, "{ask}A{} . {answer}R{} . ", number % 4, number % 4);
    }
    text + "End\n"
}
