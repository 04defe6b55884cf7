//! Shapes that stand in several alternatives of a union, and what is said of an edit of one.

use crate::lines;

/// A protocol whose request has these alternatives, and a shape that stands in the second one.
fn with(alternatives: &str, part: &str) -> String {
    format!(
        "protocol Chain \"1\"
type Node = {{ next: {alternatives} | [int] }}
type Part = {part}
request Read \"read\" (Node) -> Held (string)
client Wallet
server Server = dual Wallet
Wallet = *( !Read . ?Held . End )
"
    )
}

/// With `last`, the receiver reads a value as the first alternative, and so does the sender. Without it, it is the second one.
#[test]
fn a_shape_is_compared_in_each_place_where_it_stands() {
    let alternatives = "{ node: Node, last: int } | { node: Part, last?: true }";
    assert_eq!(
        lines(&with(alternatives, "Node"), &with(alternatives, "{}")),
        [
            "new-old C0004 the new client may send `read` without `next.node.next`, where the old server expects an \
             object `NodeNextLast`, an object `NodeNextPart2` or a list"
        ]
    );
}

/// A value of the second alternative with `"x"` is read as the first one, and one with `"y"` is not. The receiver does not tell
/// them apart.
#[test]
fn a_literal_that_only_the_sender_looks_at_tells_its_alternatives_apart() {
    let old = "{ kind: \"x\", value: int } | { kind: \"x\" | \"y\", value: string }";
    let broken = "old-new C0004 the old client may send `read` with \"text\" in `next.value`, where the new server expects a \
                  whole number";
    let new = "{ kind: string, value: int }";
    assert_eq!(lines(&with(old, "Node"), &with(new, "Node")).first().map(String::as_str), Some(broken));
}
