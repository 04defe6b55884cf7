//! The typed interface of a protocol, read from its printed signatures.

use std::collections::BTreeMap;

/// A method of a state.
#[derive(Debug, Clone)]
pub(crate) struct Method {
    /// It borrows its value: the state stays.
    pub(crate) borrows: bool,
    /// The type of what it is given.
    pub(crate) takes: Option<String>,
    /// What it returns.
    returns: String,
    /// The role and the state that it belongs to.
    role: String,
    state: String,
}

impl Method {
    /// What it returns where all goes well, and where not.
    fn outcomes(&self) -> (&str, &str) {
        let Some(start) = self.returns.find('<') else { return (&self.returns, "") };
        let mut parts =
            parts(&self.returns[start + 1..self.returns.len() - 1]).filter(|part| !part.starts_with('\''));
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    }

    /// The state after it, unless the value is over then.
    pub(crate) fn next(&self) -> Option<String> {
        if self.borrows { Some(self.state.clone()) } else { state_of(self.outcomes().0, &self.role) }
    }

    /// Whether it gives a payload in addition to the session.
    pub(crate) fn gives(&self) -> bool {
        self.outcomes().0.contains("types::")
    }

    /// The state after a refusal, unless the value is over then.
    pub(crate) fn refused(&self) -> Option<String> {
        if self.borrows { Some(self.state.clone()) } else { state_of(self.outcomes().1, &self.role) }
    }

    /// The enum that it returns, with the path of its module.
    pub(crate) fn choice(&self) -> &str {
        self.outcomes().0
    }

    /// The state of the sub-session that it opens.
    pub(crate) fn opens(&self, sub_session: &str) -> Option<String> {
        state_of(self.outcomes().0, sub_session)
    }

    /// The states of the role in the type that it returns.
    pub(crate) fn states(&self) -> Vec<String> {
        parts(self.returns.trim_matches(['(', ')'])).filter_map(|part| state_of(part, &self.role)).collect()
    }
}

/// What stands between the commas that are in no brackets.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let split = move |character| {
        match character {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    };
    text.split(split).map(str::trim)
}

/// The state of a role in a type, without the module that it is in.
fn state_of(of: &str, role: &str) -> Option<String> {
    let start = of.find(&format!("{role}<"))? + role.len() + 1;
    of[start..].split('>').next().map(|state| state.trim_start_matches("super::").to_owned())
}

/// The methods of each state of each role, the variants of each choice, and the methods of each handler.
#[derive(Debug, Default)]
pub(crate) struct Api {
    /// The initial state of each role.
    starts: BTreeMap<String, String>,
    methods: BTreeMap<(String, String), BTreeMap<String, Method>>,
    /// By the name of the enum: by the name of the variant, what it holds.
    variants: BTreeMap<String, BTreeMap<String, String>>,
    /// By the name of the trait, the signatures.
    handlers: BTreeMap<String, Vec<String>>,
}

impl Api {
    pub(crate) fn read(signatures: &str) -> Api {
        let mut api = Api::default();
        let (mut block, mut choice, mut handler) = (None, None, None);
        let mut module = String::new();
        let mut role = String::new();
        for line in signatures.lines() {
            let text = line.trim();
            let named = |start: &str| text.strip_prefix(start).and_then(|name| name.strip_suffix(" {"));
            if let Some((name, _)) = text.split_once(" is ") {
                role = name.to_owned();
            } else if let Some(state) = text.strip_suffix(", starts;") {
                let state = state.trim_start_matches("state ").split(' ').next().unwrap();
                api.starts.insert(role.clone(), state.to_owned());
            } else if let Some(head) = line.strip_prefix("impl ").and_then(|head| head.strip_suffix("> {")) {
                block = head.split_once('<').map(|(role, state)| (role.to_owned(), state.to_owned()));
                api.methods.entry(block.clone().unwrap()).or_default();
            } else if let Some(name) = named("pub mod ") {
                module = name.to_owned();
            } else if let Some(name) = named("pub enum ") {
                choice = Some(format!("{module}::{name}"));
            } else if let Some((name, _)) = named("pub trait ").and_then(|name| name.split_once(':')) {
                handler = Some(format!("{module}::{name}"));
            } else if text == "}" {
                (block, choice, handler) = (None, None, None);
            } else if let Some((role, state)) = &block {
                let (name, method) = Api::method(text, role, state);
                let methods = api.methods.get_mut(&(role.clone(), state.clone())).unwrap();
                methods.insert(name, method);
            } else if let Some(choice) = &choice {
                let (name, holds) = text.trim_end_matches(',').split_once('(').unwrap_or((text, ""));
                let variants = api.variants.entry(choice.clone()).or_default();
                let holds = holds.strip_suffix(')').unwrap_or(holds);
                variants.insert(name.trim_end_matches(',').to_owned(), holds.to_owned());
            } else if let Some(handler) = &handler {
                let signature = text.trim_end_matches(';').to_owned();
                api.handlers.entry(handler.clone()).or_default().push(signature);
            }
        }
        api
    }

    /// `pub fn send_add(&mut self, params: types::AddParams) -> …;`
    fn method(line: &str, role: &str, state: &str) -> (String, Method) {
        let line = line.trim_start_matches("pub ").trim_start_matches("async ").trim_start_matches("fn ");
        let (name, rest) = line.split_once('(').unwrap();
        let (given, returns) = rest.split_once(") -> ").unwrap();
        let method = Method {
            borrows: given.starts_with('&'),
            takes: given.split_once(": ").map(|(_, of)| of.to_owned()),
            returns: returns.trim_end_matches(';').replace("Self>", &format!("{role}<{state}>>")),
            role: role.to_owned(),
            state: state.to_owned(),
        };
        (name.to_owned(), method)
    }

    /// The initial state of a role.
    pub(crate) fn start(&self, role: &str) -> String {
        self.starts[role].clone()
    }

    /// The methods of a state.
    pub(crate) fn methods(&self, role: &str, state: &str) -> &BTreeMap<String, Method> {
        self.methods
            .get(&(role.to_owned(), state.to_owned()))
            .unwrap_or_else(|| panic!("no `{role}<{state}>` in {:?}", self.methods.keys()))
    }

    /// What a variant of a choice holds.
    pub(crate) fn variant(&self, choice: &str, variant: &str) -> &str {
        self.variants
            .get(choice)
            .and_then(|variants| variants.get(variant))
            .unwrap_or_else(|| panic!("`{choice}` has no `{variant}`: {:?}", self.variants.get(choice)))
    }

    /// The state that a variant of a choice has, and whether a payload comes with it.
    pub(crate) fn variant_of(&self, choice: &str, variant: &str, role: &str) -> (Option<String>, bool) {
        let holds = self.variant(choice, variant);
        let role = role.rsplit("::").next().unwrap();
        (state_of(holds, role), holds.contains("types::") || holds.contains("RpcError"))
    }

    /// The methods of a handler, as the trait has them.
    pub(crate) fn handler(&self, name: &str) -> &[String] {
        self.handlers.get(name).map_or(&[], Vec::as_slice)
    }
}
