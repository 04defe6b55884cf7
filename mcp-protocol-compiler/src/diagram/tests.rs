//! Snapshots of a small machine in every notation, and what no snapshot shows.

use std::io;
use std::path::Path;

use super::{dot, mermaid, svg};
use crate::automaton::Automaton;
use crate::compile;
use crate::resolve::Message;

const SMALL: &str = "
protocol Small
request Initialize \"initialize\" -> InitializeResult
notification Initialized \"initialized\"
request Call \"call\" -> Result | Later (_) if later
request Ping \"ping\" -> Pong
notification Log \"log\"
notification Stop \"stop\"
notification Event \"event\"
client Client
server Server = dual Client
Client = (Start, *( !Ping . ?reply . End ), *( ?Ping . !reply . End ))
Start = !Initialize . ?InitializeResult . Waiting
Waiting = !Initialized . Session ⊕ End
Session = (Requests, Events)
Requests = rec loop . ( !Call . ?reply . loop ⊕ ?Log . loop ⊕ !Stop . End )
Events = rec event . ?Event . event
";

fn client(text: &str) -> (Automaton, Vec<Message>) {
    let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
    let compilation = compile(Path::new("small.session"), &mut read).unwrap();
    let protocol = compilation.protocol.unwrap_or_else(|| panic!("{:#?}", compilation.diagnostics));
    (protocol.client.unwrap(), protocol.declarations.messages)
}

#[test]
fn a_small_machine_in_every_notation() {
    let (automaton, messages) = client(SMALL);
    insta::assert_snapshot!("mermaid", mermaid(&automaton, &messages));
    insta::assert_snapshot!("dot", dot(&automaton, &messages));
    insta::assert_snapshot!("svg", svg(&automaton, &messages));
}

#[test]
fn twenty_replicated_channels_are_a_list_in_one_box() {
    let mut text = String::from("protocol Many\nclient Client\nserver Server = dual Client\n");
    for number in 0..20 {
        text.push_str(&format!("request M{number} \"m{number}\" -> R{number}\n"));
    }
    let names: Vec<String> = (0..20).map(|number| format!("M{number}")).collect();
    text.push_str(&format!("group All = {}\nClient = *( !All . ?reply . End )\n", names.join(" | ")));
    let (automaton, messages) = client(&text);
    let drawn = mermaid(&automaton, &messages);
    assert_eq!(drawn.matches("s0 : * !M").count(), 20, "{drawn}");
    assert_eq!(drawn.matches("-->").count(), 1, "{drawn}");
    assert_eq!(svg(&automaton, &messages).matches("<path").count(), 0);
}

#[test]
fn boxes_do_not_lie_on_one_another() {
    let (automaton, messages) = client(SMALL);
    let picture = super::picture::Picture::of(&automaton, &messages);
    let layers = super::order::Layers::of(&picture);
    let layout = super::layout::Layout::of(&picture, &layers);
    for (one, first) in layout.places.iter().enumerate() {
        assert!(first.left() >= 0 && first.left() + first.width <= layout.width);
        assert!(first.top() >= 0 && first.bottom() <= layout.height);
        for second in layout.places.iter().skip(one + 1) {
            let apart = first.left() + first.width <= second.left()
                || second.left() + second.width <= first.left()
                || first.bottom() <= second.top()
                || second.bottom() <= first.top();
            assert!(apart, "{first:?} {second:?}");
        }
    }
}

#[test]
fn where_copies_rest_a_box_says_so() {
    let text = "protocol Rest\nclient Client\nserver Server = dual Client\nnotification Open \"open\" (_)\n\
        notification Change \"change\" (_)\nrequest Stop \"stop\" -> Stopped\nkey uri = Open.uri | Change.uri\n\
        Client = *Document ⊕ !Stop . Stopping\nStopping only = ?Stopped . End\nDocument = !Open . rec on . !Change . on\n";
    let (automaton, messages) = client(text);
    let drawn = mermaid(&automaton, &messages);
    assert!(drawn.contains("copies send nothing") && drawn.contains("copies rest"), "{drawn}");
}
