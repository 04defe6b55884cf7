//! The handlers that answer in a way.

use std::fmt::Write;

use super::api::Api;
use super::linear::{Message, Side};
use super::program::plain;
use super::stars::Star;

/// What a handler answers where the request carries no number.
pub(super) const ANSWER: usize = 7;

/// The module of the handler of a side.
pub(super) fn module(protocol: &str, side: Side) -> String {
    format!("handler_of_{protocol}_{}", side.module())
}

/// The fields of a variant.
pub(super) fn fields(all: impl IntoIterator<Item = impl Into<String>>) -> String {
    let all: Vec<String> = all.into_iter().map(Into::into).collect();
    if all.is_empty() { String::new() } else { format!("({})", all.join(", ")) }
}

/// The handlers of a protocol, each in a module of its own: a number that is odd is refused, and what is not a request
/// is handed on.
pub(crate) fn handlers(stars: &[Star], api: &Api, module: &str) -> String {
    let mut code = String::new();
    for side in [Side::Client, Side::Server] {
        let name = format!("{}::Handler", side.module());
        let methods = api.handler(&name);
        if methods.is_empty() {
            continue;
        }
        let of = format!("crate::{module}::{}", side.module());
        writeln!(
            code,
            "mod {} {{
    pub struct Answering(pub tokio::sync::mpsc::UnboundedSender<{of}::Incoming>);
    impl {of}::Handler for Answering {{",
            self::module(module, side)
        )
        .unwrap();
        for signature in methods {
            let method = signature.trim_start_matches("async fn ").split('(').next().unwrap();
            let star = stars.iter().find(|star| plain(&star.message.name) == plain(method)).unwrap();
            writeln!(
                code,
                "        {} {{ {} }}",
                in_full(signature, star, module, &of),
                answer(star, signature, module, &of)
            )
            .unwrap();
        }
        code += "    }\n}\n";
    }
    code
}

/// A signature of a handler, with the paths of what it names.
fn in_full(signature: &str, star: &Star, module: &str, of: &str) -> String {
    let signature = signature
        .replace("super::", &format!("crate::{module}::"))
        .replace(" types::", &format!(" crate::{module}::types::"))
        .replace("<types::", &format!("<crate::{module}::types::"))
        .replace("typed::", "mcp_runtime::__private::")
        .replace("context: ", &format!("context: {of}::"));
    match star.body {
        Some((body, _)) => signature.replace(&format!(" {body}<"), &format!(" {of}::{body}<")),
        None => signature,
    }
}

/// What a handler does with a message.
fn answer(star: &Star, signature: &str, module: &str, of: &str) -> String {
    let Message { name, carries, reply, .. } = &star.message;
    let params = carries.then_some("params");
    let hand_on = |of_variant: Vec<&str>| {
        format!("self.0.send({of}::Incoming::{name}{}).unwrap();", fields(of_variant))
    };
    match (&star.body, reply) {
        (Some(_), _) => hand_on(params.into_iter().chain(["sub_session"]).collect()),
        (None, None) => hand_on(params.into_iter().collect()),
        (None, Some((_, gives))) => {
            let refuses = match carries {
                true => "if params.n % 2 == 1 { return Err(mcp_runtime::RpcError::new(-32001, \"no\")); } ",
                false => "",
            };
            let number = if *carries { "params.n".to_owned() } else { ANSWER.to_string() };
            let result = signature.split_once("Result<").unwrap().1.split(',').next().unwrap();
            let answer =
                if *gives { format!("crate::{module}::{result}::new({number})") } else { "()".to_owned() };
            format!("{refuses}Ok({answer})")
        }
    }
}
