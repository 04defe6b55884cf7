//! What would be probed, for people.

use crate::probe::campaign::Listed;
use crate::probe::offence::Group;

/// A paragraph for each state: how a session comes there, and what is forbidden.
pub(crate) fn text(listed: &[Listed]) -> String {
    let mut text = String::new();
    for state in listed {
        text.push_str(&format!("{}\n", state.state));
        let way = if state.way.is_empty() { "the beginning".to_owned() } else { state.way.join(", ") };
        text.push_str(&format!("  way: {way}\n"));
        if let Some(needs) = &state.needs {
            text.push_str(&format!(
                "  not reached: the server would have to send `{needs}` of its own accord\n"
            ));
        }
        let mut last = None;
        for (group, name) in &state.offences {
            if last != Some(*group) {
                text.push_str(&format!("  {group}{}\n", note(*group)));
                last = Some(*group);
            }
            text.push_str(&format!("    {name}\n"));
        }
    }
    text
}

fn note(group: Group) -> &'static str {
    match group {
        Group::Capability => ", unless the server announces what it needs",
        _ => "",
    }
}
