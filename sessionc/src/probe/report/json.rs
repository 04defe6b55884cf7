//! The results as JSON: one object on each line.

use mcp_protocol_machine::protocol::Strictness;
use serde_json::{Value, json};

use super::table::{level, level_of};
use crate::probe::campaign::{Listed, Results};
use crate::probe::reaction::Reaction;
use crate::probe::trial::Outcome;

/// A line for each trial, for each message that the server sent by itself, for each state that was not reached, and one at
/// the end for all of them.
pub(crate) fn lines(results: &Results) -> String {
    let trials = results.trials.iter().map(|trial| {
        let mut line = json!({
            "kind": "trial",
            "state": trial.state,
            "group": trial.group.to_string(),
            "offence": trial.name,
        });
        match &trial.outcome {
            Outcome::Skipped(why) | Outcome::GivenUp(why) => {
                insert(&mut line, "kind", "skipped");
                insert(&mut line, "why", why.as_str());
            }
            Outcome::Tried(tried) => {
                insert(&mut line, "level", level_of(tried));
                insert(&mut line, "rule", tried.rule.as_deref());
                insert(&mut line, "reaction", tried.reaction.to_string());
                if let Reaction::Refused { code, status } = &tried.reaction {
                    insert(&mut line, "code", *code);
                    insert(&mut line, "status", *status);
                }
                insert(&mut line, "afterwards", tried.afterwards.to_string());
                let fault = tried.fault.as_ref();
                let fault =
                    fault.map(|fault| json!({ "level": level(fault.strictness), "what": fault.what }));
                insert(&mut line, "fault", fault);
            }
        }
        line
    });
    let unprompted = results.unprompted.iter().map(|message| {
        json!({
            "kind": "sent",
            "message": message.name,
            "states": message.states,
            "level": level(message.level),
            "rule": message.rule,
            "after": message.after,
        })
    });
    let not_reached = results.not_reached.iter();
    let not_reached =
        not_reached.map(|(state, why)| json!({ "kind": "not reached", "state": state, "why": why }));
    let mut summary = json!({
        "kind": "summary",
        "protocol": results.protocol,
        "version": results.version,
        "states": results.reached,
        "tried": results.tried().count(),
        "must": results.count(Strictness::Must),
        "should": results.count(Strictness::Should),
    });
    if let Some(unknown) = &results.unknown_revision {
        insert(&mut summary, "unknown revision", unknown.as_str());
    }
    trials.chain(unprompted).chain(not_reached).chain([summary]).map(|line| format!("{line}\n")).collect()
}

/// A line for each state that would be probed.
pub(crate) fn listed(states: &[Listed]) -> String {
    let lines = states.iter().map(|state| {
        let offences = state.offences.iter();
        let offences = offences.map(|(group, name)| json!({ "group": group.to_string(), "offence": name }));
        json!({
            "kind": "state",
            "state": state.state,
            "way": state.way,
            "needs": state.needs,
            "offences": offences.collect::<Vec<_>>(),
        })
    });
    lines.map(|line| format!("{line}\n")).collect()
}

fn insert(line: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(members) = line.as_object_mut() {
        members.insert(key.to_owned(), value.into());
    }
}
