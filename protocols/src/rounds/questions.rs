//! The questions of a handler that wait for answers: those that are open at the same time make one round.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::oneshot;

use super::ask_error::AskError;
use super::retry::{Answers, Questions};
use crate::mcp_2026_07_28::types::{InputRequest, InputResponse};

/// The questions that the parts of a handler have asked, and that are not answered.
///
/// Invariant: an answer of the client is only for a question of the last round, under the name that it had there. No two
/// questions of a round have the same name.
#[derive(Debug)]
pub(super) struct OpenQuestions(Mutex<QuestionTable>);

/// Invariant: each entry of `open` has a question without an answer, and a part of the handler that waits for it.
#[derive(Debug, Default)]
struct QuestionTable {
    /// By the order in which they were asked.
    open: BTreeMap<u64, AskedTogether>,
    last: u64,
    /// What the first request has answered before it was asked: a client may know what a server wants to know.
    brought: Answers,
    /// The task that waits for the next round.
    waker: Option<Waker>,
    is_over: bool,
}

type Reply = Result<Answers, AskError>;

/// What a part of the handler has asked with one call.
#[derive(Debug)]
struct AskedTogether {
    /// By the names that the handler gave.
    unanswered: BTreeMap<String, Unanswered>,
    answers: Answers,
    reply: oneshot::Sender<Reply>,
}

#[derive(Debug)]
struct Unanswered {
    question: InputRequest,
    /// The name in the last round, if it was part of that.
    sent_as: Option<String>,
}

/// A part of the handler that goes on.
struct Answered(oneshot::Sender<Reply>, Reply);

impl Answered {
    fn send(self) {
        // A part that does not wait any more does something else.
        let _ = self.0.send(self.1);
    }
}

impl AskedTogether {
    /// Takes the answers that there are under names of the client. Whether the part of the handler goes on.
    fn answer(
        &mut self,
        mut answer: impl FnMut(&str, &Unanswered) -> Option<(String, InputResponse)>,
    ) -> Option<Reply> {
        for (name, unanswered) in std::mem::take(&mut self.unanswered) {
            match answer(&name, &unanswered) {
                Some((_, answer)) if is_answer(&unanswered.question, &answer) => {
                    self.answers.insert(name, answer);
                }
                Some((sent_as, _)) => return Some(Err(AskError::of_another_kind(&sent_as))),
                None => drop(self.unanswered.insert(name, unanswered)),
            }
        }
        self.unanswered.is_empty().then(|| Ok(std::mem::take(&mut self.answers)))
    }
}

/// Whether a client may answer a question like this.
fn is_answer(question: &InputRequest, answer: &InputResponse) -> bool {
    matches!(
        (question, answer),
        (InputRequest::ElicitationCreate(_), InputResponse::Elicit(_))
            | (InputRequest::SamplingCreateMessage(_), InputResponse::CreateMessage(_))
            | (InputRequest::RootsList(_), InputResponse::ListRoots(_))
    )
}

impl OpenQuestions {
    /// None yet. The first request has brought some answers.
    pub(super) fn new(brought: Answers) -> OpenQuestions {
        OpenQuestions(Mutex::new(QuestionTable { brought, ..QuestionTable::default() }))
    }

    fn table(&self) -> MutexGuard<'_, QuestionTable> {
        // What is done under the lock does not panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks, and waits for the answers. Dropping the future withdraws what is not answered.
    pub(super) async fn ask(&self, questions: Questions) -> Reply {
        let (reply, answers) = oneshot::channel();
        let number = self.open(questions, reply)?;
        let _open = OpenCall { questions: self, number };
        answers.await.unwrap_or(Err(AskError::Over))
    }

    fn open(&self, questions: Questions, reply: oneshot::Sender<Reply>) -> Result<u64, AskError> {
        let unanswered = |(name, question)| (name, Unanswered { question, sent_as: None });
        let unanswered = questions.into_iter().map(unanswered).collect();
        let mut asked = AskedTogether { unanswered, answers: Answers::new(), reply };
        let mut table = self.table();
        if table.is_over {
            return Err(AskError::Over);
        }
        table.last += 1;
        let number = table.last;
        match asked.answer(|name, _| table.brought.remove_entry(name)) {
            Some(answered) => {
                drop(table);
                Answered(asked.reply, answered).send();
            }
            None => {
                table.open.insert(number, asked);
                let waker = table.waker.take();
                drop(table);
                waker.into_iter().for_each(Waker::wake);
            }
        }
        Ok(number)
    }

    /// The client has answered the last round: all of it, or a part, or something else.
    pub(super) fn answer(&self, mut answers: Answers) {
        let mut answered = Vec::new();
        let mut table = self.table();
        for (number, mut asked) in std::mem::take(&mut table.open) {
            match asked.answer(|_, question| answers.remove_entry(question.sent_as.as_deref()?)) {
                Some(reply) => answered.push(Answered(asked.reply, reply)),
                None => drop(table.open.insert(number, asked)),
            }
        }
        drop(table);
        answered.into_iter().for_each(Answered::send);
    }

    /// All questions that are open, as the next round; pending while there are none.
    pub(super) fn poll_round(&self, context: &Context<'_>) -> Poll<Questions> {
        let mut table = self.table();
        if table.open.is_empty() {
            let before = table.waker.replace(context.waker().clone());
            drop(table);
            drop(before);
            return Poll::Pending;
        }
        let open = || table.open.values().flat_map(|asked| asked.unanswered.values());
        let mut names = RoundNames::besides(open().filter_map(|question| question.sent_as.clone()));
        let open = table.open.values_mut().flat_map(|asked| &mut asked.unanswered);
        Poll::Ready(
            open.map(|(name, question)| {
                let sent_as = question.sent_as.get_or_insert_with(|| names.free(name));
                (sent_as.clone(), question.question.clone())
            })
            .collect(),
        )
    }

    /// The call is over: what is open, and what is asked from now on, has no answer.
    pub(super) fn end(&self) {
        let mut table = self.table();
        table.is_over = true;
        let ended = (std::mem::take(&mut table.open), table.waker.take());
        drop(table);
        drop(ended);
    }
}

/// What waits in [`OpenQuestions::ask`].
struct OpenCall<'a> {
    questions: &'a OpenQuestions,
    number: u64,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let withdrawn = self.questions.table().open.remove(&self.number);
        // The lock is released by now.
        drop(withdrawn);
    }
}

/// The names of the questions of one round: `input`, `input-2`, `input-3`.
struct RoundNames {
    taken: HashSet<String>,
    /// How many names were made of one: a proxy may pass many questions on, as many as its server asks.
    made: HashMap<String, usize>,
}

impl RoundNames {
    fn besides(taken: impl Iterator<Item = String>) -> RoundNames {
        RoundNames { taken: taken.collect(), made: HashMap::new() }
    }

    /// The name that the handler gave, or one that is made of it, if another question has it.
    fn free(&mut self, name: &str) -> String {
        let made = self.made.entry(name.to_owned()).or_default();
        loop {
            *made += 1;
            let candidate = if *made == 1 { name.to_owned() } else { format!("{name}-{made}") };
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}
