//! Suspended sub-sessions: what still belongs to them, what goes on without them, and what resumes them.

use crate::checker::tests::tables::{Exchange, Tables, To};
use crate::checker::tests::{accepted, id, is_late, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Direction, KeyIndex, MessageIndex, Only, Side, StateKind, Strictness, Text};
use crate::{About, Checker, Correlation, KeyValue, Step, StepKind, Violation, ViolationKind};

const URI: KeyIndex = KeyIndex(0);

/// An editor: documents are opened and changed until `shutdown`, after which there is nothing but `exit`. The server
/// may say things about a document until it answers, and ask and be asked about one.
struct Editor {
    checker: Checker,
    open: MessageIndex,
    change: MessageIndex,
    close: MessageIndex,
    remark: MessageIndex,
    format: Exchange,
    apply: Exchange,
    shutdown: Exchange,
    exit: MessageIndex,
}

fn editor() -> Editor {
    let mut tables = Tables::default();
    let shutdown = tables.request("shutdown");
    let exit = tables.notification("exit");
    let (open, change) = (tables.notification("open"), tables.notification("change"));
    let (close, remark) = (tables.notification("close"), tables.notification("remark"));
    let (format, apply) = (tables.request("format"), tables.request("apply"));
    tables.key("uri", false, &[open, change, close, remark, format.request, apply.request]);
    let working = [
        (Send, open, To::Spawn("Editing")),
        (Send, shutdown.request, To::Step("Stopping")),
        (Send, exit, To::Step("End")),
    ];
    tables.state("Working", StateKind::Linear, &working);
    let stopping =
        [(Receive, shutdown.reply, To::Step("Stopped")), (Receive, shutdown.refusal, To::Step("Working"))];
    tables.state("Stopping", StateKind::Linear, &stopping).only = Only::NONE.with(Send);
    let stopped = tables.state("Stopped", StateKind::Linear, &[(Send, exit, To::Step("Over"))]);
    stopped.only = Only::NONE.with(Send).with(Receive);
    stopped.outward.rule = Some(Text::Borrowed("nothing but exit"));
    tables.state("Over", StateKind::End, &[]).only = Only::NONE.with(Send).with(Receive);
    let editing = [
        (Send, change, To::Step("Editing")),
        (Receive, remark, To::Step("Editing")),
        (Send, format.request, To::Step("Formatting")),
        (Receive, apply.request, To::Step("Applying")),
        (Send, close, To::Step("End")),
    ];
    tables.state("Editing", StateKind::Linear, &editing);
    let answer = |direction, exchange: Exchange| {
        [(direction, exchange.reply, To::Step("Editing")), (direction, exchange.refusal, To::Step("Editing"))]
    };
    tables.state("Formatting", StateKind::Linear, &answer(Receive, format));
    tables.state("Applying", StateKind::Linear, &answer(Send, apply));
    tables.state("End", StateKind::End, &[]);
    let checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    Editor { checker, open, change, close, remark, format, apply, shutdown, exit }
}

impl Editor {
    fn tell(&mut self, direction: Direction, message: MessageIndex, uri: &str) -> Result<Step, Violation> {
        let keys = [(URI, KeyValue::from(uri))];
        self.checker.notification_correlated(
            direction,
            message,
            About::Nothing,
            Correlation::keys(&keys),
            never,
        )
    }

    fn ask(
        &mut self,
        direction: Direction,
        asked: Exchange,
        number: i64,
        uri: &str,
    ) -> Result<Step, Violation> {
        let keys = [(URI, KeyValue::from(uri))];
        self.checker.request_correlated(
            direction,
            asked.request,
            &id(number),
            None,
            Correlation::keys(&keys),
            never,
        )
    }

    fn shutdown(&mut self, number: i64) {
        let shutdown = self.shutdown.request;
        accepted(self.checker.request(Send, shutdown, &id(number), None, never));
    }

    fn stopped(&mut self, number: i64) {
        accepted(self.checker.reply(Receive, &id(number), self.shutdown.reply));
    }
}

