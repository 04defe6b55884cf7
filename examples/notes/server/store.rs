//! The notes, in SQLite. Each belongs to a user, who sees no others.

use std::sync::Mutex;

use mcp_kit::Failure;
use rusqlite::{Connection, Params, Row, params};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) struct Store(Mutex<Connection>);

#[derive(Serialize, JsonSchema)]
pub(crate) struct Note {
    id: i64,
    pub(crate) uri: String,
    pub(crate) text: String,
    pub(crate) tag: String,
}

const NOTE: &str = "id, 'notes://' || owner || '/' || id, text, tag";

impl Store {
    pub(crate) fn open(path: &str) -> Result<Store, Failure> {
        let notes = Connection::open(path)?;
        notes.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, owner, text, tag)", [])?;
        Ok(Store(Mutex::new(notes)))
    }

    fn query(&self, sql: &str, params: impl Params) -> Result<Vec<Note>, Failure> {
        let notes = self.0.lock().map_err(|_| "the notes are lost: start the server again")?;
        let note =
            |row: &Row| Ok(Note { id: row.get(0)?, uri: row.get(1)?, text: row.get(2)?, tag: row.get(3)? });
        Ok(notes.prepare_cached(sql)?.query_map(params, note)?.collect::<Result<_, _>>()?)
    }

    pub(crate) fn add(&self, owner: &str, text: &str, tag: &str) -> Result<Note, Failure> {
        let sql = format!("INSERT INTO notes (owner, text, tag) VALUES (?1, ?2, ?3) RETURNING {NOTE}");
        Ok(self.query(&sql, params![owner, text, tag])?.remove(0))
    }

    /// The notes that have these words in their text, and a tag that begins like this.
    pub(crate) fn find(&self, owner: &str, words: &str, tag: &str) -> Result<Vec<Note>, Failure> {
        let fits = "owner = ?1 AND instr(text, ?2) > 0 AND instr(tag, ?3) = 1";
        self.query(&format!("SELECT {NOTE} FROM notes WHERE {fits} ORDER BY id"), params![owner, words, tag])
    }

    pub(crate) fn get(&self, owner: &str, id: i64) -> Result<Note, Failure> {
        let sql = format!("SELECT {NOTE} FROM notes WHERE owner = ?1 AND id = ?2");
        self.query(&sql, params![owner, id])?.pop().ok_or_else(|| format!("there is no note {id}").into())
    }

    pub(crate) fn delete(&self, owner: &str, id: i64) -> Result<(), Failure> {
        let sql = format!("DELETE FROM notes WHERE owner = ?1 AND id = ?2 RETURNING {NOTE}");
        self.query(&sql, params![owner, id]).map(drop)
    }
}
