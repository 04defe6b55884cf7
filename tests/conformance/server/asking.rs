//! What tools ask of the client by names: the user's answers, a message of the model, roots; alone, together, and in turn.
//!
//! A client of an older revision gets each question as a request of its own. One of 2026-07-28 gets those that are asked
//! together in one result, and sends its request again with the answers.

use mcp_kit::types::*;
use mcp_kit::{Client, Failure, Model, Roots, User};
use mcp_protocols::eras::Asker;
use mcp_protocols::rounds::{Answers, AskError};
use mcp_runtime::RpcError;

/// A form with one field.
fn form(message: &str, field: &str) -> InputRequest {
    let form = FormSchema::new([]).required_field(field, StringSchema::new());
    ElicitInput::new(ElicitFormParams::new(message, form)).into()
}

fn confirmation() -> InputRequest {
    let form = FormSchema::new([]).required_field("ok", BooleanSchema::new());
    ElicitInput::new(ElicitFormParams::new("Please confirm", form)).into()
}

fn question(text: &str, most_tokens: i64) -> InputRequest {
    let question = SamplingMessage::new(Role::User, TextContent::new(text));
    CreateMessageInput::new(CreateMessageParams::new([question], most_tokens)).into()
}

/// What the user filled into a field.
fn filled_in(answers: &Answers, name: &str, field: &str) -> String {
    match answers.get(name) {
        Some(InputResponse::Elicit(answer)) => {
            let value = answer.content.as_ref().and_then(|content| content.get(field));
            value.and_then(FieldValue::as_text).unwrap_or("unknown").to_owned()
        }
        _ => "unknown".to_owned(),
    }
}

/// What cannot be answered is an error of the call, and not one that the model reads.
async fn ask(asker: &Asker, questions: Vec<(&str, InputRequest)>) -> Result<Answers, RpcError> {
    let questions = questions.into_iter().map(|(name, question)| (name.to_owned(), question));
    Ok(asker.ask(questions).await?)
}

fn wrong_answer(name: &str) -> Failure {
    let problem = "it answers another kind of question".to_owned();
    RpcError::from(AskError::WrongAnswer { name: name.to_owned(), problem }).into()
}

/// Asks the user for a name.
pub(crate) async fn name(asker: &Asker) -> Result<CallToolResult, Failure> {
    let answers = ask(asker, vec![("user_name", form("What is your name?", "name"))]).await?;
    match answers.get("user_name") {
        Some(InputResponse::Elicit(_)) => {
            Ok(CallToolResult::text(format!("Hello, {}!", filled_in(&answers, "user_name", "name"))))
        }
        _ => Err(wrong_answer("user_name")),
    }
}

pub(crate) async fn capital(asker: &Asker) -> Result<CallToolResult, Failure> {
    let asked = vec![("capital_question", question("What is the capital of France?", 100))];
    match ask(asker, asked).await?.get("capital_question") {
        Some(InputResponse::CreateMessage(answer)) => {
            Ok(CallToolResult::text(answer.content.first_text().unwrap_or("nothing")))
        }
        _ => Err(wrong_answer("capital_question")),
    }
}

pub(crate) async fn roots(asker: &Asker) -> Result<CallToolResult, Failure> {
    match ask(asker, vec![("client_roots", ListRootsInput::new().params(Object::new()).into())])
        .await?
        .get("client_roots")
    {
        Some(InputResponse::ListRoots(answer)) => {
            let roots: Vec<&str> = answer.roots.iter().map(|root| &*root.uri).collect();
            Ok(CallToolResult::text(roots.join(" ")))
        }
        _ => Err(wrong_answer("client_roots")),
    }
}

/// The state with which the client comes back leads to this call, and to no other.
pub(crate) async fn confirmed(asker: &Asker) -> Result<CallToolResult, Failure> {
    ask(asker, vec![("confirm", confirmation())]).await?;
    Ok(CallToolResult::text("state-ok"))
}

pub(crate) async fn all_together(asker: &Asker) -> Result<CallToolResult, Failure> {
    let answers = ask(
        asker,
        vec![
            ("user_name", form("What is your name?", "name")),
            ("greeting", question("Generate a greeting", 50)),
            ("client_roots", ListRootsInput::new().params(Object::new()).into()),
        ],
    )
    .await?;
    Ok(CallToolResult::text(format!("{} answers", answers.len())))
}

pub(crate) async fn in_turn(asker: &Asker) -> Result<CallToolResult, Failure> {
    let first = ask(asker, vec![("step1", form("Step 1: What is your name?", "name"))]).await?;
    let second = ask(asker, vec![("step2", form("Step 2: What is your favorite color?", "color"))]).await?;
    let (name, color) = (filled_in(&first, "step1", "name"), filled_in(&second, "step2", "color"));
    Ok(CallToolResult::text(format!("{name} likes {color}")))
}

/// Asks for what the client can answer.
pub(crate) async fn what_it_can(client: &Client) -> Result<CallToolResult, Failure> {
    let asked = [
        client.able_to::<User>().map(|_| ("user_name", form("What is your name?", "name"))),
        client.able_to::<Model>().map(|_| ("greeting", question("Generate a greeting", 50))),
        client
            .able_to::<Roots>()
            .map(|_| ("client_roots", ListRootsInput::new().params(Object::new()).into())),
    ];
    let answers = ask(client.asker(), asked.into_iter().flatten().collect()).await?;
    Ok(CallToolResult::text(format!("{} answers", answers.len())))
}

/// What a prompt is to be about.
pub(crate) async fn subject(asker: &Asker) -> Result<String, Failure> {
    let asked = vec![("user_context", form("What context should the prompt use?", "context"))];
    Ok(filled_in(&ask(asker, asked).await?, "user_context", "context"))
}
