//! Cases by hand: one a rule, and what the theory warns of.

use mcp_protocol_machine::protocol::{Action, Direction, Origin, Side, StateIndex};

use super::notation::{automaton, flip, messages};
use crate::automaton::Automaton;
use crate::declarations::Message;
use crate::diagnostic::Diagnostic;
use crate::relation::tests::oracle::{Oracle, Verdict};
use crate::relation::{
    CLOSED, Closed, NOT_COMPATIBLE, NOT_DUAL, PRODUCT_LIMIT, RACE, TOO_MANY, Wanted, close, races, relate,
};

/// Two roles and their messages.
pub(super) struct Roles {
    client: Automaton,
    server: Automaton,
    messages: Vec<Message>,
    /// The races that were left when the roles were closed.
    races: Option<Vec<Diagnostic>>,
}

impl Roles {
    pub(super) fn new(declared: &str, client: &str, server: &str) -> Self {
        let mut messages = messages(declared);
        let client = automaton(Side::Client, client, &mut messages);
        let server = automaton(Side::Server, server, &mut messages);
        Roles { client, server, messages, races: None }
    }

    /// A client and its dual.
    pub(super) fn with_dual(declared: &str, client: &str) -> Self {
        let mut messages = messages(declared);
        let client = automaton(Side::Client, client, &mut messages);
        let server = flip(&client);
        Roles { client, server, messages, races: None }
    }

    pub(super) fn relate(&self, wanted: Wanted) -> Vec<Diagnostic> {
        self.relate_within(wanted, PRODUCT_LIMIT)
    }

    /// What is found where no more than so many combinations are looked at.
    pub(super) fn relate_within(&self, wanted: Wanted, most: usize) -> Vec<Diagnostic> {
        relate(&self.client, &self.server, &self.messages, wanted, most)
    }

    /// The message of the only finding.
    pub(super) fn finding(&self, wanted: Wanted) -> String {
        let found = self.relate(wanted);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].message.clone()
    }

    pub(super) fn dual(&self) -> bool {
        self.relate(Wanted::Dual).is_empty()
    }

    pub(super) fn compatible(&self) -> bool {
        self.relate(Wanted::Compatible).is_empty()
    }

    fn close(&mut self) -> Closed {
        let crossings = close(&self.client, &self.server, &self.messages);
        self.races = Some(crossings.races(&self.messages));
        crossings.receive(&mut self.client, &mut self.server, &self.messages)
    }

    /// The edges that closing adds to one role, as `S1 !a`.
    pub(super) fn added(&mut self, side: Side) -> Vec<String> {
        let closed = self.close();
        let role = if side == Side::Client { &self.client } else { &self.server };
        let of_side = closed.added.iter().filter(|added| added.side == side);
        of_side
            .map(|added| {
                let mark = if added.edge.direction == Direction::Send { '!' } else { '?' };
                let message = &self.messages[usize::from(added.edge.message.0)].table.name;
                format!("{} {mark}{message}", role.states[added.state.0 as usize].name)
            })
            .collect()
    }

    pub(super) fn races(&self) -> Vec<Diagnostic> {
        let closed = self.races.clone();
        closed.unwrap_or_else(|| races(&self.client, &self.server, &self.messages))
    }

    fn oracle(&self, bound: usize) -> Verdict {
        let (client, server, messages) = (&self.client, &self.server, &self.messages);
        Oracle { client, server, messages, bound, worlds: 200_000 }.judge()
    }

    pub(super) fn safe(&self) -> bool {
        (1..=3).all(|bound| match self.oracle(bound) {
            Verdict::Safe => true,
            Verdict::Unsafe(_) => false,
            Verdict::Unknown => panic!("too large for the oracle"),
        })
    }
}

#[test]
fn an_unfolded_loop_and_another_order_of_branches_are_the_same_type() {
    let roles = Roles::new("", "0 !a 0; 0 ?b 1; 1 !a 1", "0 !b 2; 0 ?a 1; 1 ?a 0; 1 !b 3; 2 ?a 3; 3 ?a 2");
    assert!(roles.dual() && roles.compatible());
}

