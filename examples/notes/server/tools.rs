//! The tools. What each of them asks of the client stands in its type.

use mcp_kit::types::LoggingLevel;
use mcp_kit::{Answer, Client, Failure, Json, Model, Tool, User};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{Note, Store};

/// Whose notes a request is about: over HTTP those of its token, and otherwise those of this machine.
pub(crate) fn owner(principal: Option<String>) -> String {
    principal.unwrap_or_else(|| "me".to_owned())
}

/// Adds a note
#[derive(Deserialize, JsonSchema)]
pub(crate) struct AddNote {
    text: String,
    /// What it is about, in one word
    #[serde(default)]
    tag: String,
}

impl Tool<Store> for AddNote {
    type Needs = ();
    type Output = Json<Note>;

    async fn run(self, notes: &Store, client: Client) -> Result<Json<Note>, Failure> {
        let added = notes.add(&owner(client.principal()), &self.text, &self.tag)?;
        client.changes().resources();
        Ok(Json(added))
    }
}

/// Finds the notes that have these words in their text
#[derive(Deserialize, JsonSchema)]
pub(crate) struct FindNotes {
    words: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
    notes: Vec<Note>,
}

impl Tool<Store> for FindNotes {
    type Needs = ();
    type Output = Json<Found>;

    async fn run(self, notes: &Store, client: Client) -> Result<Json<Found>, Failure> {
        Ok(Json(Found { notes: notes.find(&owner(client.principal()), &self.words, "")? }))
    }
}

/// Deletes a note, if the user confirms it
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DeleteNote {
    id: i64,
}

#[derive(Deserialize, JsonSchema, PartialEq)]
struct Confirm {
    sure: bool,
}

impl Tool<Store> for DeleteNote {
    type Needs = User;
    type Output = &'static str;

    async fn run(self, notes: &Store, client: Client<User>) -> Result<&'static str, Failure> {
        let owner = owner(client.principal());
        let note = notes.get(&owner, self.id)?;
        if client.ask(format!("Delete `{}`?", note.text)).await? != Answer::Accepted(Confirm { sure: true }) {
            return Ok("kept");
        }
        notes.delete(&owner, self.id)?;
        client.changes().resources();
        client.changes().resource(note.uri);
        Ok("deleted")
    }
}

/// Has the client's model sum the notes up
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SumUp;

impl Tool<Store> for SumUp {
    type Needs = Model;
    type Output = String;

    async fn run(self, notes: &Store, client: Client<Model>) -> Result<String, Failure> {
        let notes = notes.find(&owner(client.principal()), "", "")?.into_iter().map(|note| note.text);
        client.sample(format!("Sum these notes up:\n{}", notes.collect::<Vec<_>>().join("\n")), 200).await
    }
}

/// Adds a note for each line of a text
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ImportNotes {
    text: String,
}

impl Tool<Store> for ImportNotes {
    type Needs = ();
    type Output = String;

    async fn run(self, notes: &Store, client: Client) -> Result<String, Failure> {
        let owner = owner(client.principal());
        let all = u32::try_from(self.text.lines().count())?;
        for (done, line) in (1..).zip(self.text.lines()) {
            notes.add(&owner, line, "")?;
            client.progress(done, all).await?;
        }
        client.log(LoggingLevel::Info, format!("{all} notes for {owner}")).await?;
        client.changes().resources();
        Ok(format!("{all} notes"))
    }
}
