//! Cases by hand: channels side by side, their ends, and the bodies of `*` that are branches of their choices.

use mcp_protocol_machine::protocol::Side;

use super::cases::Roles;
use crate::relation::Wanted;

#[test]
fn a_star_is_compared_in_every_choice_in_which_it_opens_another_body() {
    let client = "0 = (1, 3); 1 !m *4; 1 !next 2; 2 !m *4; 2 !next 2; 3 = End; 4 ?r 5";
    let server = "0 = (1, 3); 1 ?m *4; 1 ?next 2; 2 ?m *6; 2 ?next 2; 3 = End; 4 !r 5; 6 = End";
    let roles = Roles::new("", client, server);
    assert!(!roles.safe());
    assert_eq!(
        roles.finding(Wanted::Dual),
        "`Server` is not the dual of `Client`: after `!next`, `!m`, the client accepts `r`, which the server never sends"
    );
    assert!(!roles.compatible());
    let server = server.replace("*6", "*4");
    assert!(Roles::new("", client, &server).dual());
}

#[test]
fn a_star_that_crosses_into_a_choice_with_another_body_races() {
    let client = "0 = (1, 3); 1 !m *4; 1 ?next 2; 2 !m *6; 2 ?next 2; 3 !a 7; 4 ?r 5; 6 = End; 7 = End";
    let mut roles = Roles::with_dual("", client);
    assert!(roles.dual() && !roles.safe());
    assert!(roles.added(Side::Server).is_empty());
    let races = roles.races();
    assert_eq!(races.len(), 1, "{races:?}");
    assert!(races[0].message.starts_with("`m` and `next` race: at the start"), "{}", races[0].message);
    assert!(races[0].labels.iter().any(|label| label.text.contains("opens this sub-session instead")));
}

#[test]
fn a_late_opening_opens_the_body_of_the_choice_that_was_left() {
    // The third state has been reached on two ways, on which different bodies may be late: that cannot be mended.
    let client = "0 !m *4; 0 ?next 2; 0 ?other 1; 1 !m *6; 1 ?next 2; 2 ?next 2; 4 ?r 5; 6 = End";
    let mut roles = Roles::with_dual("", client);
    assert!(!roles.safe());
    roles.added(Side::Server);
    assert!(!roles.races().is_empty());
    let mut roles = Roles::with_dual("", "0 !m *4; 0 ?next 2; 2 ?next 2; 4 ?r 5");
    assert_eq!(roles.added(Side::Server), ["S2 ?m"]);
    assert!(roles.races().is_empty() && roles.safe());
}

#[test]
fn what_comes_late_ties_channels_that_had_no_message_in_common() {
    // One role has two channels where the other has one; that one accepts what is late for the channel at its end.
    let client = "0 !h 0; 0 ?g 5; 5 = (1, 3); 1 = End; 3 ?e 2; 2 = End";
    let server = "0 ?h 0; 0 !g 1; 1 ?h 1; 1 !e 2; 2 = End";
    let mut roles = Roles::new("", client, server);
    assert!(roles.compatible());
    assert_eq!(roles.added(Side::Server), ["S2 ?h"]);
    assert!(roles.races().is_empty() && roles.safe());
}

#[test]
fn a_late_opening_may_meet_another_body() {
    // Behind `a` the client has a body of its own for `open`, which the server's late opening meets.
    let bodies = "4 ?t 4; 4 !x 5; 5 !y 3; 6 ?t 6; 6 !x 7; 7 ?t 7; 7 !y 3";
    let client = format!("0 ?open *6; 0 !a 1; 1 ?open *4; 1 !b 2; 2 = End; 3 = End; {bodies}");
    let server = "0 !open *4; 0 ?a 1; 1 ?b 2; 2 = End; 4 !t 4; 4 ?x 5; 5 ?y 3; 3 = End";
    let mut roles = Roles::new("", &client, server);
    assert!(roles.compatible());
    assert_eq!(roles.added(Side::Client), ["S2 ?open", "S5 ?t"]);
    assert!(roles.added(Side::Client).is_empty(), "closing twice is closing once");
    // Which body opens depends on which message comes first.
    assert!(!roles.races().is_empty());
}

#[test]
fn what_comes_late_at_an_end_is_for_the_channel_that_has_come_to_it() {
    // One state is the end of both channels.
    let client = "0 = (1, 2); 1 !hello 4; 2 !start 3; 3 !tick 3; 3 ?stop 4; 4 = End";
    let mut roles = Roles::with_dual("", client);
    assert_eq!(roles.added(Side::Server), ["S42 ?tick"]);
    assert!(roles.races().is_empty() && roles.safe());
    let mut roles = Roles::with_dual("", "0 = (1, 2); 1 !hello 4; 2 !tick 3; 3 !tick 3; 3 ?stop 4; 4 = End");
    assert_eq!(roles.added(Side::Server), ["S42 ?tick"]);
    assert!(roles.races().is_empty() && roles.safe());
}