#[test]
fn types_that_differ_in_a_continuation_are_distinguished_on_the_shortest_way() {
    let roles =
        Roles::new("", "0 !a 1; 1 ?b 2; 0 !c 3; 3 ?b 2; 2 !a 4; 2 !d 4", "0 ?a 1; 1 !b 2; 0 ?c 1; 2 ?a 4");
    assert_eq!(
        roles.finding(Wanted::Dual),
        "`Server` is not the dual of `Client`: after `!a`, `?b`, the client may send `d`, which the server does not \
         accept"
    );
}

#[test]
fn the_empty_way_is_the_start() {
    let roles = Roles::new("", "0 !a 1", "0 ?b 1; 0 ?a 1");
    assert_eq!(
        roles.finding(Wanted::Dual),
        "`Server` is not the dual of `Client`: at the start, the server accepts `b`, which the client never sends"
    );
    assert!(roles.compatible());
    assert!(roles.relate(Wanted::Dual)[0].helps.iter().any(|help| help.contains("client Client compatible")));
}

#[test]
fn both_places_are_in_the_text() {
    let client = "0 !a 1; 1 ?b 0; 1 !x 0";
    let roles = Roles::new("", client, "0 ?a 1; 1 !b 0");
    let found = &roles.relate(Wanted::Compatible)[0];
    assert_eq!(found.code, NOT_COMPATIBLE);
    let text = |at: usize| {
        let span = found.labels[at].span;
        (span.file.0, (span.start as usize, span.end as usize))
    };
    let at = client.find("1 !x 0").unwrap();
    assert_eq!(text(0), (0, (at, at + 6)));
    assert_eq!(text(1), (1, (8, 14)), "the place in the server that lacks it");
    assert!(found.helps[0].contains("add `?x . …` next to `!b` in `S1` of `Server`"), "{:?}", found.helps);
}

#[test]
fn a_sequential_loop_does_not_match_a_star() {
    let declared = "Call -> Result";
    let server = "0 = Replicated; 0 ?Call *1; 1 !Result 2; 1 !CallError 2";
    let roles = Roles::new(declared, "0 !Call 1; 1 ?Result 0; 1 ?CallError 0", server);
    for wanted in [Wanted::Dual, Wanted::Compatible] {
        let found = roles.relate(wanted);
        assert_eq!(found[0].code, if wanted == Wanted::Dual { NOT_DUAL } else { NOT_COMPATIBLE });
        assert!(found[0].message.contains("one step at a time for the client"), "{}", found[0].message);
        assert!(found[0].helps[0].contains("*( !Call . ?Result . End )"), "{:?}", found[0].helps);
    }
}

#[test]
fn bodies_are_compared() {
    let declared = "Call -> Result";
    let client = "0 = Replicated; 0 !Call *1; 1 ?Result 2; 1 ?CallError 2";
    let same = Roles::new(declared, client, "0 = Replicated; 0 ?Call *2; 2 !CallError 1; 2 !Result 1");
    assert!(same.dual());
    let roles =
        Roles::new(declared, client, "0 = Replicated; 0 ?Call *1; 1 !p 1; 1 !CallError 2; 1 !Result 2");
    assert_eq!(
        roles.finding(Wanted::Compatible),
        "`Client` is not compatible with `Server`: after `!Call`, the server may send `p`, which the client does not \
         accept"
    );
}

const MCP: &str = "Initialize -> InitializeResult; Initialized; Call -> Result; Ping -> Pong; Changed";

/// Bodies of calls and pings, the same for both, seen from the client.
const MCP_CLIENT: &str = "
    0 !Initialize 1; 1 ?InitializeResult 2; 1 ?InitializeError 0; 2 !Initialized 3; 2 + End; 3 = Replicated;
    0 !Ping *10; 1 !Ping *10; 2 !Ping *10; 3 !Ping *10; 10 ?Pong 11; 10 ?PingError 11;
    3 !Call *12; 12 ?Result 13; 12 ?CallError 13; 2 ?Changed *14; 3 ?Changed *14";

/// The server answers calls once it has answered `Initialize`.
const MCP_SERVER: &str = "
    0 ?Initialize 1; 1 !InitializeResult 2; 1 !InitializeError 0; 2 ?Initialized 3; 2 & End; 3 = Replicated;
    0 ?Ping *10; 1 ?Ping *10; 2 ?Ping *10; 3 ?Ping *10; 10 !Pong 11; 10 !PingError 11;
    2 ?Call *12; 3 ?Call *12; 12 !Result 13; 12 !CallError 13; 2 !Changed *14; 3 !Changed *14";

