//! A server in front of another one: its clients hear of what changes behind it, and get suggestions from there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::sync::Arc;

use mcp_kit::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ERAS;

const NOTE: &str = "notes://1";

/// A note
#[derive(Deserialize, JsonSchema)]
struct Note {
    id: u32,
}

impl Resource<()> for Note {
    const URI: &'static str = "notes://{id}";
    type Needs = ();

    async fn read(self, _: &(), uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, "buy milk"))
    }

    async fn watch(self, _: &(), _: &Context) -> Result<(), Failure> {
        if self.id < 7 { Ok(()) } else { Err("it does not change".into()) }
    }

    async fn complete(_: &(), _: &Context, typed: &Typed) -> Result<Suggestions, Failure> {
        let others = typed.others.iter().map(|(name, value)| format!("{name}={value}"));
        let values: Suggestions =
            [typed.argument.clone(), typed.text.clone()].into_iter().chain(others).collect();
        Ok(values.of_total(340))
    }
}

struct Gateway {
    behind: Arc<Connection>,
    changes: Changes,
}

impl Resources<Gateway> for Gateway {
    async fn list(gateway: &Gateway, _: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        Ok(gateway.behind.resources().await?.into())
    }

    async fn read(
        gateway: &Gateway,
        uri: &str,
        client: Client,
    ) -> Result<Option<Vec<ResourceContents>>, Failure> {
        Ok(Some(gateway.behind.pass_on_read(uri, &client).await?))
    }

    async fn watch(gateway: &Gateway, _: &Context, uri: &str) -> Result<bool, Failure> {
        gateway.behind.pass_on_watch(uri, &gateway.changes).await?;
        Ok(true)
    }

    async fn complete(
        gateway: &Gateway,
        _: &Context,
        template: &str,
        typed: &Typed,
    ) -> Result<Option<Suggestions>, Failure> {
        let template = ResourceTemplateReference::new(template);
        Ok(Some(gateway.behind.pass_on_completion(template, typed).await?))
    }
}

fn options(era: Era) -> ConnectOptions {
    ConnectOptions::new("test", "1").era(era)
}

/// What notifies of changes behind a gateway, and two of the gateway's clients.
async fn gateway(before: Era, behind_it: Era) -> (Changes, [Connection; 2]) {
    let (near, far) = duplex();
    let server = Server::new("behind", "1", ()).resource::<Note>();
    let changed = server.changes();
    tokio::spawn(server.serve(far));
    let behind = Arc::new(options(behind_it).connect(near).await.unwrap());
    let changes = Changes::new();
    let own = changes.clone();
    let passing = Arc::clone(&behind);
    tokio::spawn(async move { passing.pass_on_changes(&own).await.unwrap() });
    let gateway = Server::new("gateway", "1", Gateway { behind, changes: changes.clone() });
    let gateway = gateway.with_changes(changes).resources::<Gateway>().finish().unwrap();
    let mut clients = Vec::new();
    for _ in 0..2 {
        let (near, far) = duplex();
        let gateway = gateway.clone();
        tokio::spawn(async move { gateway.serve(far).await });
        clients.push(options(before).connect(near).await.unwrap());
    }
    (changed, clients.try_into().unwrap())
}

#[tokio::test]
async fn clients_hear_once_of_each_change_of_a_resource_behind_as_long_as_they_are_subscribed() {
    for (before, behind) in ERAS {
        let (changed, [first, second]) = gateway(before, behind).await;
        let mut of_first = first.subscribe([NOTE]).await.unwrap();
        let mut of_second = second.subscribe([NOTE, "notes://2"]).await.unwrap();
        changed.resource(NOTE);
        changed.resource("notes://2");
        assert_eq!(of_first.next().await.unwrap().unwrap(), NOTE, "{before:?} {behind:?}");
        for uri in [NOTE, "notes://2"] {
            assert_eq!(of_second.next().await.unwrap().unwrap(), uri, "{before:?} {behind:?}");
        }
        // One that leaves takes nothing from the other.
        drop(of_second);
        changed.unwatched("notes://2").await;
        changed.resource(NOTE);
        assert_eq!(of_first.next().await.unwrap().unwrap(), NOTE, "{before:?} {behind:?}");
        drop(of_first);
        changed.unwatched(NOTE).await;
        let mut again = second.subscribe([NOTE]).await.unwrap();
        changed.resource(NOTE);
        assert_eq!(again.next().await.unwrap().unwrap(), NOTE, "{before:?} {behind:?}");
        let refused = first.subscribe(["notes://7"]).await.unwrap_err();
        assert!(refused.is_refused(), "{before:?} {behind:?}: {refused}");
    }
}

#[tokio::test]
async fn clients_hear_of_lists_that_change_behind() {
    for (before, behind) in ERAS {
        let (changed, [client, _]) = gateway(before, behind).await;
        let mut resources = client.live_resources().await.unwrap();
        // The gateway may not have begun to pass changes on.
        let changes = async {
            loop {
                changed.resources();
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            heard = resources.changed() => assert!(heard.unwrap().is_some(), "{before:?} {behind:?}"),
            () = changes => {}
        }
    }
}

#[tokio::test]
async fn what_is_typed_is_completed_behind() {
    for (before, behind) in ERAS {
        let (_changed, [client, _]) = gateway(before, behind).await;
        let template = ResourceTemplateReference::new("notes://{id}");
        let params =
            CompleteParams::new(template, CompletionArgument::new("id", "1"), client.client().meta());
        let others = CompletionContext::new().arguments([("year".to_owned(), "2026".to_owned())]);
        let completion = client.client().complete(params.context(others)).await.unwrap().completion;
        assert_eq!(completion.values, ["id", "1", "year=2026"], "{before:?} {behind:?}");
        assert_eq!((completion.total, completion.has_more), (Some(340), Some(true)), "{before:?} {behind:?}");
    }
}

#[tokio::test]
async fn a_connection_says_when_it_is_gone() {
    for era in [Era::Handshake, Era::Requests] {
        let (near, far) = duplex();
        let serving = tokio::spawn(Server::new("behind", "1", ()).resource::<Note>().serve(far));
        let connection = options(era).connect(near).await.unwrap();
        tokio::select! {
            biased;
            () = connection.ended() => panic!("{era:?}: it is there"),
            note = connection.read_text(NOTE) => assert_eq!(note.unwrap(), "buy milk"),
        }
        serving.abort();
        connection.ended().await;
        assert!(connection.read_text(NOTE).await.is_err());
    }
}
