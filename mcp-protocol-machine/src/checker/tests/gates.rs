//! Gates that each request of the client opens for as long as it runs.

use crate::checker::tests::tables::{Exchange, Tables, To};
use crate::checker::tests::{ENDED, accepted, id, is_late, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Announcement, Field, GateIndex, Holder, KeyIndex, MessageIndex, Side, StateKind};
use crate::{About, Capabilities, Checker, Correlation, KeyValue, Step, StepKind, Violation, ViolationKind};

/// Watching, and news of what is watched, which each watch has to ask for.
struct Watching {
    checker: Checker,
    watch: Exchange,
    search: Exchange,
    news: MessageIndex,
    cancelled: MessageIndex,
    wanted: GateIndex,
}

impl Watching {
    /// With an open key, news may stand alone, too.
    fn new(open: bool) -> Watching {
        let mut tables = Tables::default();
        let (watch, search) = (tables.request("watch"), tables.request("search"));
        let news = tables.reports("news");
        tables.edit(watch.request).cancellable = true;
        let cancelled = tables.cancels("cancelled");
        let wanted = tables.gate(&["news"]);
        tables.requires(news, Holder::Receiver, wanted, None);
        tables.key("place", open, &[watch.request, news]);
        let mut active =
            vec![(Send, watch.request, To::Spawn("Opening")), (Send, search.request, To::Spawn("Searching"))];
        active.extend(open.then_some((Receive, news, To::Spawn("End"))));
        tables.state("Active", StateKind::Replicated, &active);
        let opening = [(Receive, watch.reply, To::Step("Watched")), (Receive, news, To::Step("Opening"))];
        tables.state("Opening", StateKind::Linear, &opening);
        tables.state("Watched", StateKind::Linear, &[(Receive, news, To::Step("Watched"))]);
        tables.state("Searching", StateKind::Linear, &[(Receive, search.reply, To::Step("End"))]);
        tables.state("End", StateKind::End, &[]);
        let mut protocol = tables.build(Side::Client);
        let path = vec!["can".into()].into();
        protocol.announcements = vec![Announcement::in_each_request(Side::Client, path)].into();
        let checker = Checker::new(protocol, Side::Client).unwrap();
        Watching { checker, watch, search, news, cancelled, wanted }
    }

    fn watch(&mut self, number: i64, place: &str, wants: bool) {
        let keys = [(KeyIndex(0), KeyValue::from(place))];
        let announced = Capabilities::from_gates([self.wanted].into_iter().filter(|_| wants));
        let correlation = Correlation::keys(&keys).announcing(Some(&announced));
        let (checker, watch) = (&mut self.checker, self.watch.request);
        accepted(checker.request_correlated(Send, watch, &id(number), None, correlation, never));
    }

    fn search(&mut self, number: i64) {
        let announced = Capabilities::from_gates([self.wanted]);
        let correlation = Correlation::default().announcing(Some(&announced));
        let (checker, search) = (&mut self.checker, self.search.request);
        accepted(checker.request_correlated(Send, search, &id(number), None, correlation, never));
    }

    fn news(&mut self, place: &str) -> Result<Step, Violation> {
        self.news_about(place, About::Nothing)
    }

    fn news_about(&mut self, place: &str, about: About<'_>) -> Result<Step, Violation> {
        let keys = [(KeyIndex(0), KeyValue::from(place))];
        let (checker, news) = (&mut self.checker, self.news);
        checker.notification_correlated(Receive, news, about, Correlation::keys(&keys), never)
    }
}

#[test]
fn what_was_meant_for_the_sub_session_before_is_late_where_this_one_does_not_want_it() {
    let mut session = Watching::new(false);
    session.watch(1, "a", true);
    assert!(accepted(session.news("a")).sub_session.is_some());
    assert_eq!(session.checker.cancel_request(Send, session.cancelled, 1).unwrap(), ENDED);
    session.watch(2, "a", false);
    assert!(is_late(accepted(session.news("a")).kind));
    // Once the server has answered, it knows of the second one.
    session.checker.answer(Receive, 2, session.watch.reply).unwrap();
    assert!(matches!(session.news("a").unwrap_err().kind, ViolationKind::NotNegotiated { .. }));
}

#[test]
fn what_was_meant_for_a_sub_session_is_late_whatever_the_request_announces_that_has_its_token() {
    let mut session = Watching::new(false);
    session.watch(1, "a", true);
    assert_eq!(session.checker.cancel_request(Send, session.cancelled, 1).unwrap(), ENDED);
    let (search, token) = (session.search, id(7));
    for (number, token) in [(2, Some(token.clone())), (3, None)] {
        session.checker.request(Send, search.request, &id(number), token, never).unwrap();
    }
    assert!(is_late(accepted(session.news_about("a", About::Token(&token))).kind));
    let other = session.news_about("b", About::Token(&token)).unwrap_err();
    assert!(matches!(other.kind, ViolationKind::NotNegotiated { .. }), "{other}");
    // The server has received the cancel.
    session.checker.answer(Receive, 3, search.reply).unwrap();
    let known = session.news_about("a", About::Token(&token)).unwrap_err();
    assert!(matches!(known.kind, ViolationKind::NotNegotiated { .. }), "{known}");
}

