//! Graphviz.
//!
//! In: an automaton and the messages. Out: a `digraph`. Refuses nothing: text is escaped.

use std::fmt::Write as _;

use mcp_protocol_machine::protocol::StateKind;

use super::picture::{Line, Node, Picture, Stroke, Tone, closing};
use crate::automaton::Automaton;
use crate::resolve::Message;

/// The automaton as a Graphviz graph.
pub fn dot(automaton: &Automaton, messages: &[Message]) -> String {
    let picture = Picture::of(automaton, messages);
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |content: String| _ = writeln!(text, "{content}");
    line(format!("digraph {} {{", quoted(&picture.name)));
    line("    node [shape=box, style=rounded, fontname=\"monospace\", fontsize=11];".to_owned());
    line("    edge [fontname=\"monospace\", fontsize=10];".to_owned());
    line("    start [shape=point];".to_owned());
    for node in &picture.nodes {
        line(format!("    {} [{}];", node.id, attributes(node)));
    }
    for (place, node) in picture.nodes.iter().enumerate() {
        if place == 0 {
            line(format!("    start -> {};", node.id));
        }
        if let Some(opener) = &node.opened_by {
            line(format!("    open_{} [shape=point];", node.id));
            line(format!("    open_{0} -> {0} [label={1}];", node.id, quoted(&format!("* {opener}"))));
        }
    }
    for arrow in &picture.arrows {
        let (Some(from), Some(to)) = (picture.nodes.get(arrow.from), picture.nodes.get(arrow.to)) else {
            continue;
        };
        let mut attributes = Vec::new();
        if !arrow.labels.is_empty() {
            let labels: Vec<&str> = arrow.labels.iter().map(|label| label.text.as_str()).collect();
            attributes.push(format!("label={}", quoted(&labels.join("\n"))));
        }
        match arrow.stroke {
            Stroke::Written => {}
            Stroke::Implied => attributes.push("style=dashed, color=gray40, fontcolor=gray40".to_owned()),
            Stroke::Split => attributes.push("arrowhead=empty".to_owned()),
        }
        line(format!("    {} -> {} [{}];", from.id, to.id, attributes.join(", ")));
    }
    line("}".to_owned());
    text
}

fn attributes(node: &Node) -> String {
    let title = html(&node.title);
    let mut rows = format!("<b>{title}</b>");
    for line in &node.lines {
        rows.push_str(&row(line));
    }
    if let Some(closing) = closing(node) {
        rows.push_str(&row(&Line { text: closing.to_owned(), tone: Tone::Quiet }));
    }
    let shape = match node.kind {
        StateKind::End => ", peripheries=2",
        StateKind::Fork => ", shape=parallelogram, style=solid",
        StateKind::Linear | StateKind::Replicated => "",
    };
    format!("label=<{rows}>{shape}")
}

fn row(line: &Line) -> String {
    let colour = match line.tone {
        Tone::Send => "navy",
        Tone::Receive => "darkgreen",
        Tone::Quiet => "gray40",
    };
    format!("<br/><font color=\"{colour}\">{}</font>", html(&line.text))
}

/// A string between quotes; line ends become `\n`.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// Text in a label of tags.
pub(super) fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