#[test]
fn which_channel_takes_what_comes_late_does_not_depend_on_who_is_the_client() {
    // `log` crosses the message before the channels, and goes to the channel in which its sender goes on.
    let one = "0 !log 0; 0 ?go 3; 3 = (1, 2); 1 ?b 4; 2 !a 4; 4 = End";
    let other = "0 ?log 0; 0 !go 3; 3 = (1, 2); 1 !b 4; 2 ?a 4; 4 = End";
    let of_server = Roles::with_dual("", one).added(Side::Server);
    assert_eq!(of_server[0], "S2 ?log");
    assert_eq!(Roles::with_dual("", other).added(Side::Client), of_server);
}

#[test]
fn the_order_of_channels_changes_nothing() {
    let client = "0 = (4, 1); 1 ?go 2; 2 !tick 3; 3 !tick 3; 3 ?stop 4; 4 = End";
    let server = "0 = (1, 4); 1 !go 2; 2 ?tick 3; 3 ?tick 3; 3 !stop 4; 4 = End";
    let mut roles = Roles::new("", client, server);
    assert!(roles.dual());
    assert_eq!(roles.added(Side::Server).len(), 1);
    assert!(roles.races().is_empty() && roles.safe());
    // What is late at a fork goes to the same channel on both sides.
    for parts in ["(2, 4)", "(4, 2)"] {
        let client = format!("0 ?log 0; 0 !go 1; 1 = {parts}; 2 !a 3; 4 ?b 5");
        let server = "0 !log 0; 0 ?go 1; 1 = (4, 2); 2 ?a 3; 4 !b 5";
        let mut roles = Roles::new("", &client, server);
        assert_eq!(roles.added(Side::Client), ["S4 ?log"]);
        assert!(roles.races().is_empty() && roles.safe());
    }
}

/// Channels side by side, each of which also has `log`. With 17 of them, there are more combinations than are looked at.
fn with_log_in_each(mark: char, channels: usize) -> String {
    let starts: Vec<String> = (0..channels).map(|channel| (2 * channel + 1).to_string()).collect();
    let channel = |channel: usize| {
        let (first, second) = (2 * channel + 1, 2 * channel + 2);
        format!("; {first} {mark}x{channel} {second}; {second} {mark}log {first}")
    };
    format!("0 = ({})", starts.join(", ")) + &(0..channels).map(channel).collect::<String>()
}

#[test]
fn for_too_many_places_the_message_that_all_channels_have_is_named() {
    let roles = Roles::with_dual("", &with_log_in_each('!', 17));
    let found = roles.relate_within(Wanted::Dual, 1_000);
    assert!(found[0].message.starts_with("the roles have channels side by side with more than 1000 "));
    assert_eq!(found[0].helps[0].text(), "have `log` in one channel only, in both roles");
}

#[test]
fn as_many_places_are_looked_at_as_may_be() {
    // Each of five channels is in one of two places.
    let roles = Roles::with_dual("", &with_log_in_each('!', 5));
    assert!(roles.relate_within(Wanted::Dual, 32).is_empty());
    let found = roles.relate_within(Wanted::Dual, 31);
    assert!(found[0].message.contains("more than 31 "), "{}", found[0].message);
}

#[test]
fn the_advice_for_too_many_places_is_not_what_is_written_already() {
    // One role has all of `log` in one channel.
    let one: Vec<String> = (0..17).map(|channel| format!("0 ?x{channel} 0")).collect();
    let server = one.join("; ") + "; 0 ?log 0";
    let found = Roles::new("", &with_log_in_each('!', 17), &server).relate_within(Wanted::Compatible, 1_000);
    assert!(found[0].message.contains("group their messages in channels so differently"));
    assert!(found[0].helps[0].starts_with("write the same channels side by side in both roles"));
}

