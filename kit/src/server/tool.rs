//! [`Tool`]: a type of arguments, and what is done with them.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{CallToolParams, CallToolResult, ClientCapabilities, MissingCapabilityData};
use mcp_protocols::eras::{Asker, Changes, types};
use mcp_runtime::RpcError;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::super::failure::{self, Failure, failed};
use super::super::schema::{Misfit, arguments_of, description_of, name_of, read};
use super::client::Client;
use super::needs::Needs;
use super::output::Output;
use super::problem::Problem;

/// A tool of a server with the state `S`: its arguments are the fields of the type, and its description is the documentation
/// of the type.
///
/// ```
/// use mcp_kit::{Client, Failure, Tool};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Divides a number by another one
/// #[derive(Deserialize, JsonSchema)]
/// struct Divide {
///     number: f64,
///     /// Must not be zero
///     by: f64,
/// }
///
/// impl Tool<()> for Divide {
///     type Needs = ();
///     type Output = String;
///
///     async fn run(self, _: &(), _: Client) -> Result<String, Failure> {
///         if self.by == 0.0 {
///             return Err("zero divides nothing".into());
///         }
///         Ok((self.number / self.by).to_string())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool of a server with the state `{S}`",
    note = "write `impl Tool<{S}> for {Self}`, and derive `Deserialize` and `JsonSchema` for it"
)]
pub trait Tool<S>: DeserializeOwned + JsonSchema + Send + 'static {
    /// What the tool needs of the client. Clients that cannot do it do not see the tool.
    type Needs: Needs;

    /// What the tool returns.
    type Output: Output;

    /// The name of the tool; otherwise that of the type, as `add_note` of `AddNote`.
    const NAME: Option<&'static str> = None;

    /// What else clients get of the tool, such as a title, annotations or icons: returns the tool, whose name, description and
    /// schemas are filled in.
    fn describe(tool: types::Tool) -> types::Tool {
        tool
    }

    /// Does what the tool does.
    fn run(
        self,
        state: &S,
        client: Client<Self::Needs>,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// The error of a call that needs what the client cannot do.
const MISSING_CAPABILITY: i64 = -32021;

/// A tool that a server has.
pub(crate) struct ToolEntry<S> {
    pub(crate) tool: types::Tool,
    are_met: fn(&ClientCapabilities) -> bool,
    needs: fn() -> ClientCapabilities,
    #[expect(clippy::type_complexity, reason = "it is called in one place")]
    call: Box<dyn Fn(Arc<S>, Asker, Changes, CallToolParams) -> BoxFuture<'static, Called> + Send + Sync>,
}

type Called = Result<CallToolResult, RpcError>;

impl<S: Send + Sync + 'static> ToolEntry<S> {
    /// A type that is a tool.
    pub(crate) fn of<T: Tool<S>>() -> Result<ToolEntry<S>, Problem> {
        let name = T::NAME.map_or_else(name_of::<T>, str::to_owned);
        let run = |arguments: T, state: Arc<S>, client| async move { arguments.run(&state, client).await };
        let mut entry = ToolEntry::new::<T, T::Needs, T::Output, _, _>(name, description_of::<T>(), run)?;
        entry.tool = T::describe(entry.tool);
        Ok(entry)
    }

    /// A function that is a tool.
    pub(crate) fn new<T, N, O, R, F>(
        name: String,
        description: Option<String>,
        run: R,
    ) -> Result<ToolEntry<S>, Problem>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
        N: Needs,
        O: Output,
        R: Fn(T, Arc<S>, Client<N>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        let schema = arguments_of::<T>().ok_or_else(|| Problem::NoObject { name: name.clone() })?;
        let mut tool = types::Tool::new(name, schema);
        tool.description = description;
        tool.output_schema = O::schema();
        let run = Arc::new(run);
        Ok(ToolEntry {
            tool,
            are_met: N::are_met,
            needs: N::capabilities,
            call: Box::new(move |state, asker, changes, params| {
                let run = Arc::clone(&run);
                Box::pin(async move {
                    let arguments = match read::<T>(params.arguments.clone().unwrap_or_default()) {
                        Ok(arguments) => arguments,
                        Err(error) => return wrong_arguments(&params, &error),
                    };
                    match run(arguments, state, Client::new(asker, changes)).await {
                        Ok(output) => output.into_result(),
                        Err(failure) => failed(failure),
                    }
                })
            }),
        })
    }

    /// Whether a client can do what the tool needs.
    pub(crate) fn is_for(&self, client: &ClientCapabilities) -> bool {
        (self.are_met)(client)
    }

    /// Calls the tool.
    pub(crate) async fn call(
        &self,
        state: Arc<S>,
        asker: Asker,
        changes: Changes,
        params: CallToolParams,
    ) -> Called {
        if !self.is_for(&params.meta.client_capabilities) {
            let error = format!("the tool `{}` needs what the client cannot do", self.tool.name);
            let error = RpcError::new(MISSING_CAPABILITY, error);
            let data = serde_json::to_value(MissingCapabilityData::new((self.needs)()));
            return Err(data.map(|data| error.clone().with_data(data)).unwrap_or(error));
        }
        (self.call)(state, asker, changes, params).await
    }
}

/// From 2025-11-25 on the model reads what is wrong with its arguments; before, that was an error of the request.
fn wrong_arguments(params: &CallToolParams, error: &Misfit) -> Called {
    let text = failure::wrong_arguments(&params.name, error);
    match &*params.meta.protocol_version < "2025-11-25" {
        true => Err(RpcError::invalid_params(text)),
        false => Ok(CallToolResult::error(text)),
    }
}
