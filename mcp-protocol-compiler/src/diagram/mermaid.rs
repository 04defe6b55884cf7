//! Mermaid's `stateDiagram-v2`.
//!
//! In: an automaton and the messages. Out: a diagram that Markdown viewers draw. Refuses nothing: names in a
//! `.session` file are words, so nothing needs escaping.

use std::fmt::Write as _;

use mcp_protocol_machine::protocol::StateKind;

use super::picture::{Picture, closing};
use crate::automaton::Automaton;
use crate::resolve::Message;

/// The automaton as a Mermaid state diagram.
pub fn mermaid(automaton: &Automaton, messages: &[Message]) -> String {
    let picture = Picture::of(automaton, messages);
    let mut text = String::from("stateDiagram-v2\n");
    // Writing to a string does not fail.
    let mut line = |content: String| _ = writeln!(text, "    {content}");
    for node in &picture.nodes {
        let id = &node.id;
        if node.kind == StateKind::Fork {
            line(format!("state {id} <<fork>>"));
            continue;
        }
        line(format!("{id} : {}", node.title));
        for content in &node.lines {
            line(format!("{id} : {}", content.text));
        }
    }
    for (place, node) in picture.nodes.iter().enumerate() {
        if place == 0 {
            line(format!("[*] --> {}", node.id));
        }
        if let Some(opener) = &node.opened_by {
            line(format!("[*] --> {} : * {opener}", node.id));
        }
    }
    for arrow in &picture.arrows {
        let (Some(from), Some(to)) = (picture.nodes.get(arrow.from), picture.nodes.get(arrow.to)) else {
            continue;
        };
        let labels: Vec<&str> = arrow.labels.iter().map(|label| label.text.as_str()).collect();
        if labels.is_empty() {
            line(format!("{} --> {}", from.id, to.id));
        } else {
            line(format!("{} --> {} : {}", from.id, to.id, labels.join("<br>")));
        }
    }
    for node in &picture.nodes {
        if node.kind == StateKind::End {
            line(format!("{} --> [*]", node.id));
        } else if let Some(closing) = closing(node) {
            line(format!("{} --> [*] : {closing}", node.id));
        }
    }
    text
}
