//! What `dual` writes compiles, and is the dual.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests may fail the test")]

use std::fmt::Write;
use std::path::Path;

use crate::support::{flat, with_written_server, written};
use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::dual::Undefined;
use mcp_protocol_compiler::relation::RACE;
use mcp_protocol_compiler::{Settings, compile_with};

/// The codes of the errors, and of nothing else.
fn errors(text: &str) -> Vec<&'static str> {
    let compilation = compile_with(
        Path::new("test.session"),
        &mut |_| Ok(text.as_bytes().to_vec()),
        Settings::default().without_tries(true),
    )
    .unwrap();
    let errors = compilation.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| found.code.0).collect()
}

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A random choice: each branch starts with a message of its own, so that nothing is wrong with it.
fn choice(numbers: &mut Numbers, depth: u64, loops: u64, out: &mut String) {
    let count = 1 + numbers.below(3);
    let first = numbers.below(6);
    let operator = if numbers.below(2) == 0 { "⊕" } else { "&" };
    for branch in 0..count {
        let sends = if branch == 0 { operator == "⊕" } else { numbers.below(3) > 0 };
        let sign = if sends { '!' } else { '?' };
        let before = if branch == 0 { String::new() } else { format!(" {operator} ") };
        write!(out, "{before}{sign}M{} . ", (first + branch) % 6).unwrap();
        match numbers.below(8) {
            0 => out.push_str("End"),
            1 if loops > 0 => write!(out, "x{}", numbers.below(loops)).unwrap(),
            2 => write!(out, "D{}", numbers.below(3)).unwrap(),
            3 => write!(out, "dual D{}", numbers.below(3)).unwrap(),
            4 | 5 if depth > 0 => {
                write!(out, "( rec x{loops} . ( ").unwrap();
                choice(numbers, depth - 1, loops + 1, out);
                out.push_str(" ) )");
            }
            _ if depth > 0 => {
                out.push_str("( ");
                choice(numbers, depth - 1, loops, out);
                out.push_str(" )");
            }
            _ => out.push_str("End"),
        }
    }
    if count > 1 && numbers.below(3) == 0 {
        write!(out, " {operator} End").unwrap();
    }
}

fn random(seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let mut text = String::from("client C\nserver S = dual C\n");
    for name in ["C", "D0", "D1", "D2"] {
        write!(text, "{name} = ").unwrap();
        if name == "C" && numbers.below(2) == 0 {
            text.push_str("(*( !N . End ), *( ?N . End ), ");
            choice(&mut numbers, 3, 0, &mut text);
            text.push(')');
        } else {
            choice(&mut numbers, 2, 0, &mut text);
        }
        text.push('\n');
    }
    text
}

/// How many random types are tried: fewer in the development profile, where four hundred took half the time of this program.
/// `.ci/oracles` tries all of them.
const TYPES: u64 = if cfg!(debug_assertions) { 100 } else { 400 };

#[test]
fn what_is_written_is_the_dual() {
    let mut fine = 0;
    for seed in 0..TYPES {
        let text = random(seed);
        let before = errors(&text);
        // Whether messages race is not what this is about; it must only stay as it is.
        if before.iter().any(|code| *code != RACE.0) {
            continue;
        }
        fine += 1;
        let both = with_written_server(&text, "S");
        assert_eq!(errors(&both), before, "seed {seed}\n{text}\n{both}");
    }
    assert!(fine > TYPES * 3 / 8, "only {fine} of the random types were of use");
}

#[test]
fn a_wrong_dual_would_be_noticed() {
    let mut noticed = 0;
    for seed in 0..100 {
        let text = random(seed);
        if !errors(&text).iter().all(|code| *code == RACE.0) {
            continue;
        }
        // One message of the server the wrong way round.
        let both = with_written_server(&text, "S");
        let at = both.find("\nS =").unwrap();
        let Some(sign) = both[at..].find(['!', '?']) else { continue };
        let other = if &both[at + sign..=at + sign] == "!" { "?" } else { "!" };
        let wrong = format!("{}{other}{}", &both[..at + sign], &both[at + sign + 1..]);
        noticed += usize::from(errors(&wrong) != errors(&text));
    }
    assert!(noticed > 30, "{noticed}");
}

#[test]
fn the_dual_of_shipped_protocols() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let counter = std::fs::read_to_string(root.join("examples/counter/counter.session")).unwrap();
    assert_eq!(errors(&with_written_server(&counter, "Counter")), Vec::<&str>::new());
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mcp = flat(&format!("protocols/mcp-{revision}.session"));
        assert_eq!(errors(&with_written_server(&mcp, "McpServer")), Vec::<&str>::new(), "{revision}");
    }
}

#[test]
fn names_levels_and_roles() {
    let text = "client C\nserver S = dual C\n\
                C [should \"L1\" out, must \"L2\" in error -3] = !A [should] . Next ⊕ End\n\
                Next = rec Next . ( ?B . Next & !A . dual C )\nC::Next = ?B . ( C, *Other )\n\
                Other = !D . End";
    assert_eq!(
        written(text, None).unwrap(),
        "server S\n\nS [should \"L1\" in, must \"L2\" out error -3] = ?A [should] . Next & End\n\
         S::Next = !B . (S, *Other)\nS::Other = ?D . End\n"
    );
    assert_eq!(written(text, Some("Other")).unwrap(), "S::Other = ?D . End\n");
    assert_eq!(written(text, Some("S")), Err(Undefined::Already("S".into(), "C".into())));
    assert!(
        matches!(written(text, Some("Oter")), Err(Undefined::Unknown(_, names)) if names.contains(&"Other".into()))
    );
    assert_eq!(written("", None), Err(Undefined::Nothing));
    assert_eq!(written("A = !M . B\nB = ?N . A", None).unwrap(), "A = ?M . B\nB = !N . A\n");
    assert_eq!(
        written("server Shop\nShop = ?M . B\nB = End", None).unwrap(),
        "client ShopPeer\n\nShopPeer = !M . B\nShopPeer::B = End\n"
    );
}