#[test]
fn what_was_meant_for_a_sub_session_is_uncorrelated_whatever_token_it_has_where_its_key_is_open() {
    let mut session = Watching::new(true);
    session.watch(1, "a", true);
    assert_eq!(session.checker.cancel_request(Send, session.cancelled, 1).unwrap(), ENDED);
    let (search, token) = (session.search, id(7));
    session.checker.request(Send, search.request, &id(2), Some(token.clone()), never).unwrap();
    session.search(3);
    let alone = accepted(session.news_about("a", About::Token(&token)));
    assert!(matches!(alone.kind, StepKind::Spawned { .. }) && alone.sub_session.is_none(), "{alone:?}");
    // It needs what any request announces.
    session.checker.answer(Receive, 3, search.reply).unwrap();
    let closed = session.news_about("a", About::Token(&token)).unwrap_err();
    assert!(matches!(closed.kind, ViolationKind::NotNegotiated { .. }), "{closed}");
}

#[test]
fn what_was_said_without_knowing_of_the_sub_session_needs_what_any_request_announces() {
    let mut session = Watching::new(true);
    session.search(1);
    session.watch(2, "a", false);
    let alone = accepted(session.news("a"));
    assert!(matches!(alone.kind, StepKind::Spawned { .. }) && alone.sub_session.is_none(), "{alone:?}");
    session.checker.answer(Receive, 2, session.watch.reply).unwrap();
    assert!(matches!(session.news("a").unwrap_err().kind, ViolationKind::NotNegotiated { .. }));
    // Without any request that announces it, nothing may be said at all.
    let mut session = Watching::new(true);
    session.watch(1, "a", false);
    assert!(matches!(session.news("a").unwrap_err().kind, ViolationKind::NotNegotiated { .. }));
}

#[test]
fn what_a_request_announces_counts_that_found_a_gate_closed_and_has_no_answer_yet() {
    let mut tables = Tables::default();
    let (search, news, said) =
        (tables.request("search"), tables.notification("news"), tables.notification("said"));
    let (wanted, able) = (tables.gate(&["news"]), tables.gate(&["search"]));
    tables.requires(news, Holder::Receiver, wanted, None);
    tables.requires(search.request, Holder::Receiver, able, None);
    let active = [
        (Send, search.request, To::Spawn("Searching")),
        (Receive, news, To::Spawn("End")),
        (Receive, said, To::Spawn("End")),
    ];
    tables.state("Active", StateKind::Replicated, &active);
    let answers = [(Receive, search.reply, To::Step("End")), (Receive, search.refusal, To::Step("End"))];
    tables.state("Searching", StateKind::Linear, &answers);
    tables.state("End", StateKind::End, &[]);
    let mut protocol = tables.build(Side::Client);
    let field = Field { message: said, path: vec!["can".into()].into() };
    let in_each = Announcement::in_each_request(Side::Client, vec!["can".into()].into());
    protocol.announcements = vec![in_each, Announcement::new(Side::Server, field)].into();
    let mut checker = Checker::new(protocol, Side::Client).unwrap();
    let announce = |checker: &mut Checker, able: Capabilities| {
        checker.tell(Receive, said).unwrap();
        checker.announced(Side::Server, said, able);
    };
    announce(&mut checker, Capabilities::from_gates([able]));
    announce(&mut checker, Capabilities::none());
    // The client was not aware that the server searches no more.
    let announced = Capabilities::from_gates([wanted]);
    let correlation = Correlation::default().announcing(Some(&announced));
    let late = accepted(checker.request_correlated(Send, search.request, &id(1), None, correlation, never));
    assert!(is_late(late.kind));
    // The server searches again, perhaps before it has received the request.
    announce(&mut checker, Capabilities::from_gates([able]));
    checker.tell(Receive, news).unwrap();
    // That its id is used once more changes nothing about it.
    let correlation = Correlation::default();
    checker.request_correlated(Send, search.request, &id(1), None, correlation, never).unwrap_err();
    checker.tell(Receive, news).unwrap();
    assert_eq!(checker.answer(Receive, 1, search.reply).unwrap(), StepKind::Swallowed);
    assert!(matches!(checker.tell(Receive, news).unwrap_err().kind, ViolationKind::NotNegotiated { .. }));
}

