//! Graphviz.

use std::fmt::Write as _;

use mcp_protocol_machine::protocol::StateKind;

use super::picture::{ALWAYS, DiagramNode, Frame, LEGEND, Line, Picture, Stroke, Tone};

pub(super) fn dot(picture: &Picture) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |content: String| _ = writeln!(text, "{content}");
    line(format!("digraph {} {{", quoted(&picture.name)));
    line("    node [shape=box, style=rounded, fontname=\"monospace\", fontsize=11];".to_owned());
    line("    edge [fontname=\"monospace\", fontsize=10];".to_owned());
    for (number, frame) in picture.frames.iter().enumerate() {
        match &frame.caption {
            None => draw(frame, &mut |content| line(format!("    {content}"))),
            Some(caption) => {
                line(format!("    subgraph cluster_{number} {{"));
                line(format!(
                    "        label={}; fontname=\"monospace\"; fontsize=11; color=gray60; style=rounded;",
                    quoted(caption)
                ));
                draw(frame, &mut |content| line(format!("        {content}")));
                line("    }".to_owned());
            }
        }
    }
    let legend = picture.legend();
    for (id, title, lines) in [("always", ALWAYS, &picture.always), ("legend", LEGEND, &legend)] {
        if !lines.is_empty() {
            let rows: String = lines.iter().map(row).collect();
            line(format!("    {id} [label=<<b>{title}</b>{rows}>, style=dotted];"));
        }
    }
    line("}".to_owned());
    text
}

fn draw(frame: &Frame, line: &mut impl FnMut(String)) {
    for node in &frame.nodes {
        line(format!("{} [{}];", node.id, attributes(node)));
    }
    for node in &frame.nodes {
        if node.start && node.opened_by.is_empty() {
            line(format!("start_{} [shape=point];", node.id));
            line(format!("start_{0} -> {0};", node.id));
        }
        for (number, opener) in node.opened_by.iter().enumerate() {
            let start = format!("open{number}_{}", node.id);
            line(format!("{start} [shape=point];"));
            line(format!("{start} -> {} [label={}];", node.id, quoted(&opener.text)));
        }
    }
    for arrow in &frame.arrows {
        let (Some(from), Some(to)) = (frame.nodes.get(arrow.from), frame.nodes.get(arrow.to)) else {
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
            Stroke::Split => attributes.push("style=dotted, arrowhead=empty".to_owned()),
        }
        line(format!("{} -> {} [{}];", from.id, to.id, attributes.join(", ")));
    }
}

fn attributes(node: &DiagramNode) -> String {
    let title = html(&node.title);
    let mut rows = format!("<b>{title}</b>");
    for line in &node.lines {
        rows.push_str(&row(line));
    }
    rows.extend(node.closing().map(|closing| row(&Line::quiet(closing))));
    let shape = match node.kind {
        StateKind::Fork => ", shape=parallelogram, style=solid",
        _ if node.may_end() => ", peripheries=2",
        StateKind::Linear | StateKind::Replicated | StateKind::End => "",
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
