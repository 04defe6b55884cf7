//! A guarded session: what passes is recorded, judged and reported, in this order and under one lock.

use std::sync::Arc;

use mcp_protocol_machine::protocol::{Side, Strictness};
use mcp_runtime::{RequestId, RpcError};

use super::judge::{Forward, Judge, Judgement, Passed, Remark, Severity, Treatment};
use super::record::{Recorded, Recorder};
use super::repeated::{RepeatSaid, RepeatedRemarks, SharedRemarks};
use super::report::Reporter;
use crate::trace::stream_progress::StreamNumber;

/// One session, with where it is recorded and reported.
#[derive(Debug)]
pub(crate) struct GuardedSession {
    /// Where there are several, the number of this one.
    number: Option<u64>,
    /// It begins with its next message, and the record does not say so yet.
    begins: bool,
    judge: Judge,
    /// What was reported, and came again.
    repeated: RepeatedRemarks,
    /// The same of all that have no session, if this is one of them.
    shared: Option<SharedRemarks>,
    outputs: Outputs,
}

/// Where sessions are recorded and reported.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) reporter: Reporter,
}

impl Outputs {
    /// Records and reports what concerns no session.
    pub(super) fn event(&self, what: &str) {
        self.record(None, Recorded::Note(what));
        self.reporter.event(None, what);
    }

    fn record(&self, session: Option<u64>, recorded: Recorded<'_>) {
        let Some(recorder) = &self.recorder else { return };
        if let Err(problem) = recorder.write(session, recorded) {
            self.reporter.event(None, problem);
        }
    }
}

impl GuardedSession {
    /// A session, which `begins` with its first message or was begun before.
    pub(crate) fn new(number: Option<u64>, begins: bool, judge: Judge, outputs: Outputs) -> GuardedSession {
        GuardedSession { number, begins, judge, repeated: RepeatedRemarks::default(), shared: None, outputs }
    }

    /// What says the same of it as of another one that shares these is said once.
    pub(super) fn sharing(mut self, remarks: SharedRemarks) -> GuardedSession {
        self.shared = Some(remarks);
        self
    }

    /// The record says where a session begins, so that its first messages are judged as those.
    fn record_beginning(&mut self) {
        if std::mem::take(&mut self.begins) {
            self.outputs.record(self.number, Recorded::Begins);
        }
    }

    /// Takes what one side has sent in a stream, and says what becomes of it. Blank text has no message in it.
    pub(super) fn take(&mut self, sender: Side, stream: StreamNumber, text: &[u8]) -> Judgement {
        if text.trim_ascii().is_empty() {
            return Judgement::default();
        }
        self.record_beginning();
        self.outputs.record(self.number, Recorded::Message(sender, stream, text));
        let judgement = self.judge.judge(sender, stream, text);
        if judgement.forward != Forward::Whole {
            self.note("not passed on");
        }
        self.record_errors(sender, &judgement);
        for remark in &judgement.remarks {
            let (said, number) = match &self.shared {
                Some(shared) => (shared.another(remark), None),
                None => (self.repeated.another(remark), self.number),
            };
            match said {
                RepeatSaid::Whole => self.outputs.reporter.remark(self.number, remark.clone()),
                RepeatSaid::Count(again) => self.outputs.reporter.event(number, again),
                RepeatSaid::Nothing => {}
            }
        }
        judgement
    }

    /// Records the errors that the guard sends, in the name of the side that they stand for.
    fn record_errors(&self, sender: Side, judgement: &Judgement) {
        let answers = judgement.answers.iter().map(|answer| (sender.other(), answer));
        let replacements = judgement.replacements.iter().map(|error| (sender, error));
        for (side, error) in answers.chain(replacements) {
            self.outputs.record(self.number, Recorded::Own(side, error));
        }
    }

