//! What a server sent although the protocol does not permit it. It is not the answer to an offence.

use mcp_protocol_machine::Excerpt;
use mcp_protocol_machine::protocol::Strictness;
use mcp_runtime::Report;
use mcp_runtime::observer::{Observed, ObservedKind};
use serde_json::Value;

use super::verdict::worst;
use crate::malformed_texts::{mistake_of_form, with_hint};

/// How many different messages of a session are kept.
const MOST_OF_SESSION: usize = 100;

/// A message of the server that the protocol does not permit, in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    /// Its method, or what else it is.
    name: String,
    /// Where the session was, if the message depends on that.
    state: Option<String>,
    level: Strictness,
    /// What the protocol says of it.
    rule: String,
    /// It came after the offence, and may follow from it.
    pub(crate) is_after_offence: bool,
    /// What is wrong with a text that is not a message: another mistake is another one.
    form: Option<String>,
}

/// The same of all sessions: a message of the server that the protocol does not permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unprompted {
    /// Its method, or what else it is.
    pub(crate) name: String,
    /// Where sessions were when it came; first the one that the rule is about.
    pub(crate) states: Vec<String>,
    pub(crate) level: Strictness,
    /// What the protocol says of it where it is worst.
    pub(crate) rule: String,
    /// The first offence after which it came; nothing if it came without an offence, too.
    pub(crate) after: Option<String>,
    /// What is wrong with a text that is not a message.
    form: Option<String>,
}

impl Stray {
    /// What there is to say of a message of the server: nothing if the protocol permits it. A reply is an answer to what the
    /// probe has sent, and so may be a text that is not a message, after an offence.
    pub(super) fn of(message: &Value, observed: &Observed, is_after_offence: bool) -> Option<Stray> {
        let name = match observed.kind {
            ObservedKind::Request | ObservedKind::Notification => {
                Excerpt(message.get("method")?.as_str()?).to_string()
            }
            ObservedKind::Malformed if !is_after_offence => "a text that is not a message".to_owned(),
            _ => return None,
        };
        let (level, report) = worst(observed.reports.iter(), Strictness::Must)?;
        let state = match report {
            Report::Violation(violation) | Report::Advice(violation) => Some(violation.state_names()),
            _ => None,
        };
        let (form, rule) = match report {
            Report::Malformed { error, .. } => {
                (Some(mistake_of_form(&error.message)), with_hint(report, &error.message))
            }
            _ => (None, report.to_string()),
        };
        Some(Stray { name, state, level, rule, is_after_offence, form })
    }

    /// An answer over HTTP whose content type is none of an answer, with what to send instead.
    pub(super) fn of_kind(mistake: String, is_after_offence: bool) -> Stray {
        let (name, form) = ("an answer over HTTP".to_owned(), Some(mistake.clone()));
        Stray { name, state: None, level: Strictness::Must, rule: mistake, is_after_offence, form }
    }

    /// Whether another one says nothing more: it is the same message in the same state, on the same side of the offence.
    fn covers(&self, other: &Stray) -> bool {
        let what = |one: &Stray| (one.level, one.is_after_offence);
        let is_same = self.name == other.name && self.form == other.form && self.state == other.state;
        is_same && what(self) == what(other)
    }
}

/// Adds what came in a session, if it says more than what came before. A server that sends without end does not make it
/// grow without end.
pub(super) fn note(strays: &mut Vec<Stray>, stray: Stray) {
    if strays.len() < MOST_OF_SESSION && !strays.iter().any(|known| known.covers(&stray)) {
        strays.push(stray);
    }
}

/// Gathers what came in all sessions, each message once; with the offence of its session, if that had one.
pub(super) fn gather(strays: impl Iterator<Item = (Option<String>, Stray)>) -> Vec<Unprompted> {
    let mut all: Vec<Unprompted> = Vec::new();
    for (offence, stray) in strays {
        let after = offence.filter(|_| stray.is_after_offence);
        match all.iter_mut().find(|one| (&one.name, &one.form) == (&stray.name, &stray.form)) {
            Some(one) => {
                one.after = one.after.take().and_then(|before| after.map(|_| before));
                let is_worse = stray.level > one.level;
                if let Some(state) = stray.state {
                    let known = one.states.iter().position(|known| *known == state);
                    match is_worse {
                        true => {
                            known.into_iter().for_each(|place| drop(one.states.remove(place)));
                            one.states.insert(0, state);
                        }
                        false if known.is_none() => one.states.push(state),
                        false => {}
                    }
                }
                if is_worse {
                    (one.level, one.rule) = (stray.level, stray.rule);
                }
            }
            None => all.push(Unprompted {
                name: stray.name,
                states: stray.state.into_iter().collect(),
                level: stray.level,
                rule: stray.rule,
                after,
                form: stray.form,
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stray(name: &str, state: &str, level: Strictness, is_after_offence: bool) -> Stray {
        let (name, state) = (name.to_owned(), Some(state.to_owned()));
        let rule = format!("not in {state:?}");
        Stray { name, state, level, rule, is_after_offence, form: None }
    }

    #[test]
    fn texts_with_different_mistakes_are_different_ones() {
        let text = |form: &str| Stray {
            form: Some(form.to_owned()),
            ..stray("a text that is not a message", "A", Strictness::Must, false)
        };
        let mut kept = Vec::new();
        for form in ["not JSON", "no id", "not JSON"] {
            note(&mut kept, text(form));
        }
        assert_eq!(gather(kept.into_iter().map(|stray| (None, stray))).len(), 2);
    }

    #[test]
    fn a_session_keeps_each_message_once_and_not_more_than_some() {
        let mut kept = Vec::new();
        for number in 0..10 * MOST_OF_SESSION {
            for level in [Strictness::Must, Strictness::Should, Strictness::Must] {
                note(&mut kept, stray("tick", "A", level, false));
            }
            note(&mut kept, stray(&number.to_string(), "A", Strictness::Must, false));
        }
        assert_eq!(kept.len(), MOST_OF_SESSION);
        assert_eq!(kept.iter().filter(|one| one.name == "tick").count(), 2, "one of each level");
    }

    #[test]
    fn a_message_of_several_sessions_and_states_is_one() {
        let offence = |name: &str| Some(name.to_owned());
        let all = gather(
            [
                (offence("first"), stray("tick", "A", Strictness::Should, true)),
                (offence("first"), stray("tock", "A", Strictness::Must, true)),
                (offence("second"), stray("tick", "B", Strictness::Must, true)),
                (offence("third"), stray("tick", "B", Strictness::Must, false)),
            ]
            .into_iter(),
        );
        let tick = Unprompted {
            name: "tick".to_owned(),
            states: vec!["B".to_owned(), "A".to_owned()],
            level: Strictness::Must,
            rule: stray("tick", "B", Strictness::Must, true).rule,
            after: None,
            form: None,
        };
        assert_eq!(all.first(), Some(&tick), "it came before an offence once");
        assert_eq!(all.get(1).and_then(|tock| tock.after.clone()), offence("first"));
    }
}
