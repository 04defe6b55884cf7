//! A picture that needs no tool to be looked at.

use std::fmt::Write as _;

use mcp_protocol_machine::protocol::StateKind;

use super::dot::html;
use super::layout::{CHARACTER, LINE, Layout, MARGIN, PADDING, Rect, content, list_size};
use super::order::{LayerItem, Layers};
use super::pack::{Corner, pack};
use super::picture::{ALWAYS, DiagramNode, Frame, LEGEND, Line, Picture, Stroke, Tone};
use super::ports;

/// The room above the boxes of a frame that has a caption.
const CAPTION: i64 = LINE + PADDING;

const STYLE: &str = "\
text { font: 13px monospace; fill: #222; }
.title { font-weight: bold; }
.middle { text-anchor: middle; }
.send { fill: #1f3f8f; }
.receive { fill: #1f6f3f; }
.quiet { fill: #666; }
.box { fill: #fff; stroke: #333; }
.start { stroke-width: 2.5; }
.frame { fill: #fafafa; stroke: #bbb; }
.list { fill: none; stroke: #bbb; stroke-dasharray: 1 3; }
.rim { fill: none; stroke: #333; }
.label { fill: #fff; }
.framed { fill: #fafafa; }
path { fill: none; stroke: #333; }
.implied { stroke: #888; stroke-dasharray: 5 4; }
.split { stroke: #333; stroke-dasharray: 1 3; }";

/// A frame, or a list, that has a place on the page.
enum SvgBlock<'a> {
    Frame(&'a Frame, Layers, Layout),
    List(Vec<Line>),
}

impl<'a> SvgBlock<'a> {
    fn frame(frame: &'a Frame) -> SvgBlock<'a> {
        let layers = Layers::of(frame);
        let layout = Layout::of(frame, &layers);
        SvgBlock::Frame(frame, layers, layout)
    }

    fn list(title: &str, lines: &[Line]) -> Option<SvgBlock<'a>> {
        let titled = || std::iter::once(Line::quiet(title)).chain(lines.iter().cloned()).collect();
        (!lines.is_empty()).then(|| SvgBlock::List(titled()))
    }

    fn size(&self) -> (i64, i64) {
        match self {
            SvgBlock::Frame(frame, _, layout) => match &frame.caption {
                None => (layout.width, layout.height),
                Some(caption) => {
                    let wide = i64::try_from(caption.chars().count()).unwrap_or_default() * CHARACTER;
                    (layout.width.max(wide + 2 * PADDING), layout.height + CAPTION)
                }
            },
            SvgBlock::List(lines) => list_size(lines),
        }
    }

    fn draw(&self, line: &mut impl FnMut(String)) {
        let (width, height) = self.size();
        match self {
            SvgBlock::Frame(frame, layers, layout) => {
                if let Some(caption) = &frame.caption {
                    line(format!("<rect class=\"frame\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>"));
                    let caption = html(caption);
                    line(format!(
                        "<text class=\"quiet\" x=\"{PADDING}\" y=\"{}\">{caption}</text>",
                        baseline(PADDING, 0)
                    ));
                }
                draw_frame(frame, layers, layout, line);
            }
            SvgBlock::List(lines) => {
                line(format!("<rect class=\"list\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>"));
                list(line, lines, 0, PADDING, PADDING);
            }
        }
    }
}

pub(super) fn svg(picture: &Picture) -> String {
    let mut blocks: Vec<SvgBlock<'_>> = Vec::new();
    let mut frames = picture.frames.iter().map(SvgBlock::frame);
    blocks.extend(frames.next());
    blocks.extend(SvgBlock::list(ALWAYS, &picture.always));
    blocks.extend(frames);
    blocks.extend(SvgBlock::list(LEGEND, &picture.legend()));
    let sizes: Vec<(i64, i64)> = blocks.iter().map(SvgBlock::size).collect();
    let corners = pack(&sizes);
    let far = |of: fn(&Corner, &(i64, i64)) -> i64| {
        corners.iter().zip(&sizes).map(|(corner, size)| of(corner, size)).max().unwrap_or(0)
    };
    let width = far(|corner, size| corner.x + size.0) + MARGIN;
    let height = far(|corner, size| corner.y + size.1) + MARGIN;
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |content: String| _ = writeln!(text, "{content}");
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
    for (block, corner) in blocks.iter().zip(&corners) {
        line(format!("<g transform=\"translate({} {})\">", corner.x + MARGIN / 2, corner.y + MARGIN / 2));
        block.draw(&mut line);
        line("</g>".to_owned());
    }
    line("</svg>".to_owned());
    text
}

fn draw_frame(frame: &Frame, layers: &Layers, layout: &Layout, line: &mut impl FnMut(String)) {
    let captioned = frame.caption.is_some();
    if captioned {
        line(format!("<g transform=\"translate(0 {CAPTION})\">"));
    }
    let ways = ports::attach(layers, layout);
    for ((arrow, (_, upward)), places) in frame.arrows.iter().zip(&layers.ways).zip(&ways) {
        let class = match arrow.stroke {
            Stroke::Written => "",
            Stroke::Implied => " class=\"implied\"",
            Stroke::Split => " class=\"split\"",
        };
        let end = if *upward { "marker-start" } else { "marker-end" };
        line(format!("<path{class} d=\"{}\" {end}=\"url(#head)\"/>", curve(places)));
    }
    for (index, item) in layers.items.iter().enumerate() {
        let place = layout.place(index);
        match item {
            LayerItem::Node(node) => {
                if let Some(shown) = frame.nodes.get(*node) {
                    shape(line, shown, place);
                }
            }
            LayerItem::Label(arrow) => {
                let labels = frame.arrows.get(*arrow).map(|arrow| arrow.labels.as_slice());
                label(line, labels.unwrap_or_default(), place, captioned);
            }
            LayerItem::Bend => {}
        }
    }
    if captioned {
        line("</g>".to_owned());
    }
}

/// A line through places, leaving and reaching each vertically.
fn curve(places: &[Rect]) -> String {
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

/// Lines below one another; the one at `title` is the title.
fn list(line: &mut impl FnMut(String), lines: &[Line], title: usize, left: i64, top: i64) {
    for (number, content) in lines.iter().enumerate() {
        let class = if number == title { "title" } else { class(content.tone) };
        let y = baseline(top, number);
        line(format!("<text class=\"{class}\" x=\"{left}\" y=\"{y}\">{}</text>", html(&content.text)));
    }
}

fn shape(line: &mut impl FnMut(String), node: &DiagramNode, place: Rect) {
    let (left, top, width, height) = (place.left(), place.top(), place.width, place.height);
    let class_of_box = if node.start { "box start" } else { "box" };
    let radius = if node.kind == StateKind::Fork { 0 } else { 8 };
    line(format!(
        "<rect class=\"{class_of_box}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>"
    ));
    if node.may_end() {
        let (x, y, width, height) = (left + 3, top + 3, width - 6, height - 6);
        line(format!(
            "<rect class=\"rim\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
        ));
    }
    let (content, title) = content(node);
    if let [only] = content.as_slice() {
        let (x, y) = (place.x, baseline(top + PADDING, 0));
        line(format!("<text class=\"title middle\" x=\"{x}\" y=\"{y}\">{}</text>", html(&only.text)));
        return;
    }
    list(line, &content, title, left + PADDING, top + PADDING);
}

fn label(line: &mut impl FnMut(String), labels: &[Line], place: Rect, framed: bool) {
    if labels.is_empty() {
        return;
    }
    let (left, top, width, height) = (place.left(), place.top(), place.width, place.height);
    let class_of_label = if framed { "label framed" } else { "label" };
    line(format!(
        "<rect class=\"{class_of_label}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
    ));
    // No label has a title.
    list(line, labels, usize::MAX, left + 3, top);
}