#[test]
fn a_server_that_answers_early_is_compatible_and_not_dual() {
    let mut roles = Roles::new(MCP, MCP_CLIENT, MCP_SERVER);
    assert!(roles.compatible());
    assert_eq!(
        roles.finding(Wanted::Dual),
        "`Server` is not the dual of `Client`: after `!Initialize`, `?InitializeResult`, the server accepts `Call`, \
         which the client never sends"
    );
    assert!(roles.close().added.is_empty());
    assert!(roles.races().is_empty(), "{:?}", roles.races());
    let (client, server, messages) = (&roles.client, &roles.server, &roles.messages);
    let verdict = Oracle { client, server, messages, bound: 2, worlds: 5_000 }.judge();
    assert!(!matches!(verdict, Verdict::Unsafe(_)), "{verdict:?}");
}

#[test]
fn closing_is_a_declared_right() {
    let without = MCP_SERVER.replace("2 & End;", "");
    let roles = Roles::new(MCP, MCP_CLIENT, &without);
    assert!(
        roles.finding(Wanted::Compatible).ends_with("the client may close, which the server does not expect")
    );
    // The other way round the client only uses less than it might.
    let without = MCP_CLIENT.replace("2 + End;", "");
    let roles = Roles::new(MCP, &without, MCP_SERVER);
    assert!(roles.compatible() && !roles.dual());
}

#[test]
fn only_the_side_with_the_branch_may_close() {
    let server_closes = "0 !a 0; 0 & End";
    assert!(Roles::new("", server_closes, "0 ?a 0; 0 + End").dual());
    let roles = Roles::new("", server_closes, "0 ?a 0; 0 & End");
    assert!(roles.finding(Wanted::Dual).ends_with("the server lets the client close, which it never does"));
    assert!(roles.compatible(), "the client accepts more");
    let roles = Roles::new("", "0 !a 0", "0 ?a 0; 0 + End");
    assert!(
        roles.finding(Wanted::Compatible).ends_with("the server may close, which the client does not expect")
    );
}

#[test]
fn a_client_may_not_fall_silent_where_the_server_waits() {
    // A mixed state, whose input only returns to it.
    let roles = Roles::new("", "0 ?log 0", "0 ?a 1; 0 !log 0; 1 !log 1");
    assert!(
        roles.finding(Wanted::Compatible).ends_with("the server waits for `a`, and the client sends nothing")
    );
    assert!(!roles.safe());
    // Where the server may go on by itself the client may wait for that.
    let roles = Roles::new("", "0 ?b 1; 1 ?b 1", "0 ?a 1; 0 !b 1; 1 !b 1");
    assert!(roles.compatible() && roles.safe());
    // Closing is an answer, too.
    assert!(Roles::new("", "0 + End; 0 ?log 0", "0 & End; 0 ?a 1; 0 !log 0; 1 & End; 1 !log 1").compatible());
}

#[test]
fn relating_after_closing_would_make_different_roles_equal() {
    let mut roles = Roles::new("", "0 !L 0; 0 ?N 0", "0 ?L 0; 0 !N 1; 1 !N 1");
    assert!(!roles.dual() && !roles.compatible());
    roles.close();
    assert!(roles.dual(), "which is why it is never done");
    // And equal roles different: the sender gets no edge.
    let mut roles = Roles::with_dual("", "0 !L 0; 0 ?N 1; 1 !M 1");
    assert!(roles.dual());
    assert_eq!(roles.added(Side::Server), ["S1 ?L"]);
    assert!(!roles.dual());
}

#[test]
fn a_late_log_is_accepted_after_the_stop_by_its_receiver_alone() {
    let mut roles = Roles::with_dual("", "0 !log 0; 0 ?stop 1");
    assert!(!roles.safe());
    assert_eq!(roles.races().len(), 1);
    let written = roles.client.clone();
    let closed = roles.close();
    assert_eq!(closed.added.len(), 1);
    let added = &closed.added[0];
    assert_eq!((added.side, added.state), (Side::Server, StateIndex(1)));
    assert_eq!(added.edge.direction, Direction::Receive);
    assert_eq!(added.edge.action, Action::Step(StateIndex(1)));
    assert_eq!(added.edge.origin, Origin::Closure);
    assert_eq!(roles.client, written, "a sender needs no edge for what may come late");
    assert_eq!(closed.diagnostics.len(), 1);
    assert_eq!(closed.diagnostics[0].code, CLOSED);
    assert_eq!(
        closed.diagnostics[0].message,
        "`log` is also accepted in `S1` of `Server`, where it may arrive late"
    );
    assert!(roles.races().is_empty() && roles.safe());
}

