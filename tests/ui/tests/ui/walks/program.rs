//! What one side of a way does with one value: a session, a channel of it, or a sub-session.

use std::fmt::Write;

use super::api::{Api, Method};
use super::linear::Side;
use crate::random::Random;

#[derive(Debug)]
pub(crate) struct Program<'a> {
    pub(crate) api: &'a Api,
    /// The module of the protocol.
    pub(crate) module: &'a str,
    pub(crate) side: Side,
    /// The type of the value, as it stands in the signatures.
    pub(crate) role: String,
    /// The state in which it is, unless it is over.
    pub(crate) state: Option<String>,
    /// What the value is called.
    pub(crate) variable: String,
    /// The values of the keys that tie its messages, the outermost first.
    pub(crate) keys: Vec<usize>,
    /// The methods that it has in every state.
    pub(crate) always: Vec<String>,
    /// It has `next` in every state, for what the other side may always open.
    pub(crate) hears: bool,
    pub(crate) code: String,
}

impl Program<'_> {
    /// The method of this name, however its words are divided.
    pub(crate) fn find(&self, name: &str) -> Option<(String, Method)> {
        let methods = self.api.methods(&self.role, self.state.as_ref()?);
        let found = methods.iter().find(|(method, _)| plain(method) == plain(name))?;
        Some((found.0.clone(), found.1.clone()))
    }

    pub(crate) fn method(&self, name: &str) -> (String, Method) {
        let found = self.find(name);
        found.unwrap_or_else(|| panic!("`{}<{:?}>` has no method for `{name}`", self.role, self.state))
    }

    /// The methods of the state are these, those that it always has, and no others.
    pub(crate) fn has(&self, names: impl IntoIterator<Item = String>) {
        let mut names: Vec<String> = names.into_iter().chain(self.always.iter().cloned()).collect();
        if self.hears && !names.iter().any(|name| name == "next") {
            names.push("next".to_owned());
        }
        let mut expected: Vec<String> = names.iter().map(|name| plain(name)).collect();
        let state = self.state.as_ref().expect("it is not over");
        let methods = self.api.methods(&self.role, state).keys();
        let mut found: Vec<String> = methods.map(|name| plain(name)).collect();
        expected.sort();
        found.sort();
        assert_eq!(expected, found, "the methods of `{}<{state}>`", self.role);
    }

    /// What a method is called with.
    pub(crate) fn given(&self, method: &Method, value: usize, keys: &[usize]) -> String {
        let Some(of) = &method.takes else { return String::new() };
        if of.ends_with("RpcError") {
            return "mcp_runtime::RpcError::new(-32001, \"no\")".to_owned();
        }
        // A reply finds its sub-session by its request.
        let keys = if of.ends_with("Params") { keys } else { &[] };
        let keys: String = keys.iter().map(|key| format!("{key}, ")).collect();
        format!("{}::{of}::new({keys}{value})", self.module)
    }

    /// Calls a method, from which the payload and the value come back.
    pub(crate) fn call(&mut self, name: &str, value: usize) {
        let (name, method) = self.method(name);
        let given = self.given(&method, value, &self.keys);
        let next = method.next();
        let value_back = next.as_ref().filter(|_| !method.borrows).map(|_| format!("mut {}", self.variable));
        let pattern = pattern(method.gives(), value_back);
        let variable = &self.variable;
        writeln!(self.code, "        let {pattern} = {variable}.{name}({given}).await.unwrap();").unwrap();
        self.payload(method.gives(), value);
        self.state = next;
    }

    /// Calls a method whose request is refused.
    pub(crate) fn refused(&mut self, name: &str, value: usize) {
        let (name, method) = self.method(name);
        let variable = &self.variable;
        let call = format!("{variable}.{name}({}).await", self.given(&method, value, &self.keys));
        let refused = method.refused();
        if method.borrows || refused.is_none() {
            writeln!(self.code, "        assert!({call}.unwrap_err().is_refused());").unwrap();
        } else {
            let pattern = format!("Err(mcp_runtime::StepError::Refused {{ session: mut {variable}, .. }})");
            writeln!(self.code, "        let {pattern} = {call} else {{ panic!(\"not refused\") }};")
                .unwrap();
        }
        self.state = refused;
    }

    /// Calls a method whose request is refused, which ends the sub-session.
    pub(crate) fn refused_for_good(&mut self, name: &str, value: usize) {
        let (name, method) = self.method(name);
        let variable = &self.variable;
        let call = format!("{variable}.{name}({}).await", self.given(&method, value, &self.keys));
        let refused = "mcp_runtime::Error::Refused(_)";
        let pattern = match method.borrows {
            true => format!("Err({refused})"),
            false => format!("Err(mcp_runtime::StepError::Ended({refused}))"),
        };
        writeln!(self.code, "        let {pattern} = {call} else {{ panic!(\"not refused\") }};").unwrap();
        self.state = None;
    }

    /// Waits for whatever comes next, which is a message that leaves the state as it is: what binds its fields.
    pub(crate) fn next_of_a_star(&mut self, variant: &str, fields: Vec<String>) {
        let (_, method) = self.method("next");
        let (state, _) = self.api.variant_of(method.choice(), variant, &self.role);
        assert_eq!(
            state,
            self.state.clone().filter(|_| !method.borrows),
            "`{variant}` leaves the state as it is"
        );
        self.take_next(method.choice(), variant, fields, state.is_some());
    }

    /// Waits for whatever comes next, which is this message, or the end.
    pub(crate) fn next(&mut self, variant: &str, value: usize) {
        let (_, method) = self.method("next");
        let (state, gives) = self.api.variant_of(method.choice(), variant, &self.role);
        let fields = gives.then(|| "payload".to_owned()).into_iter().collect();
        self.take_next(method.choice(), variant, fields, state.is_some());
        self.payload(gives && !variant.ends_with("Error"), value);
        if !method.borrows {
            self.state = state;
        }
    }

    /// The call of `next`, with what binds the fields of the variant that comes, and the value if that comes back.
    fn take_next(&mut self, choice: &str, variant: &str, mut fields: Vec<String>, is_back: bool) {
        fields.extend(is_back.then(|| format!("mut {}", self.variable)));
        let pattern = format!("{}::{choice}::{variant}{}", self.module, fields_of(fields));
        let variable = &self.variable;
        writeln!(
            self.code,
            "        let {pattern} = {variable}.next().await.unwrap() else {{ panic!(\"not `{variant}`\") }};"
        )
        .unwrap();
    }

    /// Waits for a message, in one of the ways in which it can.
    pub(crate) fn receive(&mut self, message: &str, value: usize, random: &mut Random) {
        if self.find("next").is_some() && random.percent(50) {
            self.next(message, value);
        } else {
            self.call(&format!("recv{message}"), value);
        }
    }

    pub(crate) fn payload(&mut self, gives: bool, value: usize) {
        if gives {
            writeln!(self.code, "        assert_eq!(payload.n, {value});").unwrap();
        }
    }
}

/// What a call binds: a payload, and the value that comes back.
pub(crate) fn pattern(gives: bool, value: Option<String>) -> String {
    match (gives, value) {
        (true, Some(value)) => format!("(payload, {value})"),
        (true, None) => "payload".to_owned(),
        (false, Some(value)) => value,
        (false, None) => "()".to_owned(),
    }
}

/// The fields of a variant.
pub(crate) fn fields_of(all: Vec<String>) -> String {
    if all.is_empty() { String::new() } else { format!("({})", all.join(", ")) }
}

/// A name without what its style adds.
pub(crate) fn plain(name: &str) -> String {
    name.trim_start_matches("r#").replace('_', "").to_lowercase()
}