fn rest(outcome: Result<Step, Violation>) -> Violation {
    let violation = outcome.unwrap_err();
    assert_eq!(violation.kind, ViolationKind::Suspended, "{violation}");
    violation
}

#[test]
fn the_sender_of_the_last_message_takes_no_further_step() {
    let mut editor = editor();
    let (open, change, close) = (editor.open, editor.change, editor.close);
    accepted(editor.tell(Send, open, "a"));
    editor.shutdown(1);
    for message in [change, close] {
        let violation = rest(editor.tell(Send, message, "a"));
        assert_eq!((violation.sender, &*violation.state_names()), (Side::Client, "Stopping"));
        assert_eq!(editor.checker.permits(Send, message).unwrap_err().kind, ViolationKind::Suspended);
    }
    let (format, remark) = (editor.format, editor.remark);
    rest(editor.ask(Send, format, 2, "a"));
    // A value that nothing ever ran under makes no difference, and neither does one that is missing.
    rest(editor.tell(Send, change, "unknown"));
    rest(editor.checker.notification(Send, change, About::Nothing, never));
    // The server may not know of it yet.
    assert_eq!(accepted(editor.tell(Receive, remark, "a")).kind, StepKind::SubSession { ended: false });
    editor.stopped(1);
    let violation = rest(editor.tell(Receive, remark, "a"));
    assert_eq!(violation.sender, Side::Server);
    let violation = rest(editor.tell(Send, change, "a"));
    assert_eq!(
        violation.to_string(),
        "`change` would go on with what was opened before, which is suspended in `Stopped`: the client may send `exit` \
         now (rule \"nothing but exit\", must)"
    );
    assert_eq!(violation.strictness(), Strictness::Must);
    assert_eq!(editor.checker.permitted(Send), [editor.exit]);
    assert_eq!(editor.checker.permitted(Receive), []);
    let exit = editor.exit;
    accepted(editor.checker.notification(Send, exit, About::Nothing, never));
    rest(editor.tell(Send, close, "a"));
}

#[test]
fn what_was_asked_is_answered() {
    let mut editor = editor();
    let (open, format, apply) = (editor.open, editor.format, editor.apply);
    accepted(editor.tell(Send, open, "a"));
    accepted(editor.tell(Send, open, "b"));
    accepted(editor.ask(Send, format, 1, "a"));
    accepted(editor.ask(Receive, apply, 1, "b"));
    editor.shutdown(2);
    let replied = accepted(editor.checker.reply(Receive, &id(1), format.reply));
    assert_eq!(replied.kind, StepKind::SubSession { ended: false });
    editor.stopped(2);
    let replied = accepted(editor.checker.reply(Send, &id(1), apply.refusal));
    assert_eq!(replied.kind, StepKind::SubSession { ended: false });
    rest(editor.ask(Receive, apply, 2, "b"));
}

#[test]
fn a_refusal_wakes_them_up() {
    let mut editor = editor();
    let (open, change, remark) = (editor.open, editor.change, editor.remark);
    accepted(editor.tell(Send, open, "a"));
    editor.shutdown(1);
    rest(editor.tell(Send, change, "a"));
    accepted(editor.checker.reply(Receive, &id(1), editor.shutdown.refusal));
    assert_eq!(accepted(editor.tell(Send, change, "a")).kind, StepKind::SubSession { ended: false });
    assert_eq!(accepted(editor.tell(Receive, remark, "a")).kind, StepKind::SubSession { ended: false });
}

#[test]
fn what_is_late_for_a_sub_session_is_late_for_its_rest() {
    let mut editor = editor();
    let (open, close, remark) = (editor.open, editor.close, editor.remark);
    accepted(editor.tell(Send, open, "a"));
    accepted(editor.tell(Send, close, "a"));
    editor.shutdown(1);
    assert!(is_late(accepted(editor.tell(Receive, remark, "a")).kind));
    editor.stopped(1);
    // The server has answered since: whatever it thinks of the document, it knew that there is nothing to say.
    rest(editor.tell(Receive, remark, "a"));
}