#[test]
fn an_announcement_closes_what_is_granted_as_well_and_revoked_while_it_is_on_its_way() {
    let mut tables = Tables::default();
    let (leave, news, said) =
        (tables.request("leave"), tables.notification("news"), tables.notification("said"));
    let wanted = tables.gate(&["news"]);
    tables.requires(news, Holder::Receiver, wanted, None);
    let active = [
        (Send, leave.request, To::Spawn("Leaving")),
        (Send, said, To::Spawn("End")),
        (Receive, news, To::Step("Active")),
    ];
    tables.state("Active", StateKind::Linear, &active);
    tables.state("Leaving", StateKind::Linear, &[(Receive, leave.reply, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut protocol = tables.build(Side::Client);
    let field = Field { message: said, path: vec!["can".into()].into() };
    protocol.announcements = vec![Announcement::new(Side::Client, field)].into();
    let mut checker = Checker::new(protocol, Side::Client).unwrap();
    let all = Capabilities::from_gates([wanted]);
    checker.tell(Send, said).unwrap();
    checker.announced(Side::Client, said, all.clone());
    checker.grant(Side::Client, &all);
    let revoking = Correlation::default().changing(None, Some(&all));
    accepted(checker.request_correlated(Send, leave.request, &id(1), None, revoking, never));
    checker.tell(Send, said).unwrap();
    checker.announced(Side::Client, said, Capabilities::none());
    // The server revokes the grant with its answer, and has not heard that the client announces nothing any more.
    checker.answer(Receive, 1, leave.reply).unwrap();
    checker.tell(Receive, news).unwrap();
    // The answer to a later request proves that it has.
    checker.ask(Send, leave.request, 2).unwrap();
    checker.answer(Receive, 2, leave.reply).unwrap();
    assert!(matches!(checker.tell(Receive, news).unwrap_err().kind, ViolationKind::NotNegotiated { .. }));
}

#[test]
fn a_request_that_is_cancelled_without_a_reply_revokes_nothing_unless_its_answer_has_crossed() {
    let mut tables = Tables::default();
    let (leave, news) = (tables.request("leave"), tables.notification("news"));
    tables.edit(leave.request).cancellable = true;
    let cancelled = tables.cancels("cancelled");
    let wanted = tables.gate(&["news"]);
    tables.requires(news, Holder::Receiver, wanted, None);
    let active = [(Send, leave.request, To::Spawn("Leaving")), (Receive, news, To::Spawn("End"))];
    tables.state("Active", StateKind::Replicated, &active);
    tables.state("Leaving", StateKind::Linear, &[(Receive, leave.reply, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let all = Capabilities::from_gates([wanted]);
    let leave_with = |checker: &mut Checker, number: i64| {
        let revoking = Correlation::default().changing(None, Some(&all));
        accepted(checker.request_correlated(Send, leave.request, &id(number), None, revoking, never));
        checker.cancel_request(Send, cancelled, number).unwrap();
    };
    checker.grant(Side::Client, &all);
    leave_with(&mut checker, 1);
    checker.tell(Receive, news).unwrap();
    // It counts as being revoked, so a second request does not revoke it either.
    leave_with(&mut checker, 2);
    assert_eq!(checker.answer(Receive, 2, leave.reply).unwrap(), StepKind::Swallowed);
    checker.tell(Receive, news).unwrap();
    // The answer has crossed the cancellation.
    assert_eq!(checker.answer(Receive, 1, leave.reply).unwrap(), StepKind::Swallowed);
    assert!(matches!(checker.tell(Receive, news).unwrap_err().kind, ViolationKind::NotNegotiated { .. }));
    // It is granted again, and revoked by a request that is cancelled.
    checker.grant(Side::Client, &all);
    leave_with(&mut checker, 3);
    checker.tell(Receive, news).unwrap();
}

#[test]
fn a_report_needs_what_its_request_announces_or_of_its_own_side_what_any_request_does() {
    let mut tables = Tables::default();
    let (ask, search) = (tables.request("ask"), tables.request("search"));
    let progress = tables.reports("progress");
    let able = tables.gate(&["progress"]);
    tables.requires(progress, Holder::Side(Side::Client), able, None);
    let active =
        [(Send, search.request, To::Spawn("Searching")), (Receive, ask.request, To::Spawn("Asking"))];
    tables.state("Active", StateKind::Replicated, &active);
    tables.state("Searching", StateKind::Linear, &[(Receive, search.reply, To::Step("End"))]);
    tables.state("Asking", StateKind::Linear, &[(Send, ask.reply, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut protocol = tables.build(Side::Client);
    let path = vec!["can".into()].into();
    protocol.announcements = vec![Announcement::in_each_request(Side::Client, path)].into();
    let mut checker = Checker::new(protocol, Side::Client).unwrap();
    let search = |checker: &mut Checker, number: i64, token: &str, announced: Capabilities| {
        let correlation = Correlation::default().announcing(Some(&announced));
        let token = Some(token.into());
        accepted(checker.request_correlated(Send, search.request, &id(number), token, correlation, never));
    };
    search(&mut checker, 1, "a", Capabilities::none());
    search(&mut checker, 2, "b", Capabilities::from_gates([able]));
    checker.request(Receive, ask.request, &id(1), Some("a".into()), never).unwrap();
    let mut report = |direction, token: &str| {
        checker.notification(direction, progress, About::Token(&token.into()), never).map(|step| step.kind)
    };
    // The server reports on a request, which says whether the client wants that.
    assert!(matches!(report(Receive, "a").unwrap_err().kind, ViolationKind::NotNegotiated { .. }));
    assert_eq!(report(Receive, "b").unwrap(), StepKind::Reported);
    // What the client says is part of a request of the server, whatever its own requests have for a token.
    assert_eq!(report(Send, "a").unwrap(), StepKind::Reported);
}
