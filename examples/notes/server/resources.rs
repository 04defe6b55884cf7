//! The notes as resources, and a prompt about them.

use std::collections::BTreeSet;

use mcp_kit::types::{self, PromptMessage, ResourceContents, Role};
use mcp_kit::{
    Client, Context, Failure, ListRequest, Page, Prompt, Resource, ResourceNotFound, Suggestions, Typed,
    principal_of, said, text_at,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::store::{Note, Store};
use super::tools::owner;

/// A note
#[derive(Deserialize, JsonSchema)]
pub(crate) struct OneNote {
    owner: String,
    id: i64,
}

/// The note at a URI. One of another user is not there for the caller.
fn note(at: &OneNote, notes: &Store, caller: Option<String>) -> Result<Note, Failure> {
    let note = notes.get(&at.owner, at.id).ok().filter(|_| owner(caller) == at.owner);
    note.ok_or_else(|| ResourceNotFound::at(format!("notes://{}/{}", at.owner, at.id)).into())
}

impl Resource<Store> for OneNote {
    const URI: &'static str = "notes://{owner}/{id}";
    type Needs = ();

    async fn read(self, notes: &Store, uri: &str, client: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, note(&self, notes, client.principal())?.text))
    }

    async fn list(notes: &Store, request: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        let notes = notes.find(&owner(request.principal()), "", "")?.into_iter();
        Ok(notes.map(|note| types::Resource::new(note.uri, note.text)).collect())
    }

    async fn watch(self, notes: &Store, context: &Context) -> Result<(), Failure> {
        note(&self, notes, principal_of(context)).map(drop)
    }
}

/// Reviews the notes about something
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Review {
    /// A tag of the notes
    tag: String,
}

impl Prompt<Store> for Review {
    type Needs = ();

    async fn get(self, notes: &Store, client: Client) -> Result<Vec<PromptMessage>, Failure> {
        let notes = notes.find(&owner(client.principal()), "", &self.tag)?.into_iter().map(|note| note.text);
        let notes = notes.collect::<Vec<_>>().join("\n");
        Ok(vec![said(Role::User, format!("Review these notes about {}:\n{notes}", self.tag))])
    }

    async fn complete(notes: &Store, context: &Context, typed: &Typed) -> Result<Suggestions, Failure> {
        let notes = notes.find(&owner(principal_of(context)), "", &typed.text)?;
        let tags: BTreeSet<_> = notes.into_iter().map(|note| note.tag).collect();
        Ok(tags.into_iter().filter(|tag| !tag.is_empty()).collect())
    }
}
