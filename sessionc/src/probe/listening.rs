//! Finds out what a server did with an offence, and whether it still works.

use mcp_runtime::protocol::RequestId;
use serde::Deserialize;
use serde_json::Value;

use super::connection::arrival::{Ending, Rejection};
use super::reaction::{Afterwards, Reaction};
use super::session::Heard;
use super::verdict::with_other_id;
use crate::other_type::of_other_type;

/// What is known of the reaction to an offence so far.
///
/// The offence is followed by a request that is permitted, the question. Over streams the question follows at once: the
/// server is silent if the answer to the question comes first. Over HTTP each message has an answer of its own, and the
/// question follows when that is complete.
#[derive(Debug)]
pub(crate) struct Listening {
    offence: Asked,
    /// An answer to the offence may still come.
    wants_answer: bool,
    /// That answer may be an error without an id: the id of the offence cannot be read, or it has none.
    is_nameless: bool,
    over_http: bool,
    question: Option<Asked>,
    /// No request can be sent.
    nothing_to_ask: bool,
    /// The HTTP answer to the offence is complete.
    is_complete: bool,
    reaction: Option<Reaction>,
    /// The reaction, if nothing else turns out to be it: an error that may as well be about something before.
    doubtful: Option<Reaction>,
    afterwards: Option<Afterwards>,
}

/// A message that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The number of the sending.
    pub(crate) number: u64,
    /// The id by which its answer is known.
    pub(crate) id: Option<Value>,
}

impl Listening {
    pub(crate) fn new(offence: Asked, wants_answer: bool, is_nameless: bool, over_http: bool) -> Listening {
        Listening {
            offence,
            wants_answer,
            is_nameless,
            over_http,
            question: None,
            nothing_to_ask: false,
            is_complete: false,
            reaction: None,
            doubtful: None,
            afterwards: None,
        }
    }

    /// Whether it is time to send the question.
    pub(crate) fn may_ask(&self) -> bool {
        self.question.is_none()
            && !self.nothing_to_ask
            && self.afterwards.is_none()
            && (self.is_complete || !self.over_http)
    }

    /// The question was sent.
    pub(crate) fn ask(&mut self, question: Asked) {
        self.question = Some(question);
    }

    /// There is nothing to ask.
    pub(crate) fn cannot_ask(&mut self) {
        self.nothing_to_ask = true;
    }

    /// Whether the HTTP answer to the offence goes on.
    pub(crate) fn waits_for_answer(&self) -> bool {
        self.over_http && !self.is_complete
    }

    /// The HTTP answer to the offence is not waited for any more.
    pub(crate) fn wait_no_longer(&mut self) {
        self.is_complete = true;
    }

    /// Whether the question is answered, or will never be.
    pub(crate) fn is_asked(&self) -> bool {
        self.afterwards.is_some() || self.nothing_to_ask
    }

    /// Whether only the time tells that the server is silent: an answer may come, and nothing can be asked after it.
    pub(crate) fn awaits_answer_alone(&self) -> bool {
        self.nothing_to_ask && self.wants_answer && self.reaction.is_none() && self.afterwards.is_none()
    }

    /// Whether nothing more has to be heard.
    pub(crate) fn is_over(&self) -> bool {
        let reacted = self.reaction.is_some() || self.is_complete || !self.wants_answer;
        let ended = matches!(self.afterwards, Some(Afterwards::Ended(_) | Afterwards::Over));
        // Without a question, only the time tells whether something follows.
        ended || (self.afterwards.is_some() && reacted)
    }

    /// Takes what has come.
    pub(crate) fn hear(&mut self, heard: &Heard) {
        match heard {
            Heard::Message(message, _) => self.message(message),
            Heard::Finished(number) => self.finished(*number),
            Heard::Rejected(number, rejection) => self.rejected(*number, rejection),
            Heard::Ended(ending) => self.ended(ending),
            Heard::Echo | Heard::Nothing => {}
        }
    }

    /// Takes how the server has ended where the session has ended, too: it may exit then, also while something is asked.
    pub(crate) fn hear_end_of_session(&mut self, ending: &Ending) {
        match ending {
            Ending::Exited(0) => self.hear_exit(ending),
            ending => self.ended(ending),
        }
    }

    /// Takes how the server has exited, where it may.
    pub(crate) fn hear_exit(&mut self, ending: &Ending) {
        self.reaction.get_or_insert(Reaction::Ended(ending.clone()));
        self.afterwards.get_or_insert(Afterwards::Over);
    }

    /// Takes an error without an id that may be about a notification before the offence.
    pub(crate) fn hear_complaint(&mut self, message: &Value) {
        if self.is_nameless {
            let code = message.get("error").and_then(|error| error.get("code")?.as_i64());
            self.doubtful.get_or_insert(Reaction::Refused { code, status: None });
        }
    }