#[test]
fn what_no_role_can_come_to_is_not_closed() {
    // `S2` has what a late log would need, and no step leads there.
    let mut roles = Roles::with_dual("", "0 !log 0; 0 ?stop 1; 2 !log 2; 2 ?go 3");
    assert_eq!(roles.added(Side::Server), ["S1 ?log"]);
    assert!(roles.added(Side::Client).is_empty() && roles.races().is_empty() && roles.safe());
    // The roles could go on from `S1` to `S2` if the server had not left that out, so they never are in `S2` together.
    let client = "0 !log 0; 0 ?stop 1; 1 !x 1; 1 ?more 2; 2 !x 2";
    let mut roles = Roles::new("", client, "0 ?log 0; 0 !stop 1; 1 ?x 1; 2 ?x 2");
    assert!(roles.compatible() && !roles.dual());
    assert_eq!(roles.added(Side::Server), ["S1 ?log"]);
}

#[test]
fn the_seed_notes_client_is_closed() {
    // A call while the list changes; `End` at the client's choice.
    let mut roles = Roles::with_dual(
        "ToolsCall -> ToolsResult",
        "0 !ToolsCall 1; 1 ?ToolsResult 0; 1 ?ToolsCallError 0; 0 ?Changed 0; 0 + End",
    );
    assert!(!roles.safe());
    assert_eq!(roles.added(Side::Client), ["S1 ?Changed"]);
    assert!(roles.races().is_empty() && roles.safe());
}

#[test]
fn a_cancelled_request_is_closed_over_its_cancellation() {
    let mut roles = Roles::with_dual(
        "Call -> Result cancellable",
        "0 !Call 1; 1 ?Log 1; 1 ?Result 0; 1 ?CallError 0; 1 !Cancel 0 cancel; 0 !Stop 2",
    );
    assert!(!roles.safe(), "a log that crosses the cancellation is unexpected");
    assert_eq!(roles.added(Side::Client), ["S0 ?Log", "S2 ?Log"]);
    assert!(roles.races().is_empty() && roles.safe());
}

#[test]
fn cancelling_what_changes_the_state_cannot_be_repaired() {
    let mut roles = Roles::with_dual(
        "Call -> Result cancellable",
        "0 !Call 1; 1 ?Result 2; 1 ?CallError 0; 1 !Cancel 0 cancel; 2 !next 0",
    );
    roles.close();
    let found = roles.races();
    assert_eq!(found[0].code, RACE);
    assert!(
        found[0].message.starts_with("`Cancel` and `Result` race: after `!Call`"),
        "{}",
        found[0].message
    );
    assert!(!roles.safe());
}

#[test]
fn two_messages_that_both_change_the_state_race() {
    let roles = Roles::with_dual("", "0 !go 1; 1 !a 2; 1 ?b 3");
    let found = roles.races();
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].message,
        "`a` and `b` race: after `!go`, the client may send `a` while the server sends `b`"
    );
    assert_eq!(found[0].notes[0], "having sent `a`, the client is in `S2` and does not accept `b`");
    assert!(found[0].helps[0].contains("wait for the other"), "{:?}", found[0].helps);
    assert!(!roles.safe());
}

#[test]
fn independent_messages_get_the_suggestion_of_a_second_channel() {
    let roles = Roles::with_dual("", "0 !a 1; 1 !b 0; 0 ?c 2; 2 ?d 0");
    assert!(roles.races()[0].helps[0].contains("a channel of its own"), "{:?}", roles.races()[0].helps);
    // It is not a race there.
    let mut roles = Roles::with_dual("", "0 = (1, 3); 1 !a 2; 2 !b 1; 3 ?c 4; 4 ?d 3");
    assert!(roles.close().added.is_empty() && roles.races().is_empty() && roles.safe());
}

