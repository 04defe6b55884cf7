//! A gateway that joins whole servers: their prompts and resources are known only while it runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_kit::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Greets someone in a language
#[derive(Deserialize, JsonSchema)]
struct Greet {
    language: String,
}

impl Prompt<()> for Greet {
    type Needs = User;

    async fn get(self, _: &(), client: Client<User>) -> Result<Vec<PromptMessage>, Failure> {
        let name = client.ask::<Name>("Who?").await?.accepted().ok_or("nothing was said")?.name;
        Ok(vec![said(Role::User, format!("Greet {name} in {}.", self.language))])
    }

    async fn complete(_: &(), _: &Context, typed: &Typed) -> Result<Suggestions, Failure> {
        Ok(vec![format!("{}erman", typed.text)].into())
    }
}

/// A leaf
#[derive(Deserialize, JsonSchema)]
struct Leaf {
    id: u8,
}

impl Resource<()> for Leaf {
    const URI: &'static str = "leaf://{id}";
    type Needs = ();

    async fn read(self, (): &(), uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        match self.id {
            7 => Err("the leaf is wet".into()),
            id => Ok(text_at(uri, format!("leaf {id}"))),
        }
    }

    async fn list((): &(), _: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        Ok([("leaf://1", "one"), ("own://1", "two")]
            .map(|(uri, name)| types::Resource::new(uri, name))
            .into_iter()
            .collect())
    }

    async fn complete((): &(), _: &Context, _: &Typed) -> Result<Suggestions, Failure> {
        Ok(["1"].into_iter().collect())
    }
}

/// The server behind.
struct Behind(Connection);

impl Prompts<Behind> for Behind {
    async fn list(behind: &Behind, _: &ListRequest) -> Result<Page<types::Prompt>, Failure> {
        Ok(behind.0.prompts().await?.into())
    }

    async fn get(
        behind: &Behind,
        name: &str,
        arguments: BTreeMap<String, String>,
        client: Client,
    ) -> Result<Option<GetPromptResult>, Failure> {
        match name {
            "other" => Ok(None),
            name => Ok(Some(behind.0.pass_on_prompt(name, arguments, &client).await?)),
        }
    }

    async fn complete(
        behind: &Behind,
        _: &Context,
        name: &str,
        typed: &Typed,
    ) -> Result<Option<Suggestions>, Failure> {
        match name {
            "greet" => Ok(Some(behind.0.complete_prompt(name, &typed.argument, &typed.text).await?.into())),
            _ => Ok(None),
        }
    }
}

impl Resources<Behind> for Behind {
    async fn list(behind: &Behind, _: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        Ok(behind.0.resources().await?.into())
    }

    async fn templates(behind: &Behind, _: &Context) -> Result<Vec<ResourceTemplate>, Failure> {
        Ok(behind.0.resource_templates().await?)
    }

    async fn read(
        behind: &Behind,
        uri: &str,
        client: Client,
    ) -> Result<Option<Vec<ResourceContents>>, Failure> {
        match uri.starts_with("leaf://") {
            true => Ok(Some(behind.0.pass_on_read(uri, &client).await?)),
            false => Ok(None),
        }
    }

    async fn watch(_: &Behind, _: &Context, uri: &str) -> Result<bool, Failure> {
        Ok(uri.starts_with("leaf://"))
    }

    async fn complete(
        behind: &Behind,
        _: &Context,
        template: &str,
        typed: &Typed,
    ) -> Result<Option<Suggestions>, Failure> {
        match template {
            "leaf://{id}" => {
                Ok(Some(behind.0.complete_resource(template, &typed.argument, &typed.text).await?.into()))
            }
            _ => Ok(None),
        }
    }
}

/// What the gateway has itself
#[derive(Deserialize, JsonSchema)]
struct Own {
    id: String,
}

impl Resource<Behind> for Own {
    const URI: &'static str = "own://{id}";
    type Needs = ();

    async fn read(self, _: &Behind, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, format!("own {}", self.id)))
    }
}

fn asks(name: &'static str, era: Era) -> ConnectOptions {
    ConnectOptions::new("test", "1")
        .era(era)
        .on_form(move |_| async move { Ok(Answer::Accepted(Name { name: name.to_owned() })) })
}

/// A client of a gateway in front of a server, both spoken to in this era; and the changes of the gateway.
async fn joined(era: Era) -> (Changes, Connection) {
    let (near, far) = duplex();
    tokio::spawn(Server::new("behind", "1", ()).prompt::<Greet>().resource::<Leaf>().serve(far));
    let behind = Behind(asks("gateway", era).connect(near).await.unwrap());
    let gateway = Server::new("gateway", "1", behind)
        .prompts::<Behind>()
        .resources::<Behind>()
        .resource::<Own>()
        .prompt_named("own", "Its own", |(), _, _: Client| async move { Ok(vec![said(Role::User, "own")]) });
    let changes = gateway.changes();
    let (near, far) = duplex();
    tokio::spawn(gateway.serve(far));
    (changes, asks("Ada", era).connect(near).await.unwrap())
}

