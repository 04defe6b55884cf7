//! A `.session` file names payload types without serde's traits: the first errors say in which lines.

pub mod payload {
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct Dish;
    #[derive(serde::Serialize)]
    pub struct Sum;
    pub struct Coins;
}

pub mod shop {
    mcp_runtime::protocol!("./payload.session");
}

fn main() {}
