//! Asking the user: forms that the client shows while a tool waits.

use mcp_kit::types::*;
use mcp_kit::{Client, Failure, User};

/// Shows a form and says what came of it.
pub(crate) async fn ask(client: &Client<User>, message: &str, form: FormSchema) -> Result<String, Failure> {
    let answer = client.asker().elicit(ElicitFormParams::new(message, form)).await?;
    Ok(format!("the user's answer is {}: {}", answer.action, serde_json::to_string(&answer.content)?))
}

/// Two fields, both of which must be filled in.
pub(crate) fn contact() -> FormSchema {
    let email = StringSchema::new().description("Where to write to").format(StringFormat::Email);
    FormSchema::new([])
        .required_field("username", StringSchema::new().description("How to call you"))
        .required_field("email", email)
}

/// A field of each kind, each with a default.
pub(crate) fn defaults() -> FormSchema {
    FormSchema::new([])
        .field("name", StringSchema::new().default("John Doe"))
        .field("age", NumberSchema::new(NumberKind::Integer).default(30))
        .field("score", NumberSchema::new(NumberKind::Number).default(95.5))
        .field("status", EnumSchema::new(["active", "inactive", "pending"]).default("active"))
        .field("verified", BooleanSchema::new().default(true))
}

/// Every way to offer a choice: one or several of a list, with titles or without.
pub(crate) fn choices() -> FormSchema {
    let names = ["red", "green", "blue"];
    let titled = || {
        [("red", "Like a rose"), ("green", "Like grass"), ("blue", "Like the sea")]
            .map(|(choice, title)| TitledChoice::new(choice, title))
    };
    FormSchema::new([])
        .field("untitledSingle", EnumSchema::new(names))
        .field("titledSingle", TitledEnumSchema::new(titled()))
        .field("legacyEnum", EnumSchema::new(names).enum_names(["Rose", "Grass", "Sea"]))
        .field("untitledMulti", MultiSelectEnumSchema::new(UntitledEnumItems::new(names)))
        .field("titledMulti", MultiSelectEnumSchema::new(TitledEnumItems::new(titled())))
}
