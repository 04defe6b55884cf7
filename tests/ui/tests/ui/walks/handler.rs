//! The handlers that answer in a way.

use std::fmt::Write;

use super::api::Api;
use super::linear::{Message, Side};
use super::program::{fields_of, plain};
use super::stars::{Body, Star};

/// What a handler answers where the request carries no number.
pub(super) const ANSWER: usize = 7;

/// The module of the handler of a side, of the session or of the sub-session of this name.
pub(super) fn module(protocol: &str, side: Side, body: &str) -> String {
    format!("handler_of_{protocol}_{}_{}", side.module(), body.to_lowercase())
}

/// The handlers of a protocol, each in a module of its own: a number that is odd is refused, and what is not a request
/// is handed on.
pub(crate) fn handlers(stars: &[Star], api: &Api, module: &str) -> String {
    of_scope(stars, api, module, "")
}

/// The handlers of the session, or of the sub-session of this name, and of all that is opened in it.
fn of_scope(stars: &[Star], api: &Api, module: &str, body: &str) -> String {
    let mut code = String::new();
    for side in [Side::Client, Side::Server] {
        let methods = api.handler(&format!("{}::{body}Handler", side.module()));
        if methods.is_empty() {
            continue;
        }
        let of = format!("crate::{module}::{}", side.module());
        writeln!(
            code,
            "mod {} {{
    pub struct Answering(pub tokio::sync::mpsc::UnboundedSender<{of}::{body}Incoming>);
    impl {of}::{body}Handler for Answering {{",
            self::module(module, side, body)
        )
        .unwrap();
        for signature in methods {
            let method = signature.trim_start_matches("async fn ").split('(').next().unwrap();
            let star = stars.iter().find(|star| plain(&star.message.name) == plain(method)).unwrap();
            writeln!(
                code,
                "        {} {{ {} }}",
                in_full(signature, star, module, &of),
                answer(star, signature, module, &format!("{of}::{body}Incoming"))
            )
            .unwrap();
        }
        code += "    }\n}\n";
    }
    let bodies = stars.iter().filter_map(|star| star.body.as_ref());
    bodies.for_each(|body| code += &of_scope(&body.stars, api, module, body.name));
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
    match &star.body {
        Some(Body { name, .. }) => signature.replace(&format!(" {name}<"), &format!(" {of}::{name}<")),
        None => signature,
    }
}

/// What a handler does with a message, where `incoming` is the enum in which it is handed on.
fn answer(star: &Star, signature: &str, module: &str, incoming: &str) -> String {
    let Message { name, carries, reply, .. } = &star.message;
    let params = carries.then(|| "params".to_owned());
    let hand_on =
        |fields: Vec<String>| format!("self.0.send({incoming}::{name}{}).unwrap();", fields_of(fields));
    match (&star.body, reply) {
        (Some(_), _) => hand_on(params.into_iter().chain(["sub_session".to_owned()]).collect()),
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
