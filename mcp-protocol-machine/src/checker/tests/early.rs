//! What comes before a step that it waits for.

use crate::Checker;
use crate::checker::tests::tables::{Tables, To};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Side, StateKind};

#[test]
fn a_message_is_early_while_a_step_is_owed_behind_which_it_is_accepted() {
    let mut tables = Tables::default();
    let (greet, ask, never) = (tables.request("greet"), tables.request("ask"), tables.request("never"));
    let (ready, note) = (tables.notification("ready"), tables.notification("note"));
    let cancelled = tables.cancels("cancelled");
    tables.state("Start", StateKind::Linear, &[(Receive, greet.request, To::Step("Greeted"))]);
    tables.state(
        "Greeted",
        StateKind::Linear,
        &[(Send, greet.reply, To::Step("Waiting")), (Receive, note, To::Step("Greeted"))],
    );
    tables.state("Waiting", StateKind::Linear, &[(Receive, ready, To::Step("Active"))]);
    tables.state(
        "Active",
        StateKind::Linear,
        &[(Receive, ask.request, To::Step("Asked")), (Send, never.request, To::Step("Active"))],
    );
    tables.state("Asked", StateKind::Linear, &[(Send, ask.reply, To::Step("Active"))]);
    let mut checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap();
    let early = |checker: &Checker| {
        [greet.request, ready, note, ask.request, never.request, cancelled]
            .map(|message| checker.is_early(Receive, message))
    };
    assert_eq!(early(&checker), [false; 6], "it is the turn of the peer");
    checker.ask(Receive, greet.request, 1).unwrap();
    let expected = [false, true, false, true, false, false];
    assert_eq!(
        early(&checker),
        expected,
        "`note` is accepted, and the session does not come back to `greet`"
    );
    checker.answer(Send, 1, greet.reply).unwrap();
    assert_eq!(early(&checker), [false; 6], "it is the turn of the peer, who asks before it is ready");
    checker.tell(Receive, ready).unwrap();
    checker.ask(Receive, ask.request, 2).unwrap();
    assert_eq!(
        early(&checker),
        [false, false, false, true, false, false],
        "a second one before the first is answered"
    );
    checker.close();
    assert_eq!(early(&checker), [false; 6]);
}
