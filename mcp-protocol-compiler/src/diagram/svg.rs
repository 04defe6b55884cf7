//! A picture that needs no tool to be looked at.
//!
//! In: an automaton and the messages. Out: an SVG document, laid out in layers from the start downwards. Refuses
//! nothing: text is escaped.

use std::fmt::Write as _;

use mcp_protocol_machine::protocol::StateKind;

use super::dot::html;
use super::layout::{LINE, Layout, PADDING, Place, content};
use super::order::{Item, Layers};
use super::picture::{Line, Node, Picture, Stroke, Tone};
use crate::automaton::Automaton;
use crate::resolve::Message;

const STYLE: &str = "\
text { font: 13px monospace; fill: #222; }
.title { font-weight: bold; }
.send { fill: #1f3f8f; }
.receive { fill: #1f6f3f; }
.quiet { fill: #666; }
.box { fill: #fff; stroke: #333; }
.start { stroke-width: 2.5; }
.rim { fill: none; stroke: #333; }
.label { fill: #fff; }
path { fill: none; stroke: #333; }
.implied { stroke: #888; stroke-dasharray: 5 4; }
.split { stroke: #333; stroke-dasharray: 1 3; }";

/// The automaton as an SVG document.
pub fn svg(automaton: &Automaton, messages: &[Message]) -> String {
    let picture = Picture::of(automaton, messages);
    let layers = Layers::of(&picture);
    let layout = Layout::of(&picture, &layers);
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |content: String| _ = writeln!(text, "{content}");
    let (width, height) = (layout.width, layout.height);
    line(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">"
    ));
    line(format!("<title>{}</title>", html(&picture.name)));
    line(format!("<style>\n{STYLE}\n</style>"));
    line(
        "<defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto-start-reverse\"><polygon points=\"0,1 10,5 0,9\" fill=\"#333\"/></marker></defs>"
            .to_owned(),
    );
    line(format!("<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>"));
    for (arrow, (way, upward)) in picture.arrows.iter().zip(&layers.ways) {
        let mut places: Vec<Place> = way.iter().map(|item| layout.place(*item)).collect();
        attach(&mut places);
        let class = match arrow.stroke {
            Stroke::Written => "",
            Stroke::Implied => " class=\"implied\"",
            Stroke::Split => " class=\"split\"",
        };
        let end = if *upward { "marker-start" } else { "marker-end" };
        line(format!("<path{class} d=\"{}\" {end}=\"url(#head)\"/>", curve(&places)));
    }
    for (index, item) in layers.items.iter().enumerate() {
        let place = layout.place(index);
        match item {
            Item::Node(node) => {
                if let Some(shown) = picture.nodes.get(*node) {
                    shape(&mut line, shown, place, *node == 0);
                }
            }
            Item::Label(arrow) => {
                let labels =
                    picture.arrows.get(*arrow).map(|arrow| arrow.labels.as_slice()).unwrap_or_default();
                label(&mut line, labels, place);
            }
            Item::Bend => {}
        }
    }
    line("</svg>".to_owned());
    text
}

/// Lets a line leave its first box and reach its last one below and above what it passes next, so that lines of one
/// box stay apart.
fn attach(places: &mut [Place]) {
    if let [first, second, .., before, last] = places {
        for (of, next) in [(first, second.x), (last, before.x)] {
            let room = (of.width / 2 - 2 * PADDING).max(0);
            of.x += (next - of.x).clamp(-room, room);
        }
    } else if let [first, passed, last] = places {
        for of in [first, last] {
            let room = (of.width / 2 - 2 * PADDING).max(0);
            of.x += (passed.x - of.x).clamp(-room, room);
        }
    }
}

/// A line through places, leaving and reaching each vertically.
fn curve(places: &[Place]) -> String {
    let mut path = String::new();
    let last = places.len().saturating_sub(1);
    let mut before: Option<(i64, i64)> = None;
    for (number, place) in places.iter().enumerate() {
        let (top, bottom) = (place.top(), place.bottom());
        if let Some((x, y)) = before {
            let middle = i64::midpoint(y, top);
            _ = write!(path, " C {x} {middle} {} {middle} {} {top}", place.x, place.x);
        }
        if number == 0 {
            _ = write!(path, "M {} {bottom}", place.x);
        } else if number != last && bottom != top {
            _ = write!(path, " L {} {bottom}", place.x);
        }
        before = Some((place.x, bottom));
    }
    path
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Send => "send",
        Tone::Receive => "receive",
        Tone::Quiet => "quiet",
    }
}

/// The baseline of a line in a box that starts at `top`.
fn baseline(top: i64, number: usize) -> i64 {
    top + LINE * i64::try_from(number).unwrap_or_default() + 13
}

fn shape(line: &mut impl FnMut(String), node: &Node, place: Place, start: bool) {
    let (left, top, width, height) = (place.left(), place.top(), place.width, place.height);
    let class_of_box = if start { "box start" } else { "box" };
    let radius = if node.kind == StateKind::Fork { 0 } else { 8 };
    line(format!(
        "<rect class=\"{class_of_box}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>"
    ));
    if node.kind == StateKind::End {
        let (x, y, width, height) = (left + 3, top + 3, width - 6, height - 6);
        line(format!(
            "<rect class=\"rim\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
        ));
    }
    let mut rows = vec![(node.title.clone(), "title")];
    rows.extend(node.opened_by.as_ref().map(|opener| (format!("* {opener}"), "quiet")));
    rows.extend(content(node).into_iter().map(|content| (content.text, class(content.tone))));
    let x = left + PADDING;
    for (number, (content, class)) in rows.iter().enumerate() {
        let y = baseline(top + PADDING, number);
        line(format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", html(content)));
    }
}

fn label(line: &mut impl FnMut(String), labels: &[Line], place: Place) {
    if labels.is_empty() {
        return;
    }
    let (left, top, width, height) = (place.left(), place.top(), place.width, place.height);
    line(format!("<rect class=\"label\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"));
    for (number, label) in labels.iter().enumerate() {
        let (x, y) = (left + 3, baseline(top, number));
        line(format!(
            "<text class=\"{}\" x=\"{x}\" y=\"{y}\">{}</text>",
            class(label.tone),
            html(&label.text)
        ));
    }
}
