//! [`Prompt`]: a type of arguments, and the messages that they make.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{
    ClientCapabilities, GetPromptParams, GetPromptResult, ObjectSchema, PromptArgument, PromptMessage, Role,
    TextContent,
};
use mcp_protocols::eras::{Asker, Changes, Context, types};
use mcp_runtime::RpcError;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::failure::{Failure, refusal, wrong_arguments};
use super::super::schema::{Misfit, arguments_of, description_of, kind_of, name_of, read};
use super::client::Client;
use super::needs::Needs;
use super::problem::Problem;
use super::suggestions::Suggestions;
use super::typed::Typed;

/// A prompt of a server with the state `S`: its arguments are the fields of the type, which the user fills in as texts.
///
/// ```
/// use mcp_kit::{Client, Failure, Prompt, said};
/// use mcp_kit::types::{PromptMessage, Role};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Summarises the notes of some days
/// #[derive(Deserialize, JsonSchema)]
/// struct Weekly {
///     /// How many days back
///     days: Option<u32>,
/// }
///
/// impl Prompt<()> for Weekly {
///     type Needs = ();
///
///     async fn get(self, _: &(), _: Client) -> Result<Vec<PromptMessage>, Failure> {
///         Ok(vec![said(Role::User, format!("Summarise the last {} days.", self.days.unwrap_or(7)))])
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prompt of a server with the state `{S}`",
    note = "write `impl Prompt<{S}> for {Self}`, and derive `Deserialize` and `JsonSchema` for it"
)]
pub trait Prompt<S: Sync>: DeserializeOwned + JsonSchema + Send + 'static {
    /// What the prompt needs of the client. Clients that cannot do it do not see the prompt.
    type Needs: Needs;

    /// The name of the prompt; otherwise that of the type, as `weekly` of `Weekly`.
    const NAME: Option<&'static str> = None;

    /// The messages of the prompt, with its arguments filled in.
    fn get(
        self,
        state: &S,
        client: Client<Self::Needs>,
    ) -> impl Future<Output = Result<Vec<PromptMessage>, Failure>> + Send;

    /// What the messages are for with these arguments, which clients get together with the messages. Without it
    /// they get the documentation of the type.
    fn description(&self) -> Option<String> {
        None
    }

    /// What else clients get of the prompt, such as a title or icons: returns the prompt, whose name, description and
    /// arguments are filled in.
    fn describe(prompt: types::Prompt) -> types::Prompt {
        prompt
    }

    /// Suggests values for an argument of which the user has typed a part.
    fn complete(
        state: &S,
        context: &Context,
        typed: &Typed,
    ) -> impl Future<Output = Result<Suggestions, Failure>> + Send {
        let _ = (state, context, typed);
        std::future::ready(Ok(Suggestions::default()))
    }
}

/// A message with one text.
pub fn said(role: Role, text: impl Into<String>) -> PromptMessage {
    PromptMessage::new(role, TextContent::new(text))
}

type Got = Result<GetPromptResult, RpcError>;

/// Suggests values for an argument.
pub(crate) type Complete<S> =
    Box<dyn Fn(Arc<S>, Context, Typed) -> BoxFuture<'static, Completed> + Send + Sync>;

type Completed = Result<Suggestions, Failure>;

/// A prompt that a server has.
pub(crate) struct PromptEntry<S> {
    pub(crate) prompt: types::Prompt,
    are_met: fn(&ClientCapabilities) -> bool,
    #[expect(clippy::type_complexity, reason = "it is called in one place")]
    get: Box<dyn Fn(Arc<S>, Asker, Changes, GetPromptParams) -> BoxFuture<'static, Got> + Send + Sync>,
    pub(crate) complete: Complete<S>,
}

impl<S: Send + Sync + 'static> PromptEntry<S> {
    /// A type that is a prompt.
    pub(crate) fn of<P: Prompt<S>>() -> Result<PromptEntry<S>, Problem> {
        let name = P::NAME.map_or_else(name_of::<P>, str::to_owned);
        let get = |arguments: P, state: Arc<S>, client| async move { arguments.get(&state, client).await };
        let entry = PromptEntry::new::<P, P::Needs, _, _>(name, description_of::<P>(), P::description, get)?;
        let complete: Complete<S> = Box::new(|state, context, typed| {
            Box::pin(async move { P::complete(&state, &context, &typed).await })
        });
        Ok(PromptEntry { complete, prompt: P::describe(entry.prompt), ..entry })
    }

    /// A function that is a prompt, and suggests nothing. A result has the description that `describe` makes of its
    /// arguments, otherwise that of the prompt.
    pub(crate) fn new<T, N, G, F>(
        name: String,
        description: Option<String>,
        describe: fn(&T) -> Option<String>,
        get: G,
    ) -> Result<PromptEntry<S>, Problem>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
        N: Needs,
        G: Fn(T, Arc<S>, Client<N>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Vec<PromptMessage>, Failure>> + Send + 'static,
    {
        let schema = arguments_of::<T>().ok_or_else(|| Problem::NoObject { name: name.clone() })?;
        let mut prompt = types::Prompt::new(name);
        prompt.description.clone_from(&description);
        prompt.arguments = arguments(&schema);
        let get = Arc::new(get);
        Ok(PromptEntry {
            prompt,
            are_met: N::are_met,
            get: Box::new(move |state, asker, changes, params| {
                let (get, description) = (Arc::clone(&get), description.clone());
                Box::pin(async move {
                    let given = params.arguments.unwrap_or_default();
                    let wrong = |error| RpcError::invalid_params(wrong_arguments(&params.name, &error));
                    let arguments: T = from_texts(given).map_err(wrong)?;
                    let description = describe(&arguments).or(description);
                    let messages = get(arguments, state, Client::new(asker, changes)).await;
                    let mut result = GetPromptResult::new(messages.map_err(refusal)?);
                    result.description = description;
                    Ok(result)
                })
            }),
            complete: Box::new(|_, _, _| Box::pin(std::future::ready(Ok(Suggestions::default())))),
        })
    }

    /// Whether a client can do what the prompt needs.
    pub(crate) fn is_for(&self, client: &ClientCapabilities) -> bool {
        (self.are_met)(client)
    }

    /// Fills the prompt in.
    pub(crate) async fn get(
        &self,
        state: Arc<S>,
        asker: Asker,
        changes: Changes,
        params: GetPromptParams,
    ) -> Got {
        (self.get)(state, asker, changes, params).await
    }
}

/// The arguments of a prompt, as clients list them.
fn arguments(schema: &ObjectSchema) -> Option<Vec<PromptArgument>> {
    let properties = schema.properties.as_ref()?;
    let argument = |(name, property): (&String, &types::MemberSchema)| {
        let mut argument = PromptArgument::new(name);
        if let types::MemberSchema::Object(property) = property {
            argument.description = property.get("description").and_then(Value::as_str).map(str::to_owned);
        }
        argument.required(schema.required.iter().flatten().any(|required| required == name))
    };
    Some(properties.iter().map(argument).collect())
}

/// A value of a type from the texts of its fields: where it has a number, the text is one.
pub(crate) fn from_texts<T: DeserializeOwned + JsonSchema>(
    texts: BTreeMap<String, String>,
) -> Result<T, Misfit> {
    let value = |name: &str, text: String| match kind_of::<T>(name).as_deref() {
        Some("integer" | "number" | "boolean") => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        _ => Value::String(text),
    };
    read(texts.into_iter().map(|(name, text)| (name.clone(), value(&name, text))).collect())
}
