//! Which protocol sessions are judged by: that of a file, or a shipped one.

use std::path::Path;
use std::sync::Arc;

use mcp_protocol_compiler::generate;
use mcp_protocol_compiler::symbols::symbols;
use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Protocol, Side};
use mcp_runtime::Options;
use mcp_runtime::driver::Framing;
use mcp_runtime::observer::Observer;

use crate::arguments::Shipped;
use crate::files::{Failure, compile_file, print_findings, reader};
use crate::missing_role::RoleToAdd;
use crate::server_command::line_that_starts;

/// The protocol that sessions are judged by, in all its revisions.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    protocol: ProtocolRef,
    /// The revisions that the sides may agree on; none if the protocol is that of a file.
    revisions: &'static [&'static Protocol],
    /// The revision without a handshake, in which each request says its revision.
    stateless: Option<ProtocolRef>,
    framing: Framing,
}

/// Chooses the protocol of a file, or a shipped one. What is wrong with the file is printed.
///
/// # Errors
/// If neither is named, or both, or if the file cannot be read or has errors.
pub(crate) fn choose(file: Option<&Path>, shipped: Option<Shipped>) -> Result<Chosen, Failure> {
    match (file, shipped) {
        (Some(file), None) => of_file(file),
        (None, Some(shipped)) => Ok(of_crate(shipped)),
        (None, None) => Err(Failure::NoProtocol),
        (Some(file), Some(_)) => {
            let is_protocol = file.extension().is_some_and(|extension| extension == "session");
            let line = line_that_starts().filter(|_| !is_protocol);
            Err(Failure::TwoProtocols(file.to_path_buf(), line))
        }
    }
}

/// What is wrong with a file that has no role of a side.
pub(crate) fn without_role(path: &Path, side: Side) -> Failure {
    let names = symbols(path, &mut reader(path)).ok();
    Failure::NoRole(path.to_path_buf(), side, RoleToAdd::of(names.as_ref(), path, side))
}

fn of_file(file: &Path) -> Result<Chosen, Failure> {
    let compilation = compile_file(file)?;
    print_findings(&compilation);
    let Some(compiled) = &compilation.protocol else { return Err(Failure::HasErrors(file.to_path_buf())) };
    let protocol = Arc::new(generate::machine(compiled));
    if protocol.server.is_none() {
        return Err(without_role(file, Side::Server));
    }
    let stateless = protocol.announcements.iter().any(|place| place.message.is_none());
    Ok(Chosen {
        stateless: stateless.then(|| ProtocolRef::from(&protocol)),
        protocol: protocol.into(),
        revisions: &[],
        framing: Framing::Lines,
    })
}

fn of_crate(shipped: Shipped) -> Chosen {
    let (protocol, framing) = match shipped {
        Shipped::Mcp => (&mcp_protocols::mcp_2025_11_25::PROTOCOL, Framing::Lines),
        Shipped::Lsp => (&lsp_protocols::lsp_3_17::PROTOCOL, Framing::ContentLength),
        Shipped::Acp => (&acp_protocols::acp_v1::PROTOCOL, Framing::Lines),
    };
    let is_mcp = shipped == Shipped::Mcp;
    Chosen {
        protocol: protocol.into(),
        revisions: if is_mcp { &mcp_protocols::REVISIONS } else { &[] },
        // It permits what the revision without the extension for tasks permits, too.
        stateless: is_mcp.then(|| (&mcp_protocols::mcp_2026_07_28_tasks::PROTOCOL).into()),
        framing,
    }
}

impl Chosen {
    /// The tables that a session begins with: those of the latest revision.
    pub(crate) fn protocol(&self) -> &ProtocolRef {
        &self.protocol
    }

    /// The tables of requests that stand for themselves, if the protocol has a revision of this kind.
    pub(crate) fn stateless(&self) -> Option<&ProtocolRef> {
        self.stateless.as_ref()
    }

