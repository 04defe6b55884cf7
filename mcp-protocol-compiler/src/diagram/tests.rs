//! Snapshots of a small machine in every notation, and what no snapshot shows.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Diagram, layout::Layout, order::Layers, picture::Picture};
use crate::automaton::Automaton;
use crate::compile;
use crate::declarations::Declarations;

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

const WATCHED: &str = "
protocol Kitchen
request Watch \"watch\" (_) -> Watching
notification Cooked \"cooked\" (_)
request Forget \"forget\" (_) -> Forgotten
request Cook \"cook\" (_) -> Begun
notification Enough \"enough\" (_)
notification Log \"log\"
request Bill \"bill\" -> Total
key dish = Watch.dish | Cooked.dish | Forget.dish
key order = id of Cook | Enough.order
client Guest
server Waiter = dual Guest
Guest = (Eating, *( ?Log . End ), *Watched, *Cooking)
Eating = !Bill . ?Total . Paid ⊕ End
Paid = rec on . !Bill . ?Total . on
Watched = !Watch . ?Watching . rec on . ( ?Cooked . on & !Forget . ?reply . End )
Cooking = !Cook . ?Begun . !Enough . End
";

fn client(text: &str) -> (Arc<Automaton>, Arc<Declarations>) {
    let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
    let compilation = compile(Path::new("small.session"), &mut read).unwrap();
    let protocol = compilation.protocol.unwrap_or_else(|| panic!("{:#?}", compilation.diagnostics));
    (protocol.client.unwrap(), protocol.declarations)
}

#[test]
fn a_small_machine_in_every_notation() {
    let (automaton, declarations) = client(SMALL);
    let diagram = Diagram::new(&automaton, &declarations);
    insta::assert_snapshot!("mermaid", diagram.mermaid());
    insta::assert_snapshot!("dot", diagram.dot());
    insta::assert_snapshot!("svg", diagram.svg());
}

#[test]
fn sub_sessions_have_frames_with_their_keys() {
    let (automaton, declarations) = client(WATCHED);
    let diagram = Diagram::new(&automaton, &declarations);
    insta::assert_snapshot!("sub_sessions", diagram.mermaid());
    let dot = diagram.dot();
    assert!(dot.contains("subgraph cluster_1") && dot.contains("label=\"sub-session · key dish\""), "{dot}");
    let svg = diagram.svg();
    assert!(svg.contains("sub-session · key order, the id of the request"), "{svg}");
}

#[test]
fn sub_sessions_that_start_with_channels_have_a_frame() {
    let (automaton, declarations) = client(
        "protocol Rooms \"1\"\nnotification Chat \"chat\" (_)\nnotification Joined \"joined\" (_)\n\
         key room = Chat.room | Joined.room\nclient Editor\nserver Rooms = dual Editor\n\
         Editor = *Room\nRoom = (!Chat . End, ?Joined . End)\n",
    );
    let picture = Diagram::new(&automaton, &declarations).mermaid();
    assert!(picture.contains("sub-session · key room"), "{picture}");
    assert!(
        picture.contains("* !Chat . AfterChat") && picture.contains("* ?Joined . AfterJoined"),
        "{picture}"
    );
    assert_eq!(picture.matches("<<fork>>").count(), 2, "{picture}");
}

#[test]
fn what_holds_in_every_state_stands_in_none() {
    let (automaton, declarations) = client(WATCHED);
    let picture = Picture::of(&Diagram::new(&automaton, &declarations).0);
    let always: Vec<&str> = picture.always.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(always, ["* ?Log", "* !Watch . AwaitingWatching", "* !Cook . AwaitingBegun"]);
    assert!(
        picture
            .frames
            .iter()
            .flat_map(|frame| &frame.nodes)
            .all(|node| node.lines.iter().all(|line| line.text != "* ?Log"))
    );
}

#[test]
fn a_definition_is_drawn_with_what_it_leads_to() {
    let (automaton, declarations) = client(WATCHED);
    let whole = Diagram::new(&automaton, &declarations);
    let titles = |diagram: &Diagram<'_>| -> Vec<String> {
        let frames = Picture::of(&diagram.0).frames;
        frames.into_iter().flat_map(|frame| frame.nodes).map(|node| node.title).collect()
    };
    let paid = whole.definition("Paid").unwrap();
    assert_eq!(titles(&paid)[..2], ["Paid".to_owned(), "AwaitingTotal2".to_owned()]);
    assert!(!titles(&paid).contains(&"Eating".to_owned()));
    let watched = whole.definition("AwaitingWatching").unwrap();
    assert_eq!(Picture::of(&watched.0).frames.len(), 1);
    assert!(watched.mermaid().contains("sub-session · key dish"));
    assert!(whole.definition("Nothing").is_none());
    assert!(whole.state_names().any(|name| name == "Paid"));
}

