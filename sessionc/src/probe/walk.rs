//! The way to a state: the client's messages are sent, and the server's are awaited.

use mcp_protocol_machine::protocol::{Kind, MessageIndex, Protocol, Side};
use mcp_runtime::observer::{Observed, ObservedKind};
use mcp_runtime::{Violation, ViolationKind};
use tokio::time::{Duration, Instant};

use super::connection::arrival::Ending;
use super::samples::how_to_give;
use super::session::{Heard, Session, UnreadableText};
use super::target::{Move, Target};
use crate::malformed_texts::with_hint;

/// How much of a message of an error is shown, in characters.
const LONGEST: usize = 80;

/// Why a session does not come to a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub(crate) why: String,
    /// The message to which the server was waited for, and nothing came in time.
    pub(crate) unanswered: Option<MessageIndex>,
}

impl<T: Into<String>> From<T> for Obstacle {
    fn from(why: T) -> Obstacle {
        Obstacle { why: why.into(), unanswered: None }
    }
}

impl Obstacle {
    fn silence(why: String, unanswered: MessageIndex) -> Obstacle {
        Obstacle { why, unanswered: Some(unanswered) }
    }
}

/// Brings a session to a state.
///
/// # Errors
/// Why the state is not reached.
pub(crate) async fn walk(session: &mut Session, target: &Target, patience: Duration) -> Result<(), Obstacle> {
    if session.is_http()
        && let Some(why) = target.hindered_by_http(session.protocol())
    {
        return Err(why.to_owned().into());
    }
    follow(session, &target.moves, patience).await?;
    let is_there = target.body.is_some() || session.state().split(" and ").any(|name| name == target.name);
    match is_there {
        true => Ok(()),
        false => Err(format!("the session is in `{}` then", session.state()).into()),
    }
}

/// Sends the client's messages of a way, and waits for the server's.
///
/// # Errors
/// Where the way ends before its last message, and why.
pub(crate) async fn follow(
    session: &mut Session,
    moves: &[Move],
    patience: Duration,
) -> Result<(), Obstacle> {
    for step in moves {
        match step.sender {
            Side::Client => send(session, step.message, patience).await?,
            Side::Server => await_message(session, *step, patience).await?,
        }
    }
    Ok(())
}

/// Waits until what the server says of the notifications of the way has come, which else could be taken for what it says of
/// the message that follows. For this it is asked something, where the state permits that.
///
/// # Errors
/// If the session ends.
pub(crate) async fn catch_up(session: &mut Session, patience: Duration) -> Result<(), Obstacle> {
    let Some(question) = session.catching_up() else { return Ok(()) };
    let Some(sent) = session.send(question) else { return Ok(()) };
    let deadline = Instant::now() + patience;
    loop {
        for heard in session.hear(deadline).await {
            match heard {
                Heard::Message(message, _)
                    if message.get("method").is_none() && message.get("id") == sent.id.as_ref() =>
                {
                    session.has_caught_up();
                    return Ok(());
                }
                Heard::Message(message, _) => _ = session.explains(&message),
                Heard::Ended(ending) => {
                    return Err(format!("the server {ending} before it answered `{}`", sent.method).into());
                }
                // Whether it works is asked once more.
                Heard::Nothing => return Ok(()),
                Heard::Echo | Heard::Finished(_) | Heard::Rejected(..) => {}
            }
        }
    }
}

/// The beginning of a text, on one line.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let beginning: String = text.chars().take(LONGEST).collect();
    if beginning.len() < text.len() { format!("{beginning}…") } else { text }
}

fn name(session: &Session, message: MessageIndex) -> String {
    session.protocol().message(message).map(|table| table.method.to_string()).unwrap_or_default()
}

/// The request that a message replies to, or the message itself.
pub(crate) fn request_of(protocol: &Protocol, message: MessageIndex) -> MessageIndex {
    match protocol.message(message).map(|table| table.kind) {
        Some(Kind::Reply { request } | Kind::Refusal { request }) => request,
        _ => message,
    }
}

