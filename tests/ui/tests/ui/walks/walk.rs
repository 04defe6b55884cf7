//! The code of both sides for one way through a protocol.

use std::fmt::Write;

use super::api::{Api, Method};
use super::protocol::{Branch, Linear, Message, Protocol, Side, Then};
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
    /// The parts of a role: it is whole, or is split in its first state.
    fn parts(api: &'a Api, module: &'a str, role: &'static str) -> Vec<Program<'a>> {
        let whole = Program { api, module, role, state: api.start(role), code: String::new() };
        let Some((_, split)) = whole.find("split") else { return vec![whole] };
        whole.has(["split".to_owned()]);
        let part = |state| Program { api, module, role, state, code: String::new() };
        split.states().into_iter().map(part).collect()
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
    protocol: &Protocol,
    api: &Api,
    module: &str,
    name: &str,
    random: &mut Random,
) -> String {
    let mut clients = Program::parts(api, module, "Guest");
    let mut servers = Program::parts(api, module, "Waiter");
    assert_eq!((clients.len(), servers.len()), (protocol.channels.len(), protocol.channels.len()));
    let mut at_end = true;
    for (channel, (client, server)) in protocol.channels.iter().zip(clients.iter_mut().zip(&mut servers)) {
        at_end &= through(channel, client, server, random);
    }
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
        side(&clients, at_end),
        side(&servers, at_end)
    )
}

/// What a side does with its session: its parts side by side, and then the close, if all are at their ends.
fn side(parts: &[Program<'_>], at_end: bool) -> String {
    let [first, second] = parts else {
        let close = if at_end { CLOSE } else { "" };
        return parts.iter().map(|whole| whole.code.clone() + close).collect();
    };
    let mut code = "        let (a, b) = session.split();\n".to_owned();
    for (name, part) in [("a", first), ("b", second)] {
        let (head, code_of_part) = (format!("let {name} = async {{ let mut session = {name};"), &part.code);
        write!(code, "        {head}\n{code_of_part}        session }};\n").unwrap();
    }
    code += "        let (a, b) = tokio::join!(a, b);\n";
    if at_end {
        code += "        let (a, b) = tokio::join!(a.close(), b.close());\n        a.and(b).unwrap();\n";
    }
    code
}

/// Both sides go one way through a channel. Returns whether they come to its end without having closed it.
fn through<'a>(
    channel: &Linear,
    client: &mut Program<'a>,
    server: &mut Program<'a>,
    random: &mut Random,
) -> bool {
    let mut at = Some(0);
    let mut value = 0;
    for _ in 0..STEPS {
        let Some(number) = at else { break };
        let state = &channel.states[number];
        let (sender, receiver) = match state.by {
            Side::Client => (&mut *client, &mut *server),
            Side::Server => (&mut *server, &mut *client),
        };
        has_what_the_file_says(channel, number, sender, receiver);
        if state.may_close && random.percent(20) {
            receiver.next("Closed", 0);
            sender.code += CLOSE;
            return false;
        }
        let Some(branch) = random.one(&state.branches) else { break };
        let message = &channel.messages[branch.message];
        value += 2;
        at = exchange(message, branch.then, (at, value), (sender, receiver), random);
    }
    if at.is_none() {
        client.has(["close".to_owned()]);
        server.has(["close".to_owned()]);
    }
    at.is_none()
}

/// In each state, both sides have the methods of what the file permits there, and no others.
fn has_what_the_file_says(channel: &Linear, at: usize, sender: &Program<'_>, receiver: &Program<'_>) {
    let state = &channel.states[at];
    let name = |branch: &Branch| channel.messages[branch.message].name.clone();
    let mut sends: Vec<String> =
        state.branches.iter().map(|branch| format!("send{}", name(branch))).collect();
    let whole = state.branches.iter().filter(|branch| channel.leads_back(at, branch.then));
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
                // Another state may wait for the same with the refusal written, which gives both `next`.
                let next = sender.find("next").map(|(name, _)| name);
                sender.has([format!("recv{reply}")].into_iter().chain(next));
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