#[test]
fn a_loop_that_means_something_else_later_gets_the_suggestion_to_return() {
    let mut roles = Roles::with_dual("", "0 !log 0; 0 ?b 1; 1 !log 2; 2 ?c 0");
    roles.close();
    let found = roles.races();
    assert!(found[0].helps[0].contains("`log` leads elsewhere in `S1`"), "{:?}", found[0].helps);
    assert!(!roles.safe());
}

#[test]
fn a_branch_that_the_client_drops_is_not_a_race_but_one_dropped_too_late_is() {
    // The server's dual could send `a` at the start; this client never does.
    let roles = Roles::new("", "0 ?b 1; 1 ?c 2", "0 ?a 3; 0 !b 1; 1 !c 2; 3 !d 4");
    assert!(roles.compatible() && roles.races().is_empty() && roles.safe());
    // This one may send `a` first, and no more once `b` is there; the server lets `a` in until `c`.
    let roles = Roles::new(
        "",
        "0 !a 3; 0 ?b 1; 1 ?c 2; 3 ?b 4; 4 ?c 5",
        "0 ?a 3; 0 !b 1; 1 ?a 4; 1 !c 2; 3 !b 4; 4 !c 5; 2 ?x 2; 5 ?x 5; 2 & End; 5 & End",
    );
    assert!(!roles.safe());
    assert!(!roles.races().is_empty());
}

/// The pairs of `proofs/Examples.v`.
#[test]
fn a_role_need_not_send_what_it_could_only_have_sent_before() {
    // `strict_c`, `strict_s`: the server does not send `b` after `a`, and the client can receive a late one.
    let client = "0 !a 1; 0 ?b 2; 1 ?b 3; 1 ?e 4; 2 !a 3";
    let roles = Roles::new("", client, "0 ?a 1; 0 !b 2; 1 !e 4; 2 ?a 3");
    assert!(roles.compatible() && !roles.dual());
    assert!(roles.races().is_empty() && roles.safe(), "{:?}", roles.races());
    // Neither sends its own after the other's: they come to `S3` only where the two cross.
    let client = "0 !a 1; 0 ?b 2; 1 ?b 3; 1 ?c 1; 2 + End; 3 !x 3; 3 + End";
    let roles = Roles::new("", client, "0 ?a 1; 0 !b 2; 1 !c 1; 2 & End; 2 ?a 3; 3 ?x 3; 3 & End");
    assert!(roles.compatible() && !roles.dual());
    assert!(roles.races().is_empty() && roles.safe(), "{:?}", roles.races());
    // What they do there is related like everything else.
    let roles = Roles::new("", client, "0 ?a 1; 0 !b 2; 1 !c 1; 2 & End; 2 ?a 3; 3 ?y 3; 3 & End");
    assert!(roles.compatible() && !roles.races().is_empty() && !roles.safe());
}

#[test]
fn what_crosses_a_late_message_is_looked_at_as_well() {
    // `weak_c`, `weak_s`: after `a` the client may send `c`, after which it does not accept the `b` that is on its way.
    let client = "0 !a 1; 0 ?b 9; 1 !c 2; 1 ?b 4; 9 !a 4";
    let roles = Roles::new("", client, "0 ?a 1; 0 !b 9; 1 ?c 2; 9 ?a 4");
    assert!(roles.compatible());
    assert!(!roles.races().is_empty() && !roles.safe());
    // Where it does, all is well.
    let client = "0 !a 1; 0 ?b 9; 1 !c 2; 1 ?b 4; 9 !a 4; 2 ?b 5; 2 !z 2; 4 !c 5; 5 !z 5";
    let roles = Roles::new("", client, "0 ?a 1; 0 !b 9; 1 ?c 2; 2 ?z 2; 9 ?a 4; 4 ?c 5; 5 ?z 5");
    assert!(roles.compatible() && !roles.dual());
    assert!(roles.races().is_empty() && roles.safe(), "{:?}", roles.races());
}

