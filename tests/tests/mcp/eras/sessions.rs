//! What a server of both eras does in a session, and a client of both in one: questions, the log, changes.

use std::sync::{Arc, Mutex};

use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Asker, Change, Changes, Client, Connector, Era, Handler, Offer, Server};
use mcp_protocols::rounds::{AskError, Round, User};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, RpcError};
use test_support::script::guarded;

/// A server whose tools ask for everything.
struct Asking {
    changes: Changes,
    offers_changes: bool,
}

impl Handler for Asking {
    fn offer(&self) -> Offer {
        let (tools, resources) = (ToolsCapability::new(), ResourcesCapability::new());
        let can = ServerCapabilities::new()
            .tools(tools.list_changed(self.offers_changes))
            .resources(resources.subscribe(self.offers_changes))
            .logging(Object::new());
        Offer::new(Implementation::new("asking", "1"), can)
    }

    async fn call_tool(
        &self,
        asker: Asker,
        params: CallToolParams,
    ) -> Result<Round<CallToolResult>, RpcError> {
        let text = match &*params.name {
            "url" => {
                let answer = asker.elicit(ElicitUrlParams::new("Log in", "https://example.org")).await?;
                answer.action.to_string()
            }
            "model" => {
                let question = SamplingMessage::new(Role::User, TextContent::new("why?"));
                let answer = asker.create_message(CreateMessageParams::new([question], 10)).await?;
                format!("{}: {}", answer.model, answer.content.first_text().unwrap_or_default())
            }
            "roots" => {
                let roots = asker.list_roots().await?.roots;
                roots.into_iter().map(|root| root.uri).collect()
            }
            "several" => {
                let form = FormSchema::new([]).required_field("name", StringSchema::new());
                let form = ElicitInput::new(ElicitFormParams::new("who?", form));
                let questions =
                    [("a".to_owned(), form.into()), ("b".to_owned(), ListRootsInput::new().into())];
                let answers = asker.ask(questions).await?;
                answers.into_keys().collect()
            }
            "refused" => match asker.list_roots().await {
                Err(AskError::Refused { error, .. }) => format!("refused: {}", error.code),
                other => format!("{other:?}"),
            },
            "forever" => {
                let asked = InputRequiredResult::new().request_state("on and on");
                return Ok(Round::InputRequired(asked));
            }
            "log" => {
                for level in [LoggingLevel::Debug, LoggingLevel::Warning, LoggingLevel::Error] {
                    let line = LoggingMessageParams::new(level, level.to_string());
                    asker
                        .context()
                        .log(line)
                        .await
                        .map_err(|error| RpcError::internal_error(error.to_string()))?;
                }
                format!("{:?} {}", asker.context().era(), asker.context().meta().protocol_version)
            }
            "change" => {
                self.changes.tools();
                self.changes.resource("a");
                self.changes.resource("b");
                "changed".to_owned()
            }
            "end" => {
                self.changes.end();
                "ended".to_owned()
            }
            "number" => {
                return Ok(CallToolResult::text("7").structured_content(7).into());
            }
            other => return Err(RpcError::invalid_params(other)),
        };
        Ok(CallToolResult::text(text).into())
    }
}

struct Bo {
    refuses_roots: bool,
}

impl User for Bo {
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        match params {
            ElicitParams::Url(page) => assert_eq!(page.url, "https://example.org"),
            ElicitParams::Form(form) => assert_eq!(form.message, "who?"),
            other => panic!("{other:?}"),
        }
        Ok(ElicitResult::new(ElicitAction::Cancel))
    }

    async fn create_message(&self, params: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        assert_eq!(params.messages[0].content.first_text(), Some("why?"));
        Ok(CreateMessageResult::new(Role::Assistant, TextContent::new("because"), "model"))
    }

    async fn list_roots(&self) -> Result<ListRootsResult, RpcError> {
        match self.refuses_roots {
            true => Err(RpcError::new(-1, "no")),
            false => Ok(ListRootsResult::new([Root::new("file:///home")])),
        }
    }
}

fn can_all() -> ClientCapabilities {
    ClientCapabilities::new()
        .roots(Object::new())
        .sampling(SamplingCapability::new())
        .elicitation(ElicitationCapability::new().form(Object::new()).url(Object::new()))
}

struct Setting {
    can: ClientCapabilities,
    refuses_roots: bool,
    offers_changes: bool,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { can: can_all(), refuses_roots: false, offers_changes: true }
    }
}

/// A client of a server that asks, and what the server's log says.
async fn connected(era: Era, setting: Setting) -> (Client<Bo>, Arc<Mutex<Vec<String>>>) {
    let (near, far) = duplex();
    let changes = Changes::new();
    let handler = Asking { changes: changes.clone(), offers_changes: setting.offers_changes };
    test_support::spawn(async move { Server::new(handler).with_changes(changes).serve(far).await });
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = log.clone();
    let user = Bo { refuses_roots: setting.refuses_roots };
    let connector = Connector::new(Implementation::new("bo", "1"), setting.can, user)
        .on_log(LoggingLevel::Warning, move |line| lines.lock().unwrap().push(line.data.to_string()));
    (connector.era(era).connect(near).await.unwrap(), log)
}

async fn call(client: &Client<Bo>, tool: &str) -> String {
    match client.call_tool(CallToolParams::new(tool, client.meta())).await {
        Ok(result) => result.first_text().unwrap_or_default().to_owned(),
        Err(error) => error.to_string(),
    }
}

const ERAS: [Era; 2] = [Era::Requests, Era::Handshake];

