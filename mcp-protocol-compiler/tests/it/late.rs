//! Late messages belong to the channel whose choice was left: the tables of small protocols, as the checker follows
//! them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests say what they expect by panicking"
)]

use std::path::Path;

use mcp_protocol_compiler::compile;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::generate::machine;
use mcp_protocol_machine::protocol::{Direction, KeyIndex, Origin, Protocol, Side};
use mcp_protocol_machine::{About, Checker, Correlation, RequestId, Step, StepKind, Violation};

fn protocol(text: &str) -> Protocol {
    let compilation = compile(Path::new("late.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap();
    match &compilation.protocol {
        Some(compiled) => machine(compiled),
        None => panic!("{}", render_all(&compilation.sources, &compilation.diagnostics, Style::Plain)),
    }
}

/// A session as one role sees it, in which messages are named as the client writes them.
struct Seen {
    protocol: Protocol,
    side: Side,
    checker: Checker,
}

impl Seen {
    fn new(text: &str, side: Side) -> Seen {
        let protocol = protocol(text);
        let checker = Checker::new(protocol.clone(), side).unwrap();
        Seen { protocol, side, checker }
    }

    fn both(text: &str) -> [Seen; 2] {
        [Side::Client, Side::Server].map(|side| Seen::new(text, side))
    }

    fn says(&mut self, action: &str) -> Result<Step, Violation> {
        let name = action.trim_start_matches(['!', '?']);
        let sent_by_client = action.starts_with('!');
        let direction =
            if sent_by_client == (self.side == Side::Client) { Direction::Send } else { Direction::Receive };
        let (message, _) = self.protocol.indexed().find(|(_, table)| table.name == name).unwrap();
        let keyed = !self.protocol.message(message).unwrap().keys.is_empty();
        let keys = [(KeyIndex(0), RequestId::Number(1))];
        let correlation = if keyed { Correlation::keys(&keys) } else { Correlation::default() };
        self.checker.notification_correlated(direction, message, About::Nothing, correlation, |_| true)
    }

    fn accepts(&mut self, actions: &[&str]) {
        for action in actions {
            if let Err(violation) = self.says(action) {
                panic!("the {:?}'s machine refuses {action}: {violation}", self.side);
            }
        }
    }

    fn refuses(&mut self, action: &str) {
        let got = self.says(action);
        assert!(got.is_err(), "the {:?}'s machine accepts {action}: {got:?}", self.side);
    }
}

/// How many states of a role accept a message late.
fn late_states(protocol: &Protocol, side: Side) -> usize {
    let states = protocol.role(side).unwrap().states.iter();
    states.filter(|state| state.edges.iter().any(|edge| edge.origin == Origin::Closure)).count()
}

const TICKS: &str = "
notification Hello \"hello\"
notification Start \"start\"
notification Tick \"tick\"
notification Stop \"stop\"
client C
server S = dual C
";

#[test]
fn a_finished_channel_does_not_accept_what_comes_late_in_another_one() {
    let text = format!("{TICKS} C = (!Hello . End, !Start . rec x . ( !Tick . x & ?Stop . End ))");
    for mut seen in Seen::both(&text) {
        // Only the receiver has edges for what comes late.
        assert_eq!(late_states(&seen.protocol, seen.side), usize::from(seen.side == Side::Server));
        seen.accepts(&["!Hello"]);
        seen.refuses("!Tick");
        seen.accepts(&["!Start", "!Tick", "?Stop", "!Tick"]);
        seen.refuses("?Stop");
    }
}

#[test]
fn a_message_moves_the_channel_that_has_it_and_not_one_that_is_at_its_end() {
    let text = format!(
        "{TICKS} C = (!Hello . End, !Tick . rec x . ( !Tick . x & ?Stop . After )) After = !Start . End"
    );
    for mut seen in Seen::both(&text) {
        seen.accepts(&["!Hello", "!Tick", "!Tick", "?Stop", "!Tick", "!Start"]);
        seen.refuses("!Start");
    }
    let text = format!("{TICKS} C = (!Hello . End, !Tick . rec x . ( !Tick . x & ?Stop . End ))");
    for mut seen in Seen::both(&text) {
        seen.accepts(&["!Hello"]);
        let step = seen.says("!Tick").unwrap();
        assert!(matches!(step.kind, StepKind::Linear { from, to } if from != to), "{step:?}");
        seen.accepts(&["?Stop", "!Tick"]);
    }
}

#[test]
fn a_role_and_its_dual_relate_in_whatever_order_their_channels_stand() {
    let text = "
        notification Go \"go\"
        notification Tick \"tick\"
        notification Stop \"stop\"
        client C
        server S
        C = (End, ?Go . !Tick . rec x . ( !Tick . x & ?Stop . End ))
        S = (!Go . ?Tick . rec x . ( ?Tick . x ⊕ !Stop . End ), End)";
    for mut seen in Seen::both(text) {
        seen.refuses("!Tick");
        seen.accepts(&["?Go", "!Tick", "!Tick", "?Stop", "!Tick"]);
    }
}

/// Where the channel whose choice was left has become several, the one that goes on with a message takes what is late.
#[test]
fn what_comes_late_behind_a_fork_does_not_hide_a_later_step() {
    let channels =
        ["( !Hello . End, !Start . !Tick . ?Stop . End )", "( !Start . !Tick . ?Stop . End, !Hello . End )"];
    for channels in channels {
        let text =
            format!("notification Fork \"fork\" {TICKS} C = rec x . ( !Tick . x & ?Fork . {channels} )");
        for mut seen in Seen::both(&text) {
            seen.accepts(&["!Tick", "?Fork", "!Tick", "!Hello", "!Start", "!Tick", "?Stop"]);
            seen.refuses("!Tick");
        }
    }
}

/// A choice was left in which a sub-session could be opened: the opening that crosses opens what it always opened.
#[test]
fn an_opening_that_comes_late_opens_the_body_of_the_choice_that_was_left() {
    let text = "
        notification Watch \"watch\" (_)
        notification News \"news\" (_)
        notification Hello \"hello\"
        notification Next \"next\"
        key k = Watch.k | News.k
        client C
        server S = dual C
        C = (!Hello . End, Before)
        Before = *Long ⊕ ?Next . After
        After = ?Next . After
        Long = !Watch . ?News . End";
    for mut seen in Seen::both(text) {
        seen.accepts(&["!Hello", "?Next", "!Watch", "?News"]);
        seen.refuses("?News");
        seen.accepts(&["?Next"]);
    }
}

/// `Publish` alone waits in the state in which a sub-session waits that has left `?Spelling`.
#[test]
fn a_request_that_stands_alone_holds_no_key_whatever_is_late_in_its_state() {
    let text = "request Draft \"draft\" (_) -> Drafted\n\
                notification Spelling \"spelling\" (_)\n\
                request Publish \"publish\" (_) -> Published\n\
                types crate::types\n\
                open key name = Draft.name | Spelling.name | Publish.name\n\
                client Maker\n\
                server Bench = dual Maker\n\
                Maker = *Writing\n\
                Writing = !Draft . ?Drafted . Drafting\n\
                Drafting = ?Spelling . Drafting & !Publish . ( ?Published . End & ?PublishError . End )\n";
    for mut seen in Seen::both(text) {
        let (publish, _) = seen.protocol.indexed().find(|(_, table)| table.name == "Publish").unwrap();
        let direction = if seen.side == Side::Client { Direction::Send } else { Direction::Receive };
        let keys = [(KeyIndex(0), RequestId::Number(1))];
        for id in [10, 11] {
            let id = RequestId::Number(id);
            let step = seen.checker.request_correlated(
                direction,
                publish,
                &id,
                None,
                Correlation::keys(&keys),
                |_| true,
            );
            assert!(step.is_ok(), "the {:?}'s machine refuses {id}: {step:?}", seen.side);
        }
    }
}

#[test]
fn what_its_own_side_sent_late_for_a_sub_session_is_late_when_that_is_over_too() {
    let text = "
notification Open \"open\" (_)
notification Log \"log\" (_)
notification Stop \"stop\" (_)
notification Bye \"bye\" (_)
key topic = Open.topic | Log.topic | Stop.topic | Bye.topic
client C
server S = dual C
C = *( !Open . rec x . ( !Log . x & ?Stop . ?Bye . End ) )";
    for mut seen in Seen::both(text) {
        seen.refuses("!Log");
        seen.accepts(&["!Open", "!Log", "?Stop", "!Log", "?Bye", "!Log"]);
        seen.refuses("?Stop");
    }
}

/// The server sends `B` instead of waiting for `A`, and does not send it behind `A`; the client accepts it there, for it
/// may be on its way. So `B` leads from the state behind `A`, in which the server has no step for it, to `W`.
#[test]
fn a_step_that_has_crossed_another_one_leads_where_both_lead() {
    let text = "
notification A \"a\"
notification B \"b\"
notification E \"e\"
notification Z \"z\"
notification Y \"y\"
client C compatible
server S
C = ( !A . ( ?B . W & ?E . V ) & ?B . !A . W )
S = ( ?A . !E . T & !B . ?A . U )
W = rec w . !Z . w
V = rec v . !Y . v
U = rec u . ?Z . u
T = rec t . ?Y . t";
    for orders in [&["!A", "?B", "!Z"][..], &["?B", "!A", "!Z"], &["!A", "?E", "!Y"]] {
        for mut seen in Seen::both(text) {
            seen.accepts(orders);
        }
    }
    for mut seen in Seen::both(text) {
        seen.accepts(&["!A", "?B"]);
        seen.refuses("!Y");
        seen.refuses("?B");
        seen.refuses("?E");
        seen.accepts(&["!Z"]);
    }
    for mut seen in Seen::both(text) {
        seen.accepts(&["!A", "?E"]);
        seen.refuses("?B");
    }
}
