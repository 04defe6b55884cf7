//! The server: tools that ask, progress, a resource, and lists that change. Nothing here depends on the revision of a client.

use std::sync::{Mutex, PoisonError};

use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Asker, Changes, Context, Handler, Offer, Server};
use mcp_protocols::rounds::{Round, Seal, SealError, SealingKey};
use mcp_runtime::RpcError;

/// The server, for any number of clients.
pub(crate) fn server() -> Result<Server<Desk>, SealError> {
    let changes = Changes::new();
    let seal = Seal::new(key()?);
    let state = Mutex::new(State { tools: TOOLS.to_vec(), note: "buy milk".to_owned() });
    Ok(Server::new(Desk { seal, state, changes: changes.clone() }).with_changes(changes))
}

/// Processes that share the work share the key, so that each goes on where another one has asked: `DESK_KEY` has 32 bytes as
/// hexadecimal digits. Without it this process has a key of its own.
fn key() -> Result<SealingKey, SealError> {
    let given = std::env::var("DESK_KEY").ok().and_then(|digits| {
        let byte = |place: usize| u8::from_str_radix(digits.get(2 * place..2 * place + 2)?, 16).ok();
        let bytes: Vec<u8> = (0..32).map(byte).collect::<Option<_>>()?;
        <[u8; 32]>::try_from(bytes).ok()
    });
    match given {
        Some(bytes) => Ok(SealingKey::from_bytes(bytes)),
        None => SealingKey::random(),
    }
}

/// What all clients share.
pub(crate) struct Desk {
    seal: Seal,
    state: Mutex<State>,
    pub(crate) changes: Changes,
}

struct State {
    tools: Vec<&'static str>,
    note: String,
}

const TOOLS: [&str; 5] = ["greet", "learn", "count", "climb", "write"];

/// The resource that the tool `write` changes.
const NOTE: &str = "desk://note";

/// Lists and contents change, so that a client asks again.
const TTL: (i64, CacheScope) = (0, CacheScope::Private);

impl Handler for Desk {
    fn offer(&self) -> Offer {
        let can = ServerCapabilities::new()
            .tools(ToolsCapability::new().list_changed(true))
            .resources(ResourcesCapability::new().subscribe(true))
            .logging(Object::new());
        Offer::new(Implementation::new("desk", "1.0.0"), can).instructions("Be polite.")
    }

    fn opens_states(&self) -> bool {
        true
    }

    async fn list_tools(&self, _: Context, _: PaginatedParams) -> Result<ListToolsResult, RpcError> {
        let tools = self.state().tools.clone();
        let tools = tools.into_iter().map(|name| Tool::new(name, ObjectSchema::new()));
        Ok(ListToolsResult::new(tools, TTL.0, TTL.1))
    }

    async fn call_tool(
        &self,
        asker: Asker,
        params: CallToolParams,
    ) -> Result<Round<CallToolResult>, RpcError> {
        let said = match &*params.name {
            "greet" => {
                let form = FormSchema::new([]).required_field("name", StringSchema::new());
                let answer = asker.elicit(ElicitFormParams::new("Who is there?", form)).await?;
                let content = answer.content.unwrap_or_default();
                let name = content.get("name").and_then(FieldValue::as_text).unwrap_or("stranger");
                format!("Hello, {name}!")
            }
            "learn" => {
                self.state().tools.push("dance");
                self.changes.tools();
                "I can dance now.".to_owned()
            }
            "count" => return self.count(&params),
            "climb" => climb(&asker.context()).await?,
            "write" => {
                let text = params.argument("text").and_then(|text| text.as_str()).unwrap_or_default();
                self.state().note = text.to_owned();
                self.changes.resource(NOTE);
                "written".to_owned()
            }
            other => return Err(RpcError::invalid_params(format!("there is no tool `{other}`"))),
        };
        Ok(CallToolResult::text(said).into())
    }

    async fn list_resources(&self, _: Context, _: PaginatedParams) -> Result<ListResourcesResult, RpcError> {
        Ok(ListResourcesResult::new([Resource::new(NOTE, "A note")], TTL.0, TTL.1))
    }

    async fn read_resource(
        &self,
        _: Asker,
        params: ReadResourceParams,
    ) -> Result<Round<ReadResourceResult>, RpcError> {
        if params.uri != NOTE {
            return Err(RpcError::invalid_params(format!("no resource is at `{}`", params.uri)));
        }
        let note = TextResourceContents::new(NOTE, self.state().note.clone());
        Ok(ReadResourceResult::new([note.into()], TTL.0, TTL.1).into())
    }
}

impl Desk {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // What is done under the lock does not panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts to three. Between the rounds nothing is kept here: a client without a session carries how far it has come.
    fn count(&self, params: &CallToolParams) -> Result<Round<CallToolResult>, RpcError> {
        let count = self.seal.open::<_, u32>(params)?.unwrap_or(0) + 1;
        if count == 3 {
            return Ok(CallToolResult::text("one, two, three").into());
        }
        let state = self.seal.seal(params, &count)?;
        Ok(Round::InputRequired(InputRequiredResult::new().request_state(state)))
    }
}

/// Reports on each step.
async fn climb(context: &Context) -> Result<String, RpcError> {
    for step in 1..=3_u32 {
        let progress = ProgressParams::new(0, step).total(3);
        context.send_progress(progress).await?;
    }
    context.log(LoggingMessageParams::new(LoggingLevel::Info, "climbed")).await?;
    Ok("I am on the roof.".to_owned())
}