#[tokio::test]
async fn a_handler_asks_for_everything_in_both_eras() {
    guarded(async {
        for era in ERAS {
            let (client, _) = connected(era, Setting::default()).await;
            assert_eq!(call(&client, "url").await, "cancel");
            assert_eq!(call(&client, "model").await, "model: because");
            assert_eq!(call(&client, "roots").await, "file:///home");
            assert_eq!(call(&client, "several").await, "ab");
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_cannot_answer_is_not_asked() {
    guarded(async {
        for era in ERAS {
            let (client, _) =
                connected(era, Setting { can: ClientCapabilities::new(), ..Setting::default() }).await;
            for tool in ["url", "model", "roots", "several"] {
                let error = client.call_tool(CallToolParams::new(tool, client.meta())).await.unwrap_err();
                let mcp_protocols::rounds::RoundsError::Call(Error::Refused(error)) = error else {
                    panic!("{error:?}")
                };
                assert_eq!(error.code, -32021, "{tool}: {error}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_refusal_of_the_user_reaches_the_handler_of_a_session() {
    guarded(async {
        let setting = || Setting { refuses_roots: true, ..Setting::default() };
        let (client, _) = connected(Era::Handshake, setting()).await;
        assert_eq!(call(&client, "refused").await, "refused: -1");
        // Without a session, a client that refuses does not come back.
        let (client, _) = connected(Era::Requests, setting()).await;
        assert!(call(&client, "refused").await.contains("`input` has no answer"));
    })
    .await;
}

#[tokio::test]
async fn a_handler_that_never_stops_asking_is_stopped() {
    guarded(async {
        let (client, _) = connected(Era::Handshake, Setting::default()).await;
        assert!(call(&client, "forever").await.contains("still asks after 16 rounds"));
        // Its state is not sealed, and it has not said that it opens any.
        let (client, _) = connected(Era::Requests, Setting::default()).await;
        assert!(call(&client, "forever").await.contains("no call waits for this `requestState`: it is over"));
    })
    .await;
}

#[tokio::test]
async fn the_log_begins_at_the_level_that_the_client_wants() {
    guarded(async {
        for (era, told) in [(Era::Requests, "Requests 2026-07-28"), (Era::Handshake, "Handshake 2025-11-25")]
        {
            let (client, log) = connected(era, Setting::default()).await;
            assert_eq!(call(&client, "log").await, told);
            // Each line was sent before the result, and a second call has ended after the handlers of the lines.
            assert_eq!(call(&client, "log").await, told);
            assert_eq!(log.lock().unwrap()[..2], ["\"warning\"", "\"error\""], "{era:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_hears_of_what_it_wants_and_the_server_offers() {
    guarded(async {
        for era in ERAS {
            let (client, _) = connected(era, Setting::default()).await;
            let wanted = SubscriptionFilter::new()
                .tools_list_changed(true)
                .prompts_list_changed(true)
                .resource_subscriptions(["b"]);
            let mut listening = client.listen(wanted.clone()).await.unwrap();
            let heard = listening.heard();
            assert_eq!((heard.tools_list_changed, heard.prompts_list_changed), (Some(true), None));
            assert_eq!(call(&client, "change").await, "changed");
            let mut changes = [listening.next().await.unwrap(), listening.next().await.unwrap()];
            changes.sort_by_key(|change| format!("{change:?}"));
            assert_eq!(changes, [Change::Resource("b".to_owned()), Change::Tools], "{era:?}");
            // A second one, after the first has ended, gets what comes from then on.
            drop(listening);
            let mut listening = client.listen(wanted).await.unwrap();
            assert_eq!(call(&client, "change").await, "changed");
            assert!(listening.next().await.is_some());

            let (client, _) = connected(era, Setting { offers_changes: false, ..Setting::default() }).await;
            let wanted = SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(["b"]);
            let listening = client.listen(wanted).await.unwrap();
            assert_eq!(*listening.heard(), SubscriptionFilter::new(), "{era:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn who_listens_learns_of_the_end() {
    guarded(async {
        // The server ends its subscriptions.
        let (client, _) = connected(Era::Requests, Setting::default()).await;
        let mut listening = client.listen(SubscriptionFilter::new().tools_list_changed(true)).await.unwrap();
        assert_eq!(call(&client, "end").await, "ended");
        assert_eq!(listening.next().await, None);
        // The connection ends.
        for era in ERAS {
            let (client, _) = connected(era, Setting::default()).await;
            let wanted = SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(["b"]);
            let mut listening = client.listen(wanted).await.unwrap();
            client.close().await.unwrap();
            assert_eq!(listening.next().await, None, "{era:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_an_older_revision_cannot_say_is_left_out() {
    guarded(async {
        let (client, _) = connected(Era::Requests, Setting::default()).await;
        let result = client.call_tool(CallToolParams::new("number", client.meta())).await.unwrap();
        assert_eq!(result.structured_content, Some(7.into()));
        let (client, _) = connected(Era::Handshake, Setting::default()).await;
        let result = client.call_tool(CallToolParams::new("number", client.meta())).await.unwrap();
        assert_eq!((result.structured_content.as_ref(), result.first_text()), (None, Some("7")));
    })
    .await;
}

#[tokio::test]
async fn what_the_handler_does_not_do_is_not_found() {
    guarded(async {
        for era in ERAS {
            let (client, _) = connected(era, Setting::default()).await;
            let error = client.list_tools(PaginatedParams::new(client.meta())).await.unwrap_err();
            assert!(matches!(&error, Error::Refused(error) if error.code == -32601), "{error:?}");
        }
    })
    .await;
}
