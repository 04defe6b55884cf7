//! A connection is used after it was closed.

use mcp_kit::{Connection, Failure};

async fn leave(notes: Connection) -> Result<(), Failure> {
    notes.close().await?;
    notes.tools().await?;
    Ok(())
}

fn main() {}