#[test]
fn a_late_message_leads_to_one_place() {
    // `b` comes late after `a` and after `c`, and both lead to `S1`: what it means there would depend on which it was.
    let client = "0 !a 1; 0 !c 1; 0 ?b 2; 1 ?b 3; 2 !a 3; 2 !c 4; 3 !x 3; 4 !x 4";
    let server = "0 ?a 1; 0 ?c 1; 0 !b 2; 1 !e 1; 2 ?a 3; 2 ?c 4; 3 ?x 3; 4 ?x 4; 4 ?y 4";
    let roles = Roles::new("", &format!("{client}; 1 ?e 1"), server);
    assert!(roles.compatible());
    assert!(!roles.races().is_empty());
}

#[test]
fn a_star_that_ends_with_its_choice_still_takes_late_sub_sessions() {
    let mut roles = Roles::with_dual("", "0 !m *2; 0 ?stop 1; 1 ?bye 3; 2 ?r 4");
    assert!(!roles.safe());
    assert_eq!(roles.added(Side::Server), ["S1 ?m", "S3 ?m"]);
    assert!(roles.races().is_empty() && roles.safe());
}

#[test]
fn channels_side_by_side_are_the_same_as_their_interleaving() {
    let forked = "0 = (1, 3); 1 !a 2; 3 !b 4";
    let written_out = "0 ?a 1; 0 ?b 2; 1 ?b 3; 2 ?a 3";
    let roles = Roles::new("", forked, written_out);
    assert!(roles.dual() && roles.compatible());
    let roles = Roles::new("", forked, "0 ?a 1; 0 ?b 2; 1 ?b 3; 2 ?a 4; 4 ?c 3");
    assert_eq!(
        roles.finding(Wanted::Dual),
        "`Server` is not the dual of `Client`: after `!b`, `!a`, the server accepts `c`, which the client never sends"
    );
}

/// Side by side, channels that go around with messages of their own.
fn rings(side: Side, count: usize, length: usize) -> String {
    let mark = if side == Side::Client { '!' } else { '?' };
    let parts: Vec<String> = (0..count).map(|ring| (1 + ring * length).to_string()).collect();
    let mut items = vec![format!("0 = ({})", parts.join(", "))];
    for ring in 0..count {
        let first = 1 + ring * length;
        for place in 0..length {
            let next = first + (place + 1) % length;
            items.push(format!("{} {mark}m{ring}_{place} {next}", first + place));
        }
    }
    items.join("; ")
}

#[test]
fn many_channels_do_not_multiply_where_the_roles_group_alike() {
    let roles = Roles::new("", &rings(Side::Client, 40, 20), &rings(Side::Server, 40, 20));
    assert!(roles.dual() && roles.compatible());
    assert!(roles.races().is_empty());
}

#[test]
fn many_channels_against_few_are_too_many() {
    // A server that ties all channels together by one message that each might end with.
    let client = rings(Side::Client, 8, 20);
    let mut server = rings(Side::Server, 8, 20);
    for ring in 0..8 {
        server.push_str(&format!("; {} ?tie 0", 1 + ring * 20));
    }
    let roles = Roles::new("", &client, &server);
    let found = roles.relate_within(Wanted::Compatible, 1_000);
    assert_eq!(found[0].code, TOO_MANY);
    assert!(found[0].helps[0].contains("side by side in both roles"));
}

#[test]
fn a_long_chain_does_not_overflow() {
    // Unoptimised, a call for each step takes more than the stack at far fewer.
    let count = if cfg!(debug_assertions) { 30_000 } else { 100_000 };
    let chain = |side: Side| {
        let mut items = String::new();
        for place in 0..count {
            let sends = (place % 3 == 0) == (side == Side::Client);
            let mark = if sends { '!' } else { '?' };
            items.push_str(&format!("{place} {mark}m{} {}; ", place % 7, place + 1));
        }
        items
    };
    let mut roles = Roles::new("", &chain(Side::Client), &chain(Side::Server));
    assert!(roles.dual() && roles.compatible());
    assert!(roles.close().added.is_empty());
    assert!(roles.races().is_empty());
    let last = roles.server.states.len() - 2;
    roles.server.states[last].edges.clear();
    let found = roles.finding(Wanted::Dual);
    assert!(found.contains(&format!("… {} more …", count - 11)), "{found}");
}

#[test]
fn loops_of_different_lengths_do_not_multiply() {
    let ring = |mark: char, length: usize| {
        let items: Vec<String> =
            (0..length).map(|place| format!("{place} {mark}a {}", (place + 1) % length)).collect();
        items.join("; ")
    };
    // Nearly a million pairs, if every pair were looked at.
    let roles = Roles::new("", &ring('!', 10_007), &ring('?', 10_009));
    assert!(roles.dual());
}

