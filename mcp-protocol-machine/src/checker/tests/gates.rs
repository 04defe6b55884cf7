//! Gates that each request of the client opens for as long as it runs.

use crate::checker::tests::tables::{Exchange, Tables, To};
use crate::checker::tests::{ENDED, accepted, id, is_late, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Announcement, GateIndex, Holder, KeyIndex, MessageIndex, Side, StateKind};
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
        let news = tables.notification("news");
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
        let keys = [(KeyIndex(0), KeyValue::from(place))];
        let (checker, news) = (&mut self.checker, self.news);
        checker.notification_correlated(Receive, news, About::Nothing, Correlation::keys(&keys), never)
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