#[test]
fn refusals_can_be_left_out() {
    let (automaton, declarations) = client(SMALL);
    let diagram = Diagram::new(&automaton, &declarations);
    assert!(diagram.mermaid().contains("?InitializeError"));
    for drawn in [diagram.without_refusals().mermaid(), diagram.without_refusals().svg()] {
        assert!(!drawn.contains("Error") && !drawn.contains("dashed"), "{drawn}");
    }
}

#[test]
fn where_a_side_may_close_the_border_is_double() {
    let (automaton, declarations) = client(SMALL);
    let diagram = Diagram::new(&automaton, &declarations);
    let picture = Picture::of(&diagram.0);
    let ends: Vec<&str> = picture.frames[0]
        .nodes
        .iter()
        .filter(|node| node.may_end())
        .map(|node| node.title.as_str())
        .collect();
    assert_eq!(ends, ["Waiting", "End"]);
    assert_eq!(diagram.svg().matches("class=\"rim\"").count(), ends.len());
    assert_eq!(diagram.dot().matches("peripheries=2").count(), ends.len());
}

#[test]
fn twenty_replicated_channels_are_a_list_in_one_box() {
    let mut text = String::from("protocol Many\nclient Client\nserver Server = dual Client\n");
    for number in 0..20 {
        text.push_str(&format!("request M{number} \"m{number}\" -> R{number}\n"));
    }
    let names: Vec<String> = (0..20).map(|number| format!("M{number}")).collect();
    text.push_str(&format!("group All = {}\nClient = *( !All . ?reply . End )\n", names.join(" | ")));
    let (automaton, declarations) = client(&text);
    let diagram = Diagram::new(&automaton, &declarations);
    let drawn = diagram.mermaid();
    assert_eq!(drawn.matches("s0 : * !M").count(), 20, "{drawn}");
    assert_eq!(drawn.matches("-->").count(), 1, "{drawn}");
    assert_eq!(diagram.svg().matches("<path").count(), 0);
}

#[test]
fn boxes_do_not_lie_on_one_another() {
    for text in [SMALL, WATCHED] {
        let (automaton, declarations) = client(text);
        for frame in &Picture::of(&Diagram::new(&automaton, &declarations).0).frames {
            let layers = Layers::of(frame);
            let layout = Layout::of(frame, &layers);
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
    }
}

#[test]
fn no_two_arrows_share_a_place_on_a_border() {
    let (automaton, declarations) = client(SMALL);
    let picture = Picture::of(&Diagram::new(&automaton, &declarations).0);
    let layers = Layers::of(&picture.frames[0]);
    let layout = Layout::of(&picture.frames[0], &layers);
    let mut ends = Vec::new();
    for ((way, _), places) in layers.ways.iter().zip(super::ports::attach(&layers, &layout)) {
        ends.push((way[0], "lower", places[0].x));
        ends.push((*way.last().unwrap(), "upper", places.last().unwrap().x));
    }
    let count = ends.len();
    ends.sort_unstable();
    ends.dedup();
    assert_eq!(ends.len(), count);
}

#[test]
fn where_sub_sessions_are_suspended_a_box_says_so() {
    let text = "protocol Rest\nclient Client\nserver Server = dual Client\nnotification Open \"open\" (_)\n\
        notification Change \"change\" (_)\nrequest Stop \"stop\" -> Stopped\nkey uri = Open.uri | Change.uri\n\
        Client = *Document ⊕ !Stop . Stopping\nStopping only = ?Stopped . End\nDocument = !Open . rec on . !Change . on\n";
    let (automaton, declarations) = client(text);
    let drawn = Diagram::new(&automaton, &declarations).mermaid();
    assert!(
        drawn.contains("sub-sessions send nothing") && drawn.contains("sub-sessions suspended"),
        "{drawn}"
    );
}

#[test]
fn an_outer_frame_has_no_key_of_what_stands_in_it() {
    let text = "request Open \"open\" (_) -> Opened\nrequest Shut \"shut\" (_) -> Closed\n\
        request Start \"start\" (_) -> Started\nnotification Stop \"stop\" (_)\n\
        key s = Open.s | Shut.s | Start.s | Stop.s\nkey r = Start.r | Stop.r\n\
        client Guest\nserver Waiter = dual Guest\nGuest = *Outer\n\
        Outer = !Open . ?Opened . (Shutting, *Inner)\nShutting = !Shut . ?Closed . End\n\
        Inner = !Start . ?Started . !Stop . End\n";
    let (automaton, declarations) = client(text);
    let svg = Diagram::new(&automaton, &declarations).svg();
    assert!(svg.contains("sub-session · key s<") && svg.contains("sub-session · key s · key r<"), "{svg}");
}