#[test]
fn a_sub_session_that_is_over_for_the_server_is_over_for_the_client() {
    let roles = Roles::new("", "0 = Replicated; 0 ?m *1; 1 ?r 1", "0 = Replicated; 0 !m *1; 1 !r 2");
    assert!(!roles.safe());
    assert!(
        roles.finding(Wanted::Compatible).ends_with("the client accepts `r`, which the server never sends")
    );
}

#[test]
fn in_a_sub_session_neither_role_leaves_out_a_channel() {
    // The client has a channel that the server has not, or the server one that the client has not.
    for (client, server) in [
        ("1 !n 4; 4 = (2, 3); 2 !a 2; 3 ?b 3", "1 ?n 2; 2 ?a 2"),
        ("1 !n 2; 2 !a 2", "1 ?n 4; 4 = (2, 3); 2 ?a 2; 3 ?c 3"),
    ] {
        let of_session = [client, server].map(|role| role.replace("1 ", "0 "));
        assert!(Roles::new("", &of_session[0], &of_session[1]).compatible(), "{client}; {server}");
        let of_body = [("!", client), ("?", server)]
            .map(|(mark, body)| format!("0 = Replicated; 0 {mark}m *1; {body}"));
        assert!(!Roles::new("", &of_body[0], &of_body[1]).compatible(), "{client}; {server}");
    }
}

#[test]
fn what_one_role_alone_has_next_to_its_channels_makes_them_no_group() {
    // Next to both channels the client opens sub-sessions that the server has not. In the second it is silent.
    let client = "0 = (1, 2); 1 !a 1; 1 ?m *3; 2 ?b 2; 2 ?m *3; 3 ?r 3";
    let server = "0 = (1, 2); 1 ?a 1; 2 !b 2; 2 ?c 2";
    assert!(!Roles::new("", client, server).compatible());
    assert!(Roles::new("", client, &server.replace("; 2 ?c 2", "")).compatible());
}

#[test]
fn what_crosses_the_end_of_a_sub_session_is_late_if_it_ends_in_either_order() {
    let mut roles = Roles::with_dual("", "0 = Replicated; 0 !m *1; 1 !a 3; 1 ?b 2; 2 !a 3; 3 = End");
    assert!(roles.dual());
    roles.added(Side::Client);
    assert!(roles.races().is_empty(), "{:?}", roles.races());
    // After `b` the sub-session goes on.
    let mut roles = Roles::with_dual("", "0 = Replicated; 0 !m *1; 1 !a 3; 1 ?b 2; 2 !a 2; 3 = End");
    assert!(roles.dual());
    roles.added(Side::Client);
    assert!(!roles.races().is_empty());
}

#[test]
fn either_side_may_end_a_sub_session() {
    let mut roles = Roles::with_dual("", "0 = Replicated; 0 !m *1; 1 ?e 1; 1 !a 2; 1 ?b 3; 2 = End; 3 = End");
    assert!(roles.dual() && roles.safe());
    assert!(roles.added(Side::Client).is_empty());
    assert!(roles.races().is_empty(), "{:?}", roles.races());
    // In a session it is a race: nothing there says which message is late.
    let mut roles = Roles::with_dual("", "0 ?e 0; 0 !a 1; 0 ?b 2; 1 = End; 2 = End");
    roles.added(Side::Client);
    assert!(!roles.races().is_empty());
}

#[test]
fn the_sender_of_the_message_that_ends_a_sub_session_need_not_have_it_after_what_crosses_it() {
    let body = |client: &str, server: &str| {
        let client = format!("0 = Replicated; 0 !m *1; 1 ?b 9; 1 !a 2; {client}; 9 = End");
        Roles::new("", &client, &format!("0 = Replicated; 0 ?m *1; 1 !b 9; 1 ?a 2; {server}; 9 = End"))
    };
    let judge = |mut roles: Roles| {
        assert!(roles.compatible());
        let is_safe = roles.safe();
        roles.added(Side::Client);
        assert_eq!(roles.races().is_empty(), is_safe, "{:?}", roles.races());
        is_safe
    };
    // The server has sent `b`; the client may send `a` twice before it comes, and takes it each time.
    assert!(judge(body("2 ?b 9; 2 !a 3; 3 ?b 9", "2 ?a 3; 3 !b 9")));
    assert!(!judge(body("2 ?b 9; 2 !a 3; 3 !a 4; 4 ?b 9", "2 ?a 3; 3 ?a 4; 4 !b 9")));
    assert!(!judge(body("2 !a 3; 3 ?b 9", "2 ?a 3; 3 !b 9")));
    // What the client takes to go on is over for the server.
    assert!(!judge(body("2 ?b 3; 2 !a 4; 4 ?b 9; 3 !a 9", "2 ?a 4; 4 !b 9")));
}