async fn send(session: &mut Session, message: MessageIndex, patience: Duration) -> Result<(), Obstacle> {
    let is_request = session.protocol().message(message).is_some_and(|table| table.kind == Kind::Request);
    let sent = session.send(message).ok_or("the protocol in force does not have its messages")?;
    if let Some(problem) = sent.problem().filter(|_| !sent.is_accepted()) {
        let is_without_key =
            |violation: &Violation| matches!(violation.kind, ViolationKind::KeyMissing { .. });
        let more = match sent.observed.iter().filter_map(Observed::violation).any(is_without_key) {
            // Nothing says how it looks.
            true => format!(": {}", how_to_give(&sent.method)),
            false => String::new(),
        };
        return Err(format!("{problem}{more}").into());
    }
    if !is_request {
        session.expect_complaint();
    }
    // What follows a notification may overtake it over HTTP.
    let deadline = Instant::now() + patience;
    while !is_request && !session.is_settled() {
        for heard in session.hear(deadline).await {
            match heard {
                Heard::Rejected(_, rejection) => {
                    return Err(rejection.of_permitted(&sent.method).into());
                }
                Heard::Ended(ending) => {
                    return Err(format!("the server {ending} after `{}`", sent.method).into());
                }
                Heard::Nothing => {
                    let why = format!("the server has not taken `{}` in time", sent.method);
                    return Err(Obstacle::silence(why, message));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

async fn await_message(session: &mut Session, step: Move, patience: Duration) -> Result<(), Obstacle> {
    let method = name(session, step.message);
    let deadline = Instant::now() + patience;
    loop {
        for heard in session.hear(deadline).await {
            match heard {
                Heard::Message(message, _) if session.explains(&message) => {}
                Heard::Message(_, observed)
                    if is_reply_to(session, &observed.kind, observed.message, step) =>
                {
                    // Another revision may govern from this message on; its name is the same there.
                    if observed.step.is_some() {
                        session.has_caught_up();
                        return Ok(());
                    }
                    let problem = observed.reports.first().map(ToString::to_string).unwrap_or_default();
                    let hint = session.hint_of_other_type(&observed);
                    let hint = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
                    return Err(format!("the reply to `{method}` cannot be followed: {problem}{hint}").into());
                }
                Heard::Message(_, observed) if observed.kind == ObservedKind::Error => {
                    let error =
                        observed.error.map(|error| format!("{} {}", error.code, one_line(&error.message)));
                    let error = error.unwrap_or_default();
                    return Err(format!(
                        "the server refused `{method}` ({error}): if the server supports it, {}",
                        how_to_give(&method)
                    )
                    .into());
                }
                Heard::Message(_, observed) if observed.kind == ObservedKind::Result => {
                    return Err(format!("the server gave `{method}` another answer").into());
                }
                Heard::Finished(_) if session.hears_no_more() => {
                    let ended = format!("the answer to `{method}` over HTTP has ended without the reply");
                    return Err(why_silent(session, ended).await.into());
                }
                Heard::Message(..) | Heard::Finished(_) => {}
                Heard::Echo => {
                    return Err(format!(
                        "the command writes back `{method}` as it was sent: it echoes its input and is not a server of this protocol"
                    ).into());
                }
                Heard::Rejected(_, rejection) => {
                    return Err(rejection.of_permitted(&method).into());
                }
                Heard::Ended(ending @ Ending::Unreachable(_)) => {
                    return Err(format!("the server {ending}: start it, or correct `--url`").into());
                }
                Heard::Ended(ending) => {
                    return Err(format!("the server {ending} before it answered `{method}`").into());
                }
                Heard::Nothing => {
                    let silent = format!("the server has not answered `{method}` in time");
                    let asked = request_of(session.protocol(), step.message);
                    return Err(Obstacle::silence(why_silent(session, silent).await, asked));
                }
            }
        }
    }
}

/// Why no reply has come, as far as the server shows it, behind what there is to say in any case. The session is over
/// then.
async fn why_silent(session: &mut Session, silent: String) -> String {
    if let Some(mistake) = session.mistake_of_kind() {
        return format!("{silent}: what it has sent {mistake}");
    }
    match session.first_unreadable().cloned() {
        Some(UnreadableText { text, .. }) if text.to_ascii_lowercase().starts_with("content-length:") => {
            format!(
                "{silent}: it writes `Content-Length` before a message, and this protocol ends each message with its line"
            )
        }
        Some(UnreadableText { text, problem: Some(problem) }) => {
            let said = format!("{silent}: it has written `{text}`, which is not a message: {problem}");
            with_hint(said, &problem)
        }
        Some(UnreadableText { text, problem: None }) => format!(
            "{silent}: it has written `{text}`, which is not a message: write each message as JSON on one line, and what is \
             for people on standard error"
        ),
        None if session.replies_at_the_end().await => format!(
            "{silent}: its answer came when its input was closed: end each message with a line feed, and flush the output"
        ),
        None => silent,
    }
}

/// Whether a message is the one that is awaited, or at least a result in its place.
fn is_reply_to(session: &Session, kind: &ObservedKind, message: Option<MessageIndex>, step: Move) -> bool {
    let of = |message: MessageIndex| session.protocol().message(message).map(|table| table.name.clone());
    *kind == ObservedKind::Result && message.is_none_or(|message| of(message) == of(step.message))
}
