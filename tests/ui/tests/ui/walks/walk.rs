//! The code of both sides for one way through a protocol.

use std::fmt::Write;

use super::api::{Api, Method};
use super::protocol::{Linear, Message, Side, State, Then};
use crate::random::Random;

/// How many messages of a choice a way has at most.
const STEPS: usize = 12;

const CLOSE: &str = "        session.close().await.unwrap();\n";

/// What one side of a way does.
struct Program<'a> {
    api: &'a Api,
    /// The module of the protocol.
    module: &'a str,
    role: &'static str,
    /// The state in which it is.
    state: String,
    code: String,
}

impl<'a> Program<'a> {
    fn new(api: &'a Api, module: &'a str, role: &'static str) -> Program<'a> {
        Program { api, module, role, state: api.start(role), code: String::new() }
    }

    /// The method of this name, however its words are divided.
    fn find(&self, name: &str) -> Option<(String, Method)> {
        let methods = self.api.methods(self.role, &self.state);
        let found = methods.iter().find(|(method, _)| plain(method) == plain(name))?;
        Some((found.0.clone(), found.1.clone()))
    }

    fn method(&self, name: &str) -> (String, Method) {
        let found = self.find(name);
        found.unwrap_or_else(|| panic!("`{}<{}>` has no method for `{name}`", self.role, self.state))
    }

    /// The methods of the state are these and no others.
    fn has(&self, names: impl IntoIterator<Item = String>) {
        let mut expected: Vec<String> = names.into_iter().map(|name| plain(&name)).collect();
        let methods = self.api.methods(self.role, &self.state).keys();
        let mut found: Vec<String> = methods.map(|name| plain(name)).collect();
        expected.sort();
        found.sort();
        assert_eq!(expected, found, "the methods of `{}<{}>`", self.role, self.state);
    }

    /// What a method is called with.
    fn given(&self, method: &Method, value: usize) -> String {
        match &method.takes {
            Some(of) if of.ends_with("RpcError") => "mcp_runtime::RpcError::new(-32001, \"no\")".to_owned(),
            Some(of) => format!("{}::{of}::new({value})", self.module),
            None => String::new(),
        }
    }

    /// Calls a method, from which the payload and the session come back.
    fn call(&mut self, name: &str, value: usize) {
        let (name, method) = self.method(name);
        let call = format!("session.{name}({}).await.unwrap()", self.given(&method, value));
        let pattern = match (method.gives(), method.stays) {
            (true, true) => "let payload = ",
            (true, false) => "let (payload, mut session) = ",
            (false, true) => "",
            (false, false) => "let mut session = ",
        };
        writeln!(self.code, "        {pattern}{call};").unwrap();
        self.payload(method.gives(), value);
        self.state = method.next();
    }

    /// Calls a method whose request is refused.
    fn refused(&mut self, name: &str, value: usize) {
        let (name, method) = self.method(name);
        let call = format!("session.{name}({}).await", self.given(&method, value));
        if method.stays {
            writeln!(self.code, "        assert!({call}.unwrap_err().is_refused());").unwrap();
        } else {
            let pattern = "Err(mcp_runtime::StepError::Refused { mut session, .. })";
            writeln!(self.code, "        let {pattern} = {call} else {{ panic!(\"not refused\") }};")
                .unwrap();
        }
        self.state = method.refused();
    }

    /// Waits for whatever comes next, which is this message, or the end.
    fn next(&mut self, variant: &str, value: usize) {
        let (_, method) = self.method("next");
        let choice = method.choice();
        let (state, gives) = self.api.variant_of(&choice, variant);
        let fields = match (&state, gives) {
            (Some(_), true) => "(payload, mut session)",
            (Some(_), false) => "(mut session)",
            (None, true) => "(payload)",
            (None, false) => "",
        };
        let pattern = format!("{}::{choice}::{variant}{fields}", self.module);
        writeln!(
            self.code,
            "        let {pattern} = session.next().await.unwrap() else {{ panic!(\"not `{variant}`\") }};"
        )
        .unwrap();
        self.payload(gives && !variant.ends_with("Error"), value);
        match state {
            Some(state) => self.state = state,
            // It takes `&mut self`, or the session is over.
            None => assert!(method.stays || variant == "Closed"),
        }
    }

    /// Waits for a message, in one of the ways in which it can.
    fn receive(&mut self, message: &str, value: usize, random: &mut Random) {
        if self.find("next").is_some() && random.percent(50) {
            self.next(message, value);
        } else {
            self.call(&format!("recv{message}"), value);
        }
    }

    fn payload(&mut self, gives: bool, value: usize) {
        if gives {
            writeln!(self.code, "        assert_eq!(payload.n, {value});").unwrap();
        }
    }
}

/// A name without what its style adds.
fn plain(name: &str) -> String {
    name.trim_start_matches("r#").replace('_', "").to_lowercase()
}

/// Writes a function `name` in which both sides go one way through a protocol.
pub(crate) fn function(
    protocol: &Linear,
    api: &Api,
    module: &str,
    name: &str,
    random: &mut Random,
) -> String {
    let mut client = Program::new(api, module, "Guest");
    let mut server = Program::new(api, module, "Waiter");
    let mut at = Some(0);
    let mut value = 0;
    for _ in 0..STEPS {
        let Some(state) = at else { break };
        let state = &protocol.states[state];
        let (sender, receiver) = match state.by {
            Side::Client => (&mut client, &mut server),
            Side::Server => (&mut server, &mut client),
        };
        has_what_the_file_says(protocol, state, sender, receiver);
        if state.may_close && random.percent(20) {
            receiver.next("Closed", 0);
            sender.code += CLOSE;
            return program(name, module, &client, &server);
        }
        let Some(branch) = random.one(&state.branches) else { break };
        let message = &protocol.messages[branch.message];
        value += 2;
        at = exchange(message, branch.then, (at, value), (sender, receiver), random);
    }
    if at.is_none() {
        for side in [&mut client, &mut server] {
            side.has(["close".to_owned()]);
            side.code += CLOSE;
        }
    }
    program(name, module, &client, &server)
}

fn program(name: &str, module: &str, client: &Program<'_>, server: &Program<'_>) -> String {
    format!(
        "async fn {name}() {{
    let (near, far) = mcp_runtime::transport::duplex();
    let client = async move {{
        let mut session = {module}::Guest::new(near);
{}    }};
    let server = async move {{
        let mut session = {module}::Waiter::new(far);
{}    }};
    tokio::join!(client, server);
}}
",
        client.code, server.code
    )
}