#[test]
fn a_right_that_another_channel_never_grants_makes_no_difference() {
    // On the second channel neither side may close, so both sides may close exactly where the first one allows it.
    let client = "0 = (1, 2); 1 !a 1; 1 & End; 2 !b 2; 2 !c 3";
    let roles = Roles::new("", client, "0 = (1, 2); 1 ?a 1; 1 + End; 1 & End; 2 ?b 2; 2 ?c 3");
    assert!(!roles.dual(), "once the second channel is at its end it does");
    let client = "0 = (1, 2); 1 !a 1; 1 & End; 2 !b 2; 2 & End";
    let roles = Roles::new("", client, "0 = (1, 2); 1 ?a 1; 1 + End; 1 & End; 2 ?b 2; 2 + End");
    assert!(roles.dual());
}

#[test]
fn a_client_may_not_rely_on_a_close_that_no_one_may_do() {
    // The server may close one channel and the client the other: neither may close the session.
    let client = "0 = (1, 2); 1 ?log 1; 1 & End; 2 ?d 2; 2 + End";
    let server = "0 = (1, 2); 1 !log 1; 1 ?b 1; 1 + End; 2 !d 2; 2 & End";
    let roles = Roles::new("", client, server);
    assert!(!roles.safe());
    assert!(
        roles.finding(Wanted::Compatible).ends_with("the server waits for `b`, and the client sends nothing")
    );
    // Where both are the server's to close it is fine.
    let both = (client.replace("2 + End", "2 & End"), server.replace("2 & End", "2 + End"));
    let roles = Roles::new("", &both.0, &both.1);
    assert!(roles.compatible() && roles.safe());
}

#[test]
fn a_loop_at_a_fork_is_taken_on_by_one_channel_on_each_side() {
    let mut roles = Roles::with_dual("", "0 ?log 0; 0 !go 1; 1 = (2, 4); 2 !a 3; 4 ?b 5");
    assert!(!roles.safe());
    // Behind `b`, which the server sends as well, no log is late any more.
    assert_eq!(roles.added(Side::Client), ["S4 ?log"]);
    assert!(roles.races().is_empty() && roles.safe());
}

#[test]
fn what_only_one_role_runs_for_good_is_compared_where_the_other_has_it() {
    // The client always takes `m`; the server sends it later, and its sub-sessions say what the client's do not expect.
    let client = "0 = (1, 3); 1 !a 2; 3 !b 3; 1 ?m *4; 2 ?m *4; 3 ?m *4; 4 ?r 5";
    let server = "0 = (1, 3); 1 ?a 2; 3 ?b 3; 2 !m *4; 4 !s 5";
    let roles = Roles::new("", client, server);
    assert!(roles.finding(Wanted::Compatible).contains("after `!a`, `?m`, the server may send `s`"));
    assert!(Roles::new("", client, &server.replace("!s", "!r")).compatible());
}

#[test]
fn an_edge_that_one_role_gets_is_given_to_the_other_wherever_they_meet() {
    // The client's last state meets two of the server's; only in the first one can a log be late.
    let mut roles = Roles::new(
        "",
        "0 ?direct 2; 0 ?enter 1; 1 !log 1; 1 ?stop 2",
        "0 !direct 3; 0 !enter 1; 1 ?log 1; 1 !stop 2; 2 ?e 2; 3 ?f 3; 2 & End; 3 & End",
    );
    assert!(roles.compatible());
    assert_eq!(roles.added(Side::Server), ["S2 ?log", "S3 ?log"]);
    assert!(roles.races().is_empty() && roles.safe());
}
