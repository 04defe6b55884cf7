//! A call of a request that is not `cancellable` gives no canceller.

mod desk {
    mcp_runtime::protocol!("./desk.session");
}
use desk::{Open, Visitor};

pub fn take_back(visitor: &Visitor<Open>) {
    visitor.ask("may I?".to_owned()).canceller();
    visitor.look(None).canceller();
}

fn main() {}