    fn message(&mut self, message: &Value) {
        let (error, is_result) = (message.get("error"), message.get("result").is_some());
        if message.get("method").is_some() || (error.is_none() && !is_result) {
            return;
        }
        let reaction = || match error {
            Some(error) => {
                Reaction::Refused { code: error.get("code").and_then(Value::as_i64), status: None }
            }
            None => Reaction::Answered,
        };
        let id = message.get("id").filter(|id| !id.is_null());
        if self.question.as_ref().is_some_and(|question| question.id.is_some() && question.id.as_ref() == id)
        {
            self.afterwards = Some(Afterwards::Works);
            return;
        }
        if let Some(what) = self.question.as_ref().and_then(|question| other_type(question.id.as_ref(), id)) {
            self.afterwards.get_or_insert(Afterwards::Fails(with_other_id(what)));
            return;
        }
        if let Some(what) = other_type(self.offence.id.as_ref(), id) {
            self.reaction.get_or_insert(Reaction::OtherId(what));
            return;
        }
        let is_of_offence = match (&self.offence.id, id) {
            // An error without an id is about what the server could not read; over HTTP it is the answer to the offence.
            (_, None) if error.is_some() => self.is_nameless || self.over_http,
            (Some(Value::Null), None) => true,
            (Some(offence), Some(id)) => offence == id,
            _ => false,
        };
        if is_of_offence && self.reaction.is_none() {
            self.reaction = Some(reaction());
        }
    }

    fn finished(&mut self, number: u64) {
        if number == self.offence.number {
            self.is_complete = true;
        }
        if self.question.as_ref().is_some_and(|question| question.number == number)
            && self.afterwards.is_none()
        {
            self.afterwards = Some(Afterwards::Fails("no answer".to_owned()));
        }
    }

    fn rejected(&mut self, number: u64, rejection: &Rejection) {
        if self.question.as_ref().is_some_and(|question| question.number == number) {
            self.afterwards = Some(Afterwards::Fails(format!("HTTP {}", rejection.status)));
        }
        if number == self.offence.number {
            self.is_complete = true;
            let body: Option<Value> = serde_json::from_slice(&rejection.body).ok();
            let code = body.as_ref().and_then(|body| body.get("error")?.get("code")?.as_i64());
            self.reaction.get_or_insert(Reaction::Refused { code, status: Some(rejection.status) });
        }
    }

    fn ended(&mut self, ending: &Ending) {
        if self.over_http && self.question.is_none() {
            // The server has closed one connection: whether it works is still to be asked.
            self.is_complete = true;
            self.reaction.get_or_insert(Reaction::Ended(ending.clone()));
            return;
        }
        self.reaction.get_or_insert(Reaction::Ended(ending.clone()));
        self.afterwards.get_or_insert(Afterwards::Ended(ending.clone()));
    }

    /// The results, when nothing more comes or is waited for.
    pub(crate) fn results(self) -> (Reaction, Afterwards) {
        let asked = self.question.is_some() || !self.nothing_to_ask;
        let afterwards = self.afterwards.unwrap_or(match asked {
            true => Afterwards::Unanswered,
            false => Afterwards::NotAsked,
        });
        (self.reaction.or(self.doubtful).unwrap_or(Reaction::Silent), afterwards)
    }
}