    /// How messages are separated in a stream, unless the user says otherwise.
    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }

    /// An observer of a session with a handshake, for every revision.
    ///
    /// # Errors
    /// If the tables cannot be followed.
    pub(crate) fn observer(&self, options: Options) -> Result<Observer, Failure> {
        let options = if self.revisions.is_empty() {
            options
        } else {
            options.revisions(self.revisions.iter().copied())
        };
        Observer::new(self.protocol.clone(), options).map_err(Failure::Tables)
    }

    /// The tables of every revision with a handshake that the sides may agree on, the latest first.
    pub(crate) fn revisions(&self) -> Vec<ProtocolRef> {
        let others = self.revisions.iter().rev().filter(|other| other.version != self.protocol.version);
        std::iter::once(self.protocol.clone()).chain(others.map(|other| ProtocolRef::from(*other))).collect()
    }

    /// An observer of a session of one of these revisions, for every revision.
    ///
    /// # Errors
    /// If the tables cannot be followed.
    pub(crate) fn observer_of(&self, revision: &ProtocolRef, options: Options) -> Result<Observer, Failure> {
        Chosen { protocol: revision.clone(), ..self.clone() }.observer(options)
    }

    /// An observer of requests that stand for themselves, if the protocol has a revision of this kind.
    ///
    /// # Errors
    /// If the tables cannot be followed.
    pub(crate) fn stateless_observer(&self, options: Options) -> Result<Option<Observer>, Failure> {
        let observer = self.stateless.clone().map(|protocol| Observer::new(protocol, options));
        observer.transpose().map_err(Failure::Tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_runtime::protocol::Side;

    #[test]
    fn a_session_of_mcp_is_judged_by_the_revision_that_the_sides_agree_on() {
        let chosen = choose(None, Some(Shipped::Mcp)).unwrap();
        let mut observer = chosen.observer(Options::new()).unwrap();
        let initialize = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        let result = br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
        assert!(observer.observe(Side::Client, initialize)[0].is_clean());
        assert!(observer.observe(Side::Server, result)[0].is_clean());
        assert_eq!(observer.version().as_deref(), Some("2024-11-05"));
        assert_eq!(observer.protocol().version.as_deref(), Some("2024-11-05"));
    }

    #[test]
    fn a_request_that_says_its_revision_is_judged_by_itself() {
        let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        let chosen = choose(None, Some(Shipped::Mcp)).unwrap();
        let mut observer = chosen.stateless_observer(Options::new()).unwrap().unwrap();
        assert!(observer.announces_itself(Side::Client, request));
        let bare = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}"#;
        assert!(!observer.announces_itself(Side::Client, bare));
        assert!(observer.observe(Side::Client, request)[0].is_clean());
    }

    #[test]
    fn every_shipped_protocol_can_be_followed() {
        for (shipped, framing, stateless) in [
            (Shipped::Mcp, Framing::Lines, true),
            (Shipped::Lsp, Framing::ContentLength, false),
            (Shipped::Acp, Framing::Lines, false),
        ] {
            let chosen = choose(None, Some(shipped)).unwrap();
            assert!(chosen.observer(Options::new()).is_ok());
            assert_eq!(chosen.stateless_observer(Options::new()).unwrap().is_some(), stateless);
            assert_eq!(chosen.framing(), framing);
        }
    }

    #[test]
    fn a_file_with_errors_and_no_choice_at_all_are_refused() {
        let problem =
            |file: Option<&str>, shipped| choose(file.map(Path::new), shipped).unwrap_err().to_string();
        assert_eq!(
            problem(None, None),
            "no protocol is named: give a `.session` file, or a shipped protocol with `--protocol mcp`"
        );
        assert_eq!(
            problem(Some("a.session"), Some(Shipped::Lsp)),
            "two protocols are named: leave out `a.session` or `--protocol`"
        );
        assert!(problem(Some("missing.session"), None).starts_with("cannot read `missing.session`: "));
    }
}
