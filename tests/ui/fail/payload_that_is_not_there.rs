//! A `.session` file names a payload type that does not exist: the error says in which line.

pub mod payload {
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct Dish;
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct Sum;
}

pub mod shop {
    mcp_runtime::protocol!("./payload.session");
}

fn main() {}
