//! Two sides and a wire on which messages cross: every order of giving up, answering, reporting and delivering.

use std::time::Duration;

use super::desk::messages::{ASK, PROGRESS};
use super::pair::{End, settle};
use crate::engine::Arrived;
use crate::options::{CallTimeouts, Options};

/// What happens, in some order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The client's side gives up.
    GivesUp,
    /// The server answers, if it has the request.
    Answers,
    /// The server reports, if it has the request.
    Reports,
    /// What the client has written reaches the server.
    Up,
    /// What the server has written reaches the client.
    Down,
}

/// How the client gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Cancels,
    TakesTooLong,
    LetsGo,
}

/// Both sides in the middle of a session.
fn pair() -> (End, End) {
    (End::ready_client(Options::default()), End::ready_server(Options::default()))
}

fn play(how: How, order: &[Event]) {
    let (mut client, server) = pair();
    let id = client.link.speak(|engine, caller| engine.request(caller, ASK, "{}", true, true)).unwrap();
    let timeouts = CallTimeouts { timeout: Some(Duration::from_secs(1)), ..CallTimeouts::default() };
    client.link.with(|engine| engine.calls().limit_call(id, client.now, timeouts));
    let mut taken: Option<Arrived> = None;
    let mut answered = false;
    let mut gone = false;
    for event in order {
        match event {
            Event::GivesUp => match how {
                How::Cancels => {
                    let _ = client.link.speak(|engine, caller| engine.cancel(caller, id, None)).unwrap();
                }
                How::TakesTooLong => client.later(Duration::from_secs(1)),
                How::LetsGo => {
                    client.link.speak(|engine, caller| engine.let_go(caller, id));
                    gone = true;
                }
            },
            Event::Answers => {
                if let Some(asked) = &taken {
                    let id = asked.id.as_ref().unwrap();
                    server.link.speak(|engine, caller| engine.reply_result(caller, id, "\"!\"")).unwrap();
                    answered = true;
                }
            }
            Event::Reports => {
                if let Some(asked) = &taken {
                    let (id, token) = (asked.id.as_ref(), asked.token.as_ref().unwrap());
                    server
                        .link
                        .speak(|engine, caller| engine.report_on(caller, PROGRESS, "{}", token, id))
                        .unwrap();
                }
            }
            Event::Up => {
                server.feed_bytes(&client.output().0);
                taken = taken.or_else(|| server.incoming());
            }
            Event::Down => client.feed_bytes(&server.output().0),
        }
    }
    settle(&client, &server);
    taken = taken.or_else(|| server.incoming());
    if let Some(asked) = taken.filter(|_| !answered) {
        server
            .link
            .speak(|engine, caller| engine.reply_result(caller, asked.id.as_ref().unwrap(), "\"!\""))
            .unwrap();
    }
    settle(&client, &server);
    let mut outcomes = 0;
    while let Some(outcome) = (!gone).then(|| client.outcome(id)).flatten() {
        if outcome.as_ref().is_ok_and(|text| text.starts_with("progress")) {
            continue;
        }
        outcomes += 1;
        if outcomes > 1 {
            assert_eq!(outcome, Err("the session is closed".to_owned()), "it is taken, so there is nothing");
            break;
        }
    }
    assert_eq!(outcomes > 0, !gone, "{how:?} {order:?}");
    assert_eq!((client.reports(), server.reports()), (Vec::new(), Vec::new()), "{how:?} {order:?}");
    // Both sides agree on what runs, and go on.
    for end in [&client, &server] {
        assert!(end.link.with(|engine| engine.inbox.calls().is_empty() && engine.owed.is_empty()));
    }
    assert_eq!(client.deadline(), None);
    let again = client.call(ASK, "{}");
    settle(&client, &server);
    let asked = server.incoming().unwrap().id.unwrap();
    server.link.speak(|engine, caller| engine.reply_result(caller, &asked, "\"again\"")).unwrap();
    settle(&client, &server);
    assert_eq!(client.outcome(again), Some(Ok("\"again\"".to_owned())), "{how:?} {order:?}");
}

/// Every order of the events that are left, behind those that stand.
fn orders(stand: &mut Vec<Event>, left: &[Event], visit: &mut impl FnMut(&[Event])) {
    if left.is_empty() {
        return visit(stand);
    }
    for (place, event) in left.iter().enumerate() {
        if left[..place].contains(event) {
            continue;
        }
        let mut rest = left.to_vec();
        rest.remove(place);
        stand.push(*event);
        orders(stand, &rest, visit);
        stand.pop();
    }
}

#[test]
fn whatever_crosses_a_call_has_one_outcome_and_nobody_complains() {
    use Event::{Answers, Down, GivesUp, Reports, Up};
    let events = [Up, Up, Down, Down, GivesUp, Answers, Reports];
    for how in [How::Cancels, How::TakesTooLong, How::LetsGo] {
        let mut played = 0;
        orders(&mut Vec::new(), &events, &mut |order| {
            played += 1;
            play(how, order);
        });
        assert_eq!(played, 1260);
    }
}