#[test]
fn what_only_crossing_messages_lead_to_may_cross_another_channel() {
    // After `b` the client sends no `a`. The server, which has one channel, may send `n` all the while, which the client
    // has in a channel of its own.
    let a_and_b = "3 !a 4; 3 ?b 5; 4 ?b 6; 5 !z 5; 6 !z 6";
    let server = "0 ?a 1; 0 !b 2; 1 !b 3; 2 ?a 3; 2 ?z 2; 3 ?z 3";
    let repeats = (0..4).map(|at| format!("; {at} !n {at}")).collect::<String>();
    let roles = Roles::new("", &format!("0 = (1, 3); 1 ?n 1; {a_and_b}"), &(server.to_owned() + &repeats));
    assert!(roles.compatible());
    assert!(roles.races().is_empty() && roles.safe());
    // The same with a step in place of a loop.
    let steps = "; 0 !n 4; 1 !n 5; 2 !n 6; 3 !n 7; 4 ?a 5; 4 !b 6; 5 !b 7; 6 ?a 7; 6 ?z 6; 7 ?z 7";
    let ready = (4..8).map(|at| format!("; {at} ?y {at}")).collect::<String>();
    let client = format!("0 = (1, 3); 1 ?n 2; 2 !y 2; {a_and_b}");
    let roles = Roles::new("", &client, &(server.to_owned() + steps + &ready));
    assert!(roles.compatible());
    assert!(roles.races().is_empty() && roles.safe());
}

#[test]
fn what_only_crossing_messages_lead_to_may_cross_an_opening() {
    // After `b` the client sends no `a`, so that only crossing messages lead from there to where both orders lead.
    let steps = "0 !a 1; 0 ?b 2; 1 ?b 3; 2 !z 2; 3 !z 3";
    let server = "0 ?a 1; 0 !b 2; 1 !b 3; 2 ?a 3; 2 ?z 2; 3 ?z 3; 9 !r 8; 8 = End";
    let opens = |mark: char, at: &[usize], body: usize| -> String {
        at.iter().map(|at| format!("; {at} {mark}open *{body}")).collect()
    };
    let body = "9 ?r 8; 8 = End";
    let client = format!("{steps}; {body}{}", opens('?', &[0, 1, 2, 3], 9));
    // The server opens sub-sessions everywhere, or does not after `a`.
    for at in [&[0, 1, 2, 3][..], &[0, 2]] {
        let mut roles = Roles::new("", &client, &(server.to_owned() + &opens('!', at, 9)));
        assert!(roles.compatible());
        roles.added(Side::Client);
        assert!(roles.races().is_empty() && roles.safe(), "{at:?}: {:?}", roles.races());
    }
    // Behind `a` the client takes what is opened for another body.
    let client =
        format!("{steps}; {body}; 7 ?r 6; 6 ?s 8{}", opens('?', &[0, 2], 9) + &opens('?', &[1, 3], 7));
    let mut roles = Roles::new("", &client, &(server.to_owned() + &opens('!', &[0, 2], 9)));
    assert!(roles.compatible());
    roles.added(Side::Client);
    assert!(!roles.races().is_empty());
}

#[test]
fn what_is_late_for_one_channel_hides_no_step_of_another() {
    // One state of the server is behind `x` and behind two `a`, and may send `x` in neither; the client has come to the
    // end of the channel with `x` there, so the other channel takes it. Which of `a` and `x` comes first still matters.
    let client = "0 = (1, 2); 1 !n 1; 1 ?m 1; 2 !a 3; 2 !x 4; 2 ?x 2; 3 !a 5; 3 ?x 2; 4 ?z 4; 4 !a 4; 5 !a 5";
    let server = "0 ?n 0; 0 ?a 1; 0 ?x 2; 0 !x 0; 1 ?n 1; 1 ?a 2; 1 ?y 2; 2 ?n 2; 2 ?a 2";
    let mut roles = Roles::new("", client, server);
    assert!(roles.compatible() && !roles.safe());
    roles.added(Side::Client);
    assert!(!roles.races().is_empty());
}

#[test]
fn what_is_late_on_one_way_to_a_state_is_not_sent_on_another() {
    // One state of the server is behind `c`, where `open` may be late, and behind `a`, where the client sends it no more.
    for (sent, received) in [("0 !open *9", "0 ?open *9"), ("0 !open 0", "0 ?open 0")] {
        let client =
            "0 ?b 2; 0 !z 0; 2 !a 3; 2 ?c 4; 2 !z 2; 3 ?c 5; 3 !z 3; 4 !a 5; 4 !z 4; 5 !z 5; 9 ?r 8; 8 = End";
        let server = "0 !b 2; 0 ?z 0; 2 ?a 4; 2 !c 4; 2 ?z 2; 4 ?a 5; 4 ?z 4; 5 ?z 5; 9 !r 8; 8 = End";
        let mut roles = Roles::new("", &format!("{client}; {sent}"), &format!("{server}; {received}"));
        assert!(roles.compatible());
        assert_eq!(roles.added(Side::Server), ["S2 ?open", "S4 ?open"]);
        assert!(roles.races().is_empty() && roles.safe(), "{:?}", roles.races());
    }
}
