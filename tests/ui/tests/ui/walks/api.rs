//! The typed interface of a protocol, read from its printed signatures.

use std::collections::BTreeMap;

/// A method of a state.
#[derive(Debug, Clone)]
pub(crate) struct Method {
    /// It takes `&mut self`: the state stays.
    pub(crate) stays: bool,
    /// The type of what it is given.
    pub(crate) takes: Option<String>,
    /// What it returns.
    returns: String,
    /// The role and the state that it belongs to.
    role: String,
    state: String,
}

impl Method {
    /// The state after it.
    pub(crate) fn next(&self) -> String {
        self.states().into_iter().next().unwrap_or_else(|| self.state.clone())
    }

    /// Whether it gives a payload in addition to the session.
    pub(crate) fn gives(&self) -> bool {
        self.returns.contains("types::")
    }

    /// The state after a refusal.
    pub(crate) fn refused(&self) -> String {
        self.states().into_iter().nth(1).unwrap_or_else(|| self.state.clone())
    }

    /// The enum that it returns, with the path of its module.
    pub(crate) fn choice(&self) -> String {
        let start = self.returns.find('<').unwrap() + 1;
        self.returns[start..].split(',').next().unwrap().to_owned()
    }

    /// The states of the role in the type that it returns.
    pub(crate) fn states(&self) -> Vec<String> {
        let opening = format!("{}<", self.role);
        let parts = self.returns.split(&opening).skip(1);
        parts.map(|part| part.split('>').next().unwrap().to_owned()).collect()
    }
}

/// The methods of each state of each role, and the variants of each choice.
#[derive(Debug, Default)]
pub(crate) struct Api {
    /// The initial state of each role.
    starts: BTreeMap<String, String>,
    methods: BTreeMap<(String, String), BTreeMap<String, Method>>,
    /// By the name of the enum: by the name of the variant, the state, and whether a payload comes with it.
    variants: BTreeMap<String, BTreeMap<String, (Option<String>, bool)>>,
}

impl Api {
    pub(crate) fn read(signatures: &str) -> Api {
        let mut api = Api::default();
        let mut block = None;
        let mut choice = None;
        let mut role = String::new();
        for line in signatures.lines() {
            let text = line.trim();
            if let Some((name, _)) = text.split_once(" is ") {
                role = name.to_owned();
            } else if let Some(state) = text.strip_suffix(", starts;") {
                let state = state.trim_start_matches("state ").split(' ').next().unwrap();
                api.starts.insert(role.clone(), state.to_owned());
            } else if let Some(head) = line.strip_prefix("impl ").and_then(|head| head.strip_suffix("> {")) {
                block = head.split_once('<').map(|(role, state)| (role.to_owned(), state.to_owned()));
                api.methods.entry(block.clone().unwrap()).or_default();
            } else if line == "}" {
                block = None;
            } else if let Some(name) = text.strip_prefix("pub enum ").and_then(|name| name.strip_suffix(" {"))
            {
                choice = Some(name.to_owned());
            } else if text == "}" {
                choice = None;
            } else if let Some((role, state)) = &block {
                let (name, method) = Api::method(text, role, state);
                let methods = api.methods.get_mut(&(role.clone(), state.clone())).unwrap();
                methods.insert(name, method);
            } else if let Some(choice) = &choice {
                let (name, variant) = Api::variant(text);
                api.variants.entry(choice.clone()).or_default().insert(name, variant);
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
            stays: given.starts_with("&mut self"),
            takes: given.split_once(": ").map(|(_, of)| of.to_owned()),
            returns: returns.trim_end_matches(';').replace("Self", &format!("{role}<{state}>")),
            role: role.to_owned(),
            state: state.to_owned(),
        };
        (name.to_owned(), method)
    }

    /// `Add(types::AddParams, Counter<super::Ready>),`
    fn variant(line: &str) -> (String, (Option<String>, bool)) {
        let name = line.split(['(', ',']).next().unwrap();
        let state = line.split_once("<super::").map(|(_, state)| state.split('>').next().unwrap().to_owned());
        (name.to_owned(), (state, line.contains("types::") || line.contains("RpcError")))
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

    /// The state that a variant of a choice has, and whether a payload comes with it.
    pub(crate) fn variant_of(&self, choice: &str, variant: &str) -> (Option<String>, bool) {
        let name = choice.rsplit("::").next().unwrap();
        self.variants
            .get(name)
            .and_then(|variants| variants.get(variant))
            .cloned()
            .unwrap_or_else(|| panic!("`{choice}` has no `{variant}`: {:?}", self.variants.get(name)))
    }
}
