//! A session is split a second time.

mod desk {
    mcp_runtime::protocol!("./desk.session");
}
use desk::{Visitor, Welcomed};

pub fn twice(visitor: Visitor<Welcomed>) {
    let (_talk, _bells) = visitor.split();
    let (_more, _again) = visitor.split();
}

fn main() {}