/// What the id of a reply is in place of that of the request, if it is the same as a text instead of a number, or the
/// other way round.
fn other_type(asked: Option<&Value>, replied: Option<&Value>) -> Option<&'static str> {
    let id = |value: Option<&Value>| RequestId::deserialize(value?).ok();
    let replied = id(replied)?;
    (of_other_type(&id(asked)?)? == replied).then_some(match replied {
        RequestId::Number(_) => "a number",
        RequestId::Text(_) => "a text",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listening(over_http: bool) -> Listening {
        Listening::new(Asked { number: 1, id: Some(json!(7)) }, true, true, over_http)
    }

    fn question() -> Asked {
        Asked { number: 2, id: Some(json!(8)) }
    }

    #[test]
    fn silence_is_an_answer_to_the_question_that_comes_first() {
        let mut listening = listening(false);
        assert!(listening.may_ask());
        listening.ask(question());
        listening.message(&json!({ "id": 8, "result": {} }));
        assert!(listening.is_asked() && !listening.is_over(), "the other answer may still come");
        assert_eq!(listening.results(), (Reaction::Silent, Afterwards::Works));
    }

    #[test]
    fn an_id_of_another_type_is_not_silence() {
        let mut listening = listening(false);
        listening.ask(question());
        listening.message(&json!({ "id": "7", "error": { "code": 1 } }));
        listening.message(&json!({ "id": "8", "result": {} }));
        assert!(listening.is_over());
        let fails = Afterwards::Fails("answered with the id of the request as a text".to_owned());
        assert_eq!(listening.results(), (Reaction::OtherId("a text"), fails));
    }

    #[test]
    fn answers_are_known_by_their_ids() {
        let mut listening = listening(false);
        listening.ask(question());
        listening.message(&json!({ "id": 9, "result": {} }));
        listening.message(&json!({ "method": "ping", "id": 7 }));
        listening.message(&json!({ "id": 7, "error": { "code": -32601, "message": "no" } }));
        listening.message(&json!({ "id": 8, "error": { "code": -32603, "message": "no" } }));
        assert!(listening.is_over());
        let refused = Reaction::Refused { code: Some(-32601), status: None };
        assert_eq!(listening.results(), (refused, Afterwards::Works));
    }

    #[test]
    fn an_error_without_an_id_is_about_the_offence_and_a_result_without_one_is_not() {
        let mut heard = listening(false);
        heard.message(&json!({ "id": null, "result": {} }));
        assert!(heard.reaction.is_none());
        heard.message(&json!({ "id": null, "error": { "code": -32700, "message": "no" } }));
        assert!(matches!(heard.reaction, Some(Reaction::Refused { code: Some(-32700), .. })));
        let mut heard = Listening::new(Asked { number: 1, id: Some(Value::Null) }, false, true, false);
        heard.message(&json!({ "id": null, "result": {} }));
        assert_eq!(heard.reaction, Some(Reaction::Answered));
    }

    #[test]
    fn an_error_without_an_id_does_not_answer_a_request_with_one() {
        let mut heard = Listening::new(Asked { number: 1, id: Some(json!(7)) }, true, false, false);
        heard.message(&json!({ "id": null, "error": { "code": -32601, "message": "no" } }));
        assert!(heard.reaction.is_none());
        heard.message(&json!({ "id": 7, "result": {} }));
        assert_eq!(heard.reaction, Some(Reaction::Answered));
    }

    #[test]
    fn a_complaint_that_may_be_about_something_else_is_the_reaction_if_nothing_else_is() {
        let complaint = json!({ "id": null, "error": { "code": -32601, "message": "no" } });
        let mut heard = listening(false);
        heard.hear_complaint(&complaint);
        heard.ask(question());
        heard.message(&json!({ "id": 8, "result": {} }));
        assert!(!heard.is_over(), "the answer may still come");
        heard.message(&json!({ "id": 7, "result": {} }));
        assert_eq!(heard.results(), (Reaction::Answered, Afterwards::Works));
        let mut heard = listening(false);
        heard.hear_complaint(&complaint);
        let refused = Reaction::Refused { code: Some(-32601), status: None };
        assert_eq!(heard.results().0, refused);
        let mut heard = Listening::new(Asked { number: 1, id: Some(json!(7)) }, true, false, false);
        heard.hear_complaint(&complaint);
        assert_eq!(heard.results().0, Reaction::Silent, "the offence has an id");
    }

    #[test]
    fn a_process_that_ends_does_not_work() {
        let mut listening = listening(false);
        listening.ask(question());
        listening.ended(&Ending::Exited(1));
        assert!(listening.is_over());
        let ending = Ending::Exited(1);
        assert_eq!(listening.results(), (Reaction::Ended(ending.clone()), Afterwards::Ended(ending)));
    }

    #[test]
    fn a_process_may_exit_at_the_end_of_a_session_unless_it_fails() {
        for (code, over) in [(0, Afterwards::Over), (3, Afterwards::Ended(Ending::Exited(3)))] {
            let mut listening = listening(false);
            listening.ask(question());
            listening.hear_end_of_session(&Ending::Exited(code));
            assert!(listening.is_over());
            assert_eq!(listening.results(), (Reaction::Ended(Ending::Exited(code)), over));
        }
    }

    #[test]
    fn over_http_the_question_waits_for_the_answer_to_the_offence() {
        let mut listening = listening(true);
        assert!(!listening.may_ask());
        let body = json!({ "error": { "code": -32600 } }).to_string().into_bytes();
        listening.rejected(1, &Rejection { status: 400, location: None, body });
        assert!(listening.may_ask());
        listening.ask(question());
        listening.rejected(2, &Rejection { status: 404, location: None, body: Vec::new() });
        let refused = Reaction::Refused { code: Some(-32600), status: Some(400) };
        assert_eq!(listening.results(), (refused, Afterwards::Fails("HTTP 404".to_owned())));
    }

    #[test]
    fn over_http_a_closed_connection_is_not_the_end_of_the_server() {
        let mut listening = listening(true);
        listening.ended(&Ending::Unreachable("reset".to_owned()));
        assert!(listening.may_ask());
        listening.ask(question());
        listening.message(&json!({ "id": 8, "result": {} }));
        assert!(listening.is_over());
        assert!(matches!(listening.results(), (Reaction::Ended(_), Afterwards::Works)));
    }

    #[test]
    fn nothing_can_be_asked_where_nothing_is_permitted() {
        let mut listening = listening(false);
        listening.cannot_ask();
        assert!(!listening.is_over());
        assert_eq!(listening.results(), (Reaction::Silent, Afterwards::NotAsked));
    }
}
