//! A proxy: a server of both eras that forwards calls to another one, whose questions its own clients answer.

use std::sync::Arc;

use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Asker, Client, Connector, Context, Era, Handler, Offer, Server};
use mcp_protocols::rounds::{Round, RoundsError, User};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, RpcError};
use test_support::script::guarded;

use super::server;

/// Says that it has this name.
struct Named(&'static str);

impl User for Named {
    async fn elicit(&self, _: ElicitParams) -> Result<ElicitResult, RpcError> {
        Ok(name(self.0))
    }
}

fn name(name: &str) -> ElicitResult {
    ElicitResult::new(ElicitAction::Accept).content([("name".to_owned(), FieldValue::from(name))])
}

/// A client of the example's server.
async fn connect(era: Era, name: &'static str) -> Client<Named> {
    let (near, far) = duplex();
    test_support::spawn(async move { server::server().unwrap().serve(far).await });
    connect_over(near, era, name).await
}

async fn connect_over(near: mcp_runtime::transport::Duplex, era: Era, name: &'static str) -> Client<Named> {
    let can = ClientCapabilities::new().elicitation(ElicitationCapability::new());
    Connector::new(Implementation::new("client", "1"), can, Named(name)).era(era).connect(near).await.unwrap()
}

/// Forwards everything.
struct Proxy(Client<Named>);

impl Handler for Proxy {
    fn offer(&self) -> Offer {
        self.0.offer().clone()
    }

    async fn list_tools(&self, _: Context, mut params: PaginatedParams) -> Result<ListToolsResult, RpcError> {
        params.meta = self.0.meta();
        Ok(self.0.list_tools(params).await?)
    }

    async fn call_tool(
        &self,
        asker: Asker,
        params: CallToolParams,
    ) -> Result<Round<CallToolResult>, RpcError> {
        let call = CallToolParams::new(params.name, self.0.meta());
        let called =
            self.0.call_tool(call.arguments(params.arguments.unwrap_or_default())).answered_by(asker);
        Ok(called.await?.into())
    }
}

async fn greet(client: &Client<Named>) -> String {
    let greeted = client.call_tool(CallToolParams::new("greet", client.meta())).await.unwrap();
    greeted.first_text().unwrap().to_owned()
}

const ERAS: [Era; 2] = [Era::Handshake, Era::Requests];

#[tokio::test]
async fn the_clients_of_a_proxy_answer_what_the_server_behind_it_asks() {
    guarded(async {
        for behind in ERAS {
            let proxy = Server::new(Proxy(connect(behind, "proxy").await));
            for before in ERAS {
                for name in ["Ada", "Bo"] {
                    let (near, far) = duplex();
                    let proxy = proxy.clone();
                    test_support::spawn(async move { proxy.serve(far).await });
                    let client = connect_over(near, before, name).await;
                    assert_eq!(
                        greet(&client).await,
                        format!("Hello, {name}!"),
                        "{before:?} before {behind:?}"
                    );
                    let tools = client.list_tools(PaginatedParams::new(client.meta())).await.unwrap();
                    assert_eq!(tools.tools[0].name, "greet");
                    let unknown = client.call_tool(CallToolParams::new("sing", client.meta())).await;
                    let RoundsError::Call(Error::Refused(error)) = unknown.unwrap_err() else { panic!() };
                    assert_eq!(error.message, "there is no tool `sing`");
                }
            }
        }
    })
    .await;
}

/// Has the client greeted once more before it answers.
struct Nested(Arc<Client<Named>>, Era);

impl User for Nested {
    async fn elicit(&self, _: ElicitParams) -> Result<ElicitResult, RpcError> {
        let Nested(client, era) = self;
        let inner = client.call_tool(CallToolParams::new("greet", client.meta())).answered_by(Named("inner"));
        let greeted = inner.await.unwrap();
        // A session does not say which of two calls it asks about.
        let who = if *era == Era::Handshake { "own" } else { "inner" };
        assert_eq!(greeted.first_text(), Some(&*format!("Hello, {who}!")));
        Ok(name("outer"))
    }
}

#[tokio::test]
async fn of_several_calls_of_a_session_the_client_itself_answers() {
    guarded(async {
        for era in ERAS {
            let client = Arc::new(connect(era, "own").await);
            let params = CallToolParams::new("greet", client.meta());
            let outer = client.call_tool(params).answered_by(Nested(Arc::clone(&client), era)).await.unwrap();
            assert_eq!(outer.first_text(), Some("Hello, outer!"));
            // Nothing is left of calls that are over.
            assert_eq!(greet(&client).await, "Hello, own!");
        }
    })
    .await;
}
