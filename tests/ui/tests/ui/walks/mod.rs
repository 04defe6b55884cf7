//! Random protocols, run through their typed interface: in each state, a session has the methods of what the file
//! permits there and no others, and two programs that go one way through the file understand each other.

mod api;
mod crossing;
mod handler;
mod linear;
mod opened;
mod pair;
mod program;
mod protocol;
mod stars;
mod walk;

use std::fmt::Write;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

use mcp_protocol_compiler::{compile, generate};

use crate::expanded::{code, empty_folder, seed_and_cases};
use crate::random::Random;
use crate::rustc::{Dependencies, Rustc};
use api::Api;
use protocol::Protocol;

/// How many protocols, and how many ways through each.
const PROTOCOLS: usize = 6;
const WAYS: usize = 4;

/// A protocol that has no errors, with its text and its code.
fn accepted(random: &mut Random) -> (Protocol, String, String) {
    for _ in 0..200 {
        let protocol = Protocol::random(random);
        let text = protocol.text();
        if let Some(code) = code(&text) {
            return (protocol, text, code);
        }
    }
    panic!("no protocol of 200 has no errors");
}

/// The typed interface of a file.
fn api(text: &str) -> Api {
    let compilation = compile(Path::new("random.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap();
    let signatures = generate::signatures(&compilation.protocol.unwrap(), &compilation.sources).unwrap();
    Api::read(&signatures)
}

/// `UI_SEED` chooses other protocols, and `UI_CASES` multiplies them.
#[test]
fn random_protocols_run_through_their_types() {
    let (seed, cases) = seed_and_cases();
    let mut random = Random::new(u64::try_from(seed).unwrap());
    let folder = empty_folder("walks");
    let mut main = "//! Random ways through random protocols.\n#![allow(warnings)]\n\n".to_owned();
    let mut ways = String::new();
    for number in 0..PROTOCOLS * cases {
        let (protocol, text, code) = accepted(&mut random);
        fs::write(folder.join(format!("p{number}.session")), &text).unwrap();
        fs::write(folder.join(format!("p{number}.rs")), code).unwrap();
        let api = api(&text);
        let module = format!("p{number}");
        writeln!(main, "mod {module};").unwrap();
        main += &handler::handlers(&protocol.stars, &api, &module);
        for way in 0..WAYS {
            let name = format!("{module}_{way}");
            let function = catch_unwind(AssertUnwindSafe(|| {
                walk::function(&protocol, &api, &module, &name, &mut random)
            }));
            main += &function.unwrap_or_else(|_| panic!("seed {seed}:\n{text}"));
            writeln!(ways, "    way(\"{name}\", {name}()).await;").unwrap();
        }
    }
    main += "
async fn way(name: &str, way: impl Future<Output = ()>) {
    println!(\"{name}\");
    tokio::time::timeout(std::time::Duration::from_secs(60), way).await.expect(\"it ends\");
}

#[tokio::main(flavor = \"current_thread\")]
async fn main() {
";
    main += &ways;
    main += "}\n";
    let file = folder.join("walks.rs");
    fs::write(&file, main).unwrap();
    let dependencies = Dependencies::of_the_workspace(&crate::CRATES).with_code();
    let program = Rustc::installed("tests/ui").build(&file, &dependencies);
    let output = Command::new(program).output().unwrap();
    let (said, wrong) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let last = said.lines().last().unwrap_or_default();
    assert!(output.status.success(), "seed {seed}, {last} in {}:\n{wrong}", folder.display());
    assert_eq!(said.lines().count(), PROTOCOLS * cases * WAYS);
}
