//! What is generated, held against what it was generated from.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use mcp_protocol_compiler::{compile, generate};
use mcp_protocol_machine::Protocol;

mod restrictions {
    mcp_runtime::protocol!("../mcp-runtime/tests/sessions/restrictions.session", tables);
}
mod garden {
    mcp_runtime::protocol!("../mcp-runtime/tests/sessions/garden.session", tables);
}
mod restaurant {
    mcp_runtime::protocol!("../mcp-runtime/tests/sessions/restaurant.session", tables);
}
mod two_channels {
    mcp_runtime::protocol!("../mcp-runtime/tests/sessions/two_channels.session", tables);
}
mod workshop {
    mcp_runtime::protocol!("../mcp-runtime/tests/sessions/workshop.session", tables);
}

/// The payloads of the orders.
mod wire {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Serialize, Deserialize)]
    pub struct Dishes {
        pub names: Vec<String>,
        /// The token under which the waiter reports.
        pub order: u32,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub struct Bill {
        pub total: u32,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub struct Ticket {
        pub later: String,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub struct Progress {
        pub order: u32,
        pub progress: u32,
    }
}

/// What `sessionc expand` writes, as a module of its own.
mod orders;
mod workbench;

/// The tables of a file as the compiler has them.
fn machine(file: &str) -> Protocol {
    let compilation = compile(Path::new(file), &mut |path| std::fs::read(path)).unwrap();
    generate::machine(compilation.protocol.as_ref().unwrap())
}

#[test]
fn constant_tables_are_those_of_the_file() {
    for (tables, file) in [
        (&restrictions::PROTOCOL, "../mcp-runtime/tests/sessions/restrictions.session"),
        (&garden::PROTOCOL, "../mcp-runtime/tests/sessions/garden.session"),
        (&restaurant::PROTOCOL, "../mcp-runtime/tests/sessions/restaurant.session"),
        (&two_channels::PROTOCOL, "../mcp-runtime/tests/sessions/two_channels.session"),
        (&workshop::PROTOCOL, "../mcp-runtime/tests/sessions/workshop.session"),
        (&mcp_protocols::mcp_2025_03_26::PROTOCOL, "../protocols/mcp-2025-03-26.session"),
    ] {
        assert_eq!(*tables, machine(file), "{file}");
    }
}

#[test]
fn expansions_that_are_checked_in_are_current_and_compile() {
    for (tables, expansion, file) in [
        (&orders::PROTOCOL, include_str!("orders.rs"), "tests/protocols/generated/orders.session"),
        (
            &workbench::PROTOCOL,
            include_str!("workbench.rs"),
            "../mcp-runtime/tests/sessions/workbench.session",
        ),
    ] {
        let compilation = compile(Path::new(file), &mut |path| std::fs::read(path)).unwrap();
        let protocol = compilation.protocol.as_ref().unwrap();
        let code = generate::expand(protocol, &compilation.sources, &Default::default()).unwrap();
        assert!(code == expansion, "run `sessionc expand {file} -o tests/tests/protocols/generated/…`");
        assert_eq!(*tables, generate::machine(protocol), "{file}");
    }
}