/// In each state, both sides have the methods of what the file permits there, and no others.
fn has_what_the_file_says(protocol: &Linear, state: &State, sender: &Program<'_>, receiver: &Program<'_>) {
    let name = |branch: &super::protocol::Branch| protocol.messages[branch.message].name.clone();
    let mut sends: Vec<String> =
        state.branches.iter().map(|branch| format!("send{}", name(branch))).collect();
    let whole = state.branches.iter().filter(|branch| matches!(branch.then, Then::Reply(_)));
    sends.extend(whole.map(name));
    sends.extend(state.may_close.then(|| "close".to_owned()));
    sender.has(sends);
    let mut receives: Vec<String> =
        state.branches.iter().map(|branch| format!("recv{}", name(branch))).collect();
    let several = state.branches.len() + usize::from(state.may_close) > 1;
    receives.extend(several.then(|| "next".to_owned()));
    receiver.has(receives);
}

/// One message from this state of the file, with its reply or its refusal; the state after it.
fn exchange(
    message: &Message,
    then: Then,
    (here, value): (Option<usize>, usize),
    (sender, receiver): (&mut Program<'_>, &mut Program<'_>),
    random: &mut Random,
) -> Option<usize> {
    let name = &message.name;
    let send = format!("send{name}");
    let reply = message.reply.as_ref().map_or("", |(reply, _)| reply);
    let before = sender.state.clone();
    let refuses = random.percent(30);
    match then {
        Then::State(next) => {
            sender.call(&send, value);
            receiver.receive(name, value, random);
            next
        }
        Then::Reply(next) => {
            receiver.receive(name, value, random);
            receiver.has([format!("send{reply}"), "refuse".to_owned()]);
            let in_one = random.percent(50);
            if !in_one {
                sender.call(&send, value);
                sender.has([format!("recv{reply}")]);
            }
            let call = if in_one { name.clone() } else { format!("recv{reply}") };
            if refuses {
                receiver.call("refuse", value);
                sender.refused(&call, value);
                assert_eq!(sender.state, before, "a refusal leads back");
                return here;
            }
            receiver.call(&format!("send{reply}"), value);
            sender.call(&call, value);
            next
        }
        Then::ReplyOrError(next, refused) => {
            sender.call(&send, value);
            receiver.receive(name, value, random);
            receiver.has([format!("send{reply}"), "refuse".to_owned()]);
            sender.has([format!("recv{reply}"), "next".to_owned()]);
            if refuses {
                receiver.call("refuse", value);
                sender.next(&format!("{name}Error"), value);
                refused
            } else {
                receiver.call(&format!("send{reply}"), value);
                sender.receive(reply, value, random);
                next
            }
        }
    }
}
