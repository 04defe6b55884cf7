//! Whether what a server did is a fault.

use mcp_protocol_machine::protocol::Strictness;
use mcp_runtime::{Report, ViolationKind};

use super::reaction::{Afterwards, Reaction};

/// Something that a server did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) strictness: Strictness,
    /// What the server did, after "the server".
    pub(crate) what: String,
}

/// What a server did wrong, the worst first. `level` is how strictly the protocol forbids the offence; nothing if it only
/// is hard to read. A refusal is right, and so is silence where no answer can be expected.
pub(crate) fn fault(
    level: Option<Strictness>,
    wants_answer: bool,
    reaction: &Reaction,
    afterwards: &Afterwards,
) -> Option<Fault> {
    let must = |what: String| Some(Fault { strictness: Strictness::Must, what });
    match (reaction, afterwards) {
        (Reaction::Ended(ending), Afterwards::Ended(_) | Afterwards::NotAsked) => must(ending.to_string()),
        (_, Afterwards::Ended(ending)) => must(format!("{ending} afterwards")),
        (_, Afterwards::Fails(_) | Afterwards::Unanswered) => {
            must(format!("does not work afterwards: {afterwards}"))
        }
        // No answer can be expected of a server that may go.
        (Reaction::Ended(_), Afterwards::Over) => None,
        (Reaction::Answered, _) => {
            let what = "answered with a result".to_owned();
            level.map(|strictness| Fault { strictness, what })
        }
        (Reaction::OtherId(what), _) => must(with_other_id(what)),
        (Reaction::Silent, _) if wants_answer => {
            Some(Fault { strictness: Strictness::Should, what: "did not answer".to_owned() })
        }
        _ => None,
    }
}

/// What a server does wrong that answers with an id of another type.
pub(crate) fn with_other_id(what: &str) -> String {
    format!("answered with the id of the request as {what}")
}

/// How strictly the protocol forbids a message, and what it says, by the worst of what was reported of it. What belongs to
/// nothing is not forbidden more strictly than `most`.
pub(crate) fn worst<'a>(
    reports: impl Iterator<Item = &'a Report>,
    most: Strictness,
) -> Option<(Strictness, &'a Report)> {
    let strictness = |report: &Report| match report {
        Report::Violation(violation) if matches!(violation.kind, ViolationKind::UnknownKey { .. }) => {
            Some(violation.strictness().min(most))
        }
        Report::Violation(violation) => Some(violation.strictness()),
        Report::Advice(_) => Some(Strictness::Should),
        Report::Malformed { .. } => Some(Strictness::Must),
        _ => None,
    };
    reports.filter_map(|report| Some((strictness(report)?, report))).max_by_key(|(level, _)| *level)
}

#[cfg(test)]
mod tests {
    use super::super::connection::arrival::Ending;
    use super::*;

    fn strictness(
        level: Option<Strictness>,
        wants: bool,
        reaction: &Reaction,
        after: &Afterwards,
    ) -> Option<Strictness> {
        fault(level, wants, reaction, after).map(|fault| fault.strictness)
    }

    #[test]
    fn reactions_are_judged() {
        use Strictness::{Must, Should};
        let refused = Reaction::Refused { code: Some(-32600), status: None };
        let ended = Ending::Exited(1);
        let works = &Afterwards::Works;
        assert_eq!(strictness(Some(Must), true, &Reaction::Answered, works), Some(Must));
        assert_eq!(strictness(Some(Should), true, &Reaction::Answered, works), Some(Should));
        assert_eq!(strictness(None, true, &Reaction::Answered, works), None);
        assert_eq!(strictness(Some(Must), true, &refused, works), None);
        assert_eq!(strictness(Some(Must), true, &Reaction::Silent, works), Some(Should));
        assert_eq!(strictness(Some(Must), false, &Reaction::Silent, works), None);
        assert_eq!(strictness(None, false, &refused, &Afterwards::Fails("no answer".to_owned())), Some(Must));
        assert_eq!(strictness(None, false, &refused, &Afterwards::Unanswered), Some(Must));
        assert_eq!(strictness(None, false, &refused, &Afterwards::Ended(ended.clone())), Some(Must));
        assert_eq!(
            strictness(None, false, &Reaction::Ended(ended.clone()), &Afterwards::NotAsked),
            Some(Must)
        );
        // A server may exit at the end of a session; what it has done before that counts.
        assert_eq!(
            strictness(Some(Must), true, &Reaction::Ended(Ending::Exited(0)), &Afterwards::Over),
            None
        );
        assert_eq!(strictness(Some(Must), true, &Reaction::Answered, &Afterwards::Over), Some(Must));
        // A server of HTTP may close a connection.
        assert_eq!(strictness(Some(Must), true, &Reaction::Ended(ended), works), None);
    }
}