    /// Takes the beginning of what cannot be judged, and says what becomes of it.
    pub(super) fn unjudged(&mut self, sender: Side, beginning: &[u8], problem: &str) -> Judgement {
        self.record_beginning();
        let mut judgement = self.judge.unjudged(sender, beginning, problem);
        let what = match judgement.forward {
            Forward::Whole => Recorded::LeftOut(problem),
            _ => Recorded::Note(problem),
        };
        self.outputs.record(self.number, what);
        let treatment =
            match (&judgement.forward, judgement.answers.is_empty(), judgement.replacements.is_empty()) {
                (Forward::Whole, ..) => Treatment::Forwarded,
                (_, false, _) => Treatment::Refused,
                (_, _, false) => Treatment::Replaced,
                _ => Treatment::Dropped,
            };
        let severity = Severity::Rule(Strictness::Must);
        let text = problem.to_owned();
        let (method, id, rule, is_malformed, same) = (None, None, None, false, None);
        let remark = Remark { sender, severity, treatment, method, id, rule, is_malformed, same, text };
        self.outputs.reporter.remark(self.number, remark.clone());
        self.record_errors(sender, &judgement);
        judgement.remarks.push(remark);
        judgement
    }

    /// Messages of the client that were passed on did not arrive. The record says why.
    pub(super) fn withdraw(&mut self, passed: &Passed, why: &str) {
        let messages = self.judge.withdraw(passed);
        let why = format!("not received: {why}");
        self.outputs.record(self.number, Recorded::NotReceived(&messages, &why));
    }

    /// Records what happened.
    pub(super) fn note(&mut self, what: &str) {
        self.outputs.record(self.number, Recorded::Note(what));
    }

    /// Records and reports what happened.
    pub(super) fn event(&mut self, what: &str) {
        self.note(what);
        self.outputs.reporter.event(self.number, what);
    }

    /// Records that something did not arrive over HTTP, and reports it unless there were many.
    pub(super) fn lost(&mut self, what: &str) {
        self.note(what);
        self.outputs.reporter.one_of_many(self.number, what);
    }

    /// Records a mistake of a side that is not one of a message, and reports it unless there were many.
    pub(super) fn mistake(&mut self, of: Side, what: &str) {
        self.outputs.record(self.number, Recorded::Mistake(of, what));
        self.outputs.reporter.one_of_many(self.number, what);
    }

    /// Records and reports that the server has exited with this code, and what it has left.
    pub(super) fn exited(&mut self, code: u8, what: &str) {
        self.outputs.record(self.number, Recorded::Exited(code, what));
        self.outputs.reporter.event(self.number, what);
    }

    /// The error that answers a request of the client in place of the server.
    pub(super) fn error_in_place(&self, id: Option<&RequestId>, error: &RpcError) -> Vec<u8> {
        self.judge.error_in_place(id, error)
    }

    /// Whether one of these requests of the client has no reply.
    pub(super) fn awaits_any(&self, ids: &[RequestId]) -> bool {
        self.judge.unanswered(Side::Client).iter().any(|(_, id)| ids.contains(id))
    }

    /// The client's requests that have no reply, as `tools/call` (id 5) and so on; nothing if there are none.
    pub(super) fn unanswered(&self) -> Option<String> {
        const SHOWN: usize = 5;
        let requests = self.judge.unanswered(Side::Client);
        let shown: Vec<String> =
            requests.iter().take(SHOWN).map(|(method, id)| format!("`{method}` (id {id})")).collect();
        let more = requests.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!shown.is_empty()).then(|| shown.join(", ") + &more)
    }

    /// The session is over: reports what is known only then. Once it was, there is nothing more.
    pub(super) fn finish(&mut self) {
        let missing = self.judge.missing();
        for what in self.repeated.rest().into_iter().chain(missing) {
            self.outputs.reporter.event(self.number, what);
        }
    }
}

impl Drop for GuardedSession {
    fn drop(&mut self) {
        self.finish();
    }
}
