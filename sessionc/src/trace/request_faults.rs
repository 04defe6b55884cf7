//! What messages do with requests, and what is wrong with it that the checker does not say.

use std::cell::OnceCell;

use mcp_protocol_machine::StepKind;
use mcp_protocol_machine::protocol::Strictness;
use mcp_runtime::observer::{Observed, ObservedKind};
use mcp_runtime::protocol::{Protocol, RequestId, Token};
use serde_json::value::RawValue;

use super::causes::Same;
use super::finding::Finding;
use super::formats::record::Place;
use super::requests::{HeardAt, Requests, Step, progress_of};
use super::wording;

/// The text of each message in what was sent: of the only one, or of those of a batch.
#[derive(Debug)]
pub(crate) struct MessageTexts<'a> {
    whole: &'a [u8],
    /// The elements of a batch, once they are asked for.
    elements: OnceCell<Vec<&'a RawValue>>,
}

impl<'a> MessageTexts<'a> {
    pub(crate) fn of(whole: &'a [u8]) -> MessageTexts<'a> {
        MessageTexts { whole, elements: OnceCell::new() }
    }

    /// The text of the message at this place.
    pub(crate) fn get(&self, place: usize) -> Option<&'a [u8]> {
        if !self.whole.trim_ascii_start().starts_with(b"[") {
            return (place == 0).then_some(self.whole);
        }
        let elements = self.elements.get_or_init(|| serde_json::from_slice(self.whole).unwrap_or_default());
        elements.get(place).map(|element| element.get().as_bytes())
    }
}

/// What is wrong with a cancel of a request or a report on one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RequestFault {
    /// The side has cancelled the request before.
    CancelledTwice { id: RequestId, before: Place },
    /// The request has its reply.
    LateReport { token: Token, reply: Place },
    /// The report says no more than the one before.
    NoProgress { about: RequestId, progress: f64, step: Step },
}

/// A message did not arrive: a request may come again, and so may a cancel.
pub(crate) fn not_received(requests: &mut Requests, one: &Observed) {
    let request = match one.kind {
        ObservedKind::Request => &one.id,
        ObservedKind::Notification => &one.about,
        _ => &None,
    };
    request.iter().for_each(|id| requests.withdraw(one.sender, id));
}

impl RequestFault {
    /// Has the requests take note of a message that opens, answers or cancels one of them or reports on one, and finds
    /// what is wrong with it. `text` is that of the message.
    pub(crate) fn note<'a>(
        requests: &mut Requests,
        one: &Observed,
        protocol: &Protocol,
        text: impl FnOnce() -> Option<&'a [u8]>,
        heard: HeardAt,
    ) -> Option<RequestFault> {
        let (sender, asker, step) = (one.sender, one.sender.other(), one.step?);
        match (one.kind, &one.id) {
            (ObservedKind::Request, Some(id)) => {
                if !step.is_dropped() {
                    requests.open(sender, id, one.token.clone(), heard.place);
                }
                None
            }
            (ObservedKind::Result | ObservedKind::Error, Some(id)) => {
                requests.answer(asker, id, heard);
                None
            }
            (ObservedKind::Notification, _) => {
                let table = protocol.message(one.message?)?;
                if table.cancels.is_some() {
                    let id = one.about.as_ref()?;
                    if step.is_dropped() {
                        let before = requests.cancelled(sender, id)?;
                        return Some(RequestFault::CancelledTwice { id: id.clone(), before });
                    }
                    requests.cancel(sender, id, heard);
                    return None;
                }
                table.reports.as_ref()?;
                if step == StepKind::Swallowed {
                    let token = one.token.as_ref()?;
                    let reply = requests.answered(asker, token, heard.stream)?;
                    return Some(RequestFault::LateReport { token: token.clone(), reply });
                }
                let (about, progress) = (one.about.as_ref()?, progress_of(text()?)?);
                let step = requests.progress(asker, about, progress, heard.stream)?;
                Some(RequestFault::NoProgress { about: about.clone(), progress, step })
            }
            _ => None,
        }
    }

    /// The message with this fault was not passed on: its receiver knows of the report before it, and of no later one.
    pub(crate) fn not_passed(&self, requests: &mut Requests, one: &Observed) {
        if let RequestFault::NoProgress { about, step, .. } = self {
            requests.keep_progress(one.sender.other(), about, step.before());
        }
    }

    /// Which level of rule it breaks.
    pub(crate) fn level(&self) -> Strictness {
        match self {
            RequestFault::NoProgress { step, .. } => step.level(),
            RequestFault::CancelledTwice { .. } | RequestFault::LateReport { .. } => Strictness::Must,
        }
    }

    /// What is found at this place, in this state.
    pub(crate) fn finding(
        &self,
        place: Place,
        one: &Observed,
        protocol: &Protocol,
        state: String,
    ) -> Finding {
        let table = one.message.and_then(|index| protocol.message(index));
        let name = table.map_or_else(|| "the message".to_owned(), |table| format!("`{}`", table.method));
        match self {
            RequestFault::CancelledTwice { id, before } => {
                wording::cancelled_twice(place, one.sender, state, (&name, id), *before)
            }
            RequestFault::LateReport { token, reply } => {
                wording::progress_after_reply(place, one.sender, state, (&name, token), *reply)
            }
            RequestFault::NoProgress { about, progress, step } => {
                wording::progress_that_does_not_increase(place, one.sender, state, (about, *progress), *step)
            }
        }
    }

    /// The same for each such message about the request. Progress that decreases is another mistake than progress that
    /// stays.
    pub(crate) fn same(&self, one: &Observed) -> Same {
        let what = match self {
            RequestFault::CancelledTwice { id, .. } => format!("cancels {id} again"),
            RequestFault::LateReport { token, .. } => format!("reports late with {token}"),
            RequestFault::NoProgress { about, step: Step::Stays { .. }, .. } => {
                format!("the progress of {about} stays")
            }
            RequestFault::NoProgress { about, step: Step::Decreases { .. }, .. } => {
                format!("the progress of {about} decreases")
            }
        };
        Same::of_request(one.sender, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_of_a_batch_has_its_text() {
        let texts = MessageTexts::of(b" [ {\"a\":1} ,[2],3]");
        let expected = [Some(&b"{\"a\":1}"[..]), Some(b"[2]"), Some(b"3"), None];
        assert_eq!([0, 1, 2, 3].map(|place| texts.get(place)), expected);
        let texts = MessageTexts::of(b" {} ");
        assert_eq!([0, 1].map(|place| texts.get(place)), [Some(&b" {} "[..]), None]);
        assert_eq!(MessageTexts::of(b"[1,").get(0), None);
    }
}