const ERAS: [Era; 2] = [Era::Handshake, Era::Requests];

fn refused<E: std::error::Error + Into<mcp_kit::RoundsError>>(error: E) -> RpcError {
    let error: mcp_kit::RoundsError = error.into();
    match error.call_error() {
        Some(Error::Refused(error)) => error.clone(),
        _ => panic!("{error}"),
    }
}

#[tokio::test]
async fn prompts_are_listed_filled_in_and_completed() {
    for era in ERAS {
        let (_, client) = joined(era).await;
        let names: Vec<_> = client.prompts().await.unwrap().into_iter().map(|prompt| prompt.name).collect();
        assert_eq!(names, ["own", "greet"], "{era:?}");
        for (name, text) in [("own", "own"), ("greet", "Greet Ada in Latin.")] {
            let got = client.prompt(name, [("language", "Latin")]).await.unwrap();
            assert_eq!(got.messages, [said(Role::User, text)], "{era:?}");
        }
        assert_eq!(client.complete_prompt("greet", "language", "G").await.unwrap(), ["German"]);
        // Whether it is there only the list says.
        assert!(client.complete_prompt("other", "language", "G").await.unwrap().is_empty());
        let error = refused(client.prompt("other", [("language", "Latin")]).await.unwrap_err());
        assert_eq!(
            (error.code, &*error.message),
            (RpcError::INVALID_PARAMS, "there is no prompt `other`"),
            "{era:?}"
        );
        // What is refused behind it is refused as it was there.
        let error = refused(client.prompt("sing", [("language", "Latin")]).await.unwrap_err());
        assert_eq!(error.message, "there is no prompt `sing`");
    }
}

#[tokio::test]
async fn resources_are_listed_read_watched_and_completed() {
    for era in ERAS {
        let (changes, client) = joined(era).await;
        // `own://1` is one of the gateway's own, which lists none.
        let uris: Vec<_> = client.resources().await.unwrap().into_iter().map(|one| one.uri).collect();
        assert_eq!(uris, ["leaf://1"], "{era:?}");
        let templates = client.resource_templates().await.unwrap();
        let templates: Vec<_> = templates.into_iter().map(|template| template.uri_template).collect();
        assert_eq!(templates, ["own://{id}", "leaf://{id}"], "{era:?}");
        for (uri, text) in [("leaf://2", "leaf 2"), ("own://1", "own 1")] {
            assert_eq!(client.read_text(uri).await.unwrap(), text);
        }
        assert_eq!(client.complete_resource("leaf://{id}", "id", "").await.unwrap(), ["1"]);
        let missing = refused(client.read("tree://1").await.unwrap_err());
        assert_eq!(missing.code, if era == Era::Handshake { -32002 } else { RpcError::INVALID_PARAMS });
        let wet = refused(client.read("leaf://7").await.unwrap_err());
        assert_eq!((wet.code, &*wet.message), (RpcError::INTERNAL_ERROR, "the leaf is wet"));
        let mut changed = client.subscribe(["leaf://2"]).await.unwrap();
        changes.resource("leaf://2");
        assert_eq!(changed.next().await.unwrap().unwrap(), "leaf://2");
        assert!(client.subscribe(["tree://1"]).await.is_err(), "{era:?}");
    }
}

#[tokio::test]
async fn a_server_of_one_server_has_what_that_has() {
    let (near, far) = duplex();
    tokio::spawn(
        Server::new("behind", "1", ()).tool_fn(|name: Name, _| async move { Ok(name.name) }).serve(far),
    );
    let behind = Arc::new(Behind(ConnectOptions::new("test", "1").connect(near).await.unwrap()));
    // What the server behind does not have is an empty list, and not an error.
    let gateway = Server::new("gateway", "1", behind).prompts::<Shared>().resources::<Shared>();
    let (near, far) = duplex();
    tokio::spawn(gateway.serve(far));
    let client = ConnectOptions::new("test", "1").connect(near).await.unwrap();
    assert!(client.prompts().await.unwrap().is_empty() && client.resources().await.unwrap().is_empty());
}

/// The same server for several.
struct Shared;

impl Prompts<Arc<Behind>> for Shared {
    async fn list(behind: &Arc<Behind>, request: &ListRequest) -> Result<Page<types::Prompt>, Failure> {
        <Behind as Prompts<Behind>>::list(behind, request).await
    }

    async fn get(
        _: &Arc<Behind>,
        _: &str,
        _: BTreeMap<String, String>,
        _: Client,
    ) -> Result<Option<GetPromptResult>, Failure> {
        Ok(None)
    }
}

impl Resources<Arc<Behind>> for Shared {
    async fn list(behind: &Arc<Behind>, request: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        <Behind as Resources<Behind>>::list(behind, request).await
    }

    async fn read(_: &Arc<Behind>, _: &str, _: Client) -> Result<Option<Vec<ResourceContents>>, Failure> {
        Ok(None)
    }
}
