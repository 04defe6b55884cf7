//! Each half of a split session has the steps of its own channel only.

mod desk {
    mcp_runtime::protocol!("./desk.session");
}
use desk::{DeskError, Visitor, Welcomed};

pub async fn crossed(visitor: Visitor<Welcomed>) -> Result<(), DeskError> {
    let (mut talk, mut bells) = visitor.split();
    talk.send_note("right".to_owned()).await?;
    bells.recv_bell().await?;
    bells.send_note("wrong".to_owned()).await
}

fn main() {}
