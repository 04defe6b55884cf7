//! Mermaid's `stateDiagram-v2`.

use std::fmt::Write as _;

use mcp_protocol_machine::protocol::StateKind;

use super::picture::{ALWAYS, Frame, LEGEND, Line, Picture};

pub(super) fn mermaid(picture: &Picture) -> String {
    let mut text = String::from("stateDiagram-v2\n");
    for (number, frame) in picture.frames.iter().enumerate() {
        // Writing to a string does not fail.
        match &frame.caption {
            None => draw(frame, &mut |content| _ = writeln!(text, "    {content}")),
            Some(caption) => {
                _ = writeln!(text, "    state \"{caption}\" as f{number} {{");
                draw(frame, &mut |content| _ = writeln!(text, "        {content}"));
                _ = writeln!(text, "    }}");
            }
        }
    }
    for (id, title, lines) in [("always", ALWAYS, &picture.always), ("legend", LEGEND, &picture.signs)] {
        list(&mut text, id, title, lines);
    }
    text
}

fn list(text: &mut String, id: &str, title: &str, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    _ = writeln!(text, "    {id} : {title}");
    for line in lines {
        _ = writeln!(text, "    {id} : {}", line.text);
    }
}

fn draw(frame: &Frame, line: &mut impl FnMut(String)) {
    for node in &frame.nodes {
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
    for node in &frame.nodes {
        if node.start && node.opened_by.is_empty() {
            line(format!("[*] --> {}", node.id));
        }
        for opener in &node.opened_by {
            line(format!("[*] --> {} : {}", node.id, opener.text));
        }
    }
    for arrow in &frame.arrows {
        let (Some(from), Some(to)) = (frame.nodes.get(arrow.from), frame.nodes.get(arrow.to)) else {
            continue;
        };
        let labels: Vec<&str> = arrow.labels.iter().map(|label| label.text.as_str()).collect();
        if labels.is_empty() {
            line(format!("{} --> {}", from.id, to.id));
        } else {
            line(format!("{} --> {} : {}", from.id, to.id, labels.join("<br>")));
        }
    }
    for node in &frame.nodes {
        if node.kind == StateKind::End {
            line(format!("{} --> [*]", node.id));
        } else if let Some(closing) = node.closing() {
            line(format!("{} --> [*] : {closing}", node.id));
        }
    }
}
